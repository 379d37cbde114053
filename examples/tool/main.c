/* vmafgpu: scores a distorted video against its reference, from the command line.
 *
 * It takes the options of libvmaf's `vmaf` tool, has its defaults, and writes the same report files, byte for byte but
 * for the version and the frames per second. `vmafgpu --help` says what it can do beyond that.
 *
 * Build it by hand, from the folder that contains vmafgpu.h:
 *
 *     cc -O2 examples/tool/[a-z]*.c -o vmafgpu -lm -lpthread
 *
 * Each module is a .c file and a .h file, which says what the module does. In the order in which a run uses them:
 *
 *   options, check          the command line
 *   run                     a run from its beginning to its end; session is what its modules share
 *   input, decoder          opening videos and models; files that ffmpeg has to decode first
 *   arrange, inspect, plan  which frames are compared, and in which size
 *   scoring                 the loop; pipes and readers are threads that read ahead
 *   state, fingerprint      --state and --segment
 *   maps                    heat maps of cambi
 *   figures, output, page   reports, tables, curves, --html
 *   join, selftest          --join; --self-test and --version
 *
 * What these need: message, files, destination, progress, signals, capacity.h, system.h. The names that they share
 * begin with tool_.
 *
 * These know nothing of the tool, and their names begin with their own: video reads videos; container recognises files;
 * rawsize checks the size of raw video; cut and scale take parts of pictures and scale them; align finds frames that
 * correspond; scores pools; rows keeps rows in files; report writes libvmaf's reports; html (with html_page.h),
 * thumbnail, png and xxh64 make pages; plot draws in the terminal.
 *
 * mpi/cluster_mpi.c is another program with these modules, for many machines.
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

/* What the arguments ask for; 0 sends the reader to the help. */
static int understand(options *o, int argc, char **argv) {
    return tool_parse_arguments(o, argc, argv) && (o->help || o->version || o->self_test || tool_check_options(o));
}

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
    if (understand(&o, argc, argv)) {
        tool_messages.is_strict = o.strict;
        ok = act(&o);
    } else {
        fputs("Try \"vmafgpu --help\".\n", stderr);
    }
    tool_free_options(&o);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
