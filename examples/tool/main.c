/* vmafgpu: scores a distorted video against its reference, from the command line.
 *
 * It accepts the options of the `vmaf` tool of libvmaf, with the same defaults. It writes the same report files, byte
 * for byte, except for the version and the frames per second. `vmafgpu --help` lists all options.
 *
 * Build it by hand, from the folder that contains vmafgpu.h:
 *
 *     cc -O2 examples/tool/[a-z]*.c -o vmafgpu -lm -lpthread
 *
 * Each module is a .c file and a .h file. The comment in the .h file describes the module. These are the modules, in
 * the order in which a run uses them:
 *
 *   options, check          the command line
 *   run, session            a complete run; the data that its modules share
 *   input, decoder          open videos and models; reject files that ffmpeg must decode first
 *   arrange, inspect, plan  which frames are compared, and at which size
 *   scoring                 the loop over all pairs; pipes and readers are threads that read ahead
 *   state, fingerprint      --state and --segment
 *   maps, slopes            heat maps of cambi; pictures of slopes
 *   figures, output, page   reports, tables, curves, --html
 *   join, selftest          --join; --self-test and --version
 *
 * These modules use message, files, destination, progress, signals, capacity.h and system.h. The names of all their
 * functions begin with tool_.
 *
 * The other modules do not depend on the tool. The names of their functions begin with the name of the module:
 *
 *   video, container        read videos; recognise file formats that need a decoder
 *   rawsize                 checks the size of raw video
 *   cut, scale              select a part of a picture or of a clip; scale pictures
 *   align                   finds which frames correspond
 *   scores, rows, report    pool scores; store rows in a file; write the reports of libvmaf
 *   html, html_page.h       write the page of --html; they use thumbnail, png and xxh64
 *   slopemap                draws slopes as PNG
 *   plot                    draws curves in the terminal
 *
 * mpi/cluster_mpi.c is another program that uses these modules. It scores clips on many machines.
 */
#include "system.h"

#define VMAFGPU_IMPLEMENTATION
#include "../../vmafgpu.h"
#include "check.h"
#include "destination.h"
#include "join.h"
#include "message.h"
#include "options.h"
#include "report.h"
#include "run.h"
#include "selftest.h"
#include "signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parses and checks the arguments. Returns 0 after a message. */
static int read_options(options *o, int argc, char **argv) {
    return tool_parse_arguments(o, argc, argv) && (o->help || o->version || o->self_test || tool_check_options(o));
}

/* Does what the options request. Returns 0 after a message. */
static int act(options *o) {
    if (o->help) {
        tool_print_help();
    } else if (o->version) {
        tool_print_version(o);
    } else if (o->self_test) {
        if (!tool_self_test(o))
            return 0;
    } else {
        return o->join ? tool_join(o) : tool_score(o);
    }
    return tool_close_standard_output();
}

int main(int argc, char **argv) {
    options o;
    int ok = 0;
    memset(&o, 0, sizeof o);
    o.stdin_is_closed = tool_fill_standard_files();
    tool_watch();
    o.digits = REPORT_DIGITS_LEGACY;
    o.ends_program = 1;
    o.argc = argc;
    o.argv = argv;
    if (read_options(&o, argc, argv)) {
        tool_messages.is_strict = o.strict;
        ok = act(&o);
    } else {
        fputs("\"vmafgpu --help\" lists all options\n", stderr);
    }
    tool_free_options(&o);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
