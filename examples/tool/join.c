/* join.c: see join.h. */
#include "system.h"

#include "join.h"
#include "capacity.h"
#include "destination.h"
#include "figures.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "rows.h"
#include "scores.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads part i and checks that it fits the parts before it. Returns 0 after an error message. */
static int read_part_file(rows_file *parts, const options *o, int i) {
    rows_file *r = &parts[i];
    FILE *in = fopen(o->join[i], "rb");
    if (!in)
        return tool_fail("the part \"%s\" cannot be opened (%s)", o->join[i], strerror(errno));
    int ok = rows_read(r, in) || tool_fail("the part \"%s\" %s", o->join[i], r->error);
    fclose(in);
    if (ok && !r->is_whole)
        ok = tool_fail("the part \"%s\" is incomplete: its last line is missing or damaged", o->join[i]);
    if (ok && (r->run != parts[0].run || r->segments != parts[0].segments || r->total != parts[0].total ||
               r->columns != parts[0].columns || r->videos != parts[0].videos || r->step != parts[0].step)) {
        ok = tool_fail("the parts \"%s\" and \"%s\" are from different runs: videos, options, version or number of "
                       "segments differ",
                       o->join[0], o->join[i]);
    }
    for (int k = 0; k < i && ok; k++) {
        if (parts[k].segment == r->segment) {
            ok = tool_fail("the parts \"%s\" and \"%s\" are the same segment, %lld", o->join[k], o->join[i],
                           (long long)r->segment);
        }
    }
    return ok;
}

/* Fails with a list of the missing segments if there are any. The list is truncated if it is long, because the number
 * of segments comes from a file and can be wrong. */
static int check_segments(const rows_file *parts, int count) {
    const int64_t missing = parts[0].segments - count; /* all parts are different segments */
    char list[400] = "";
    if (missing == 0)
        return 1;
    for (int64_t segment = 1, named = 0; named < missing; segment++) {
        int is_there = 0;
        for (int i = 0; i < count; i++)
            is_there |= parts[i].segment == segment;
        size_t used = strlen(list);
        if (!is_there && used >= sizeof list - 40) {
            snprintf(list + used, sizeof list - used, ", ...");
            break;
        }
        if (!is_there)
            snprintf(list + used, sizeof list - used, "%s%lld", named++ ? ", " : "", (long long)segment);
    }
    return tool_fail("%lld of %lld segments %s missing: %s", (long long)missing, (long long)parts[0].segments,
                     missing == 1 ? "is" : "are", list);
}

/* Appends the rows of all parts to `all`, in the order of the segments. Returns 0 after an error message. */
static int join_parts(rows_file *all, rows_file *parts, const options *o) {
    *all = parts[0];
    memset(all->tables, 0, sizeof all->tables);
    all->pairs = 0;
    all->seconds = 0;
    all->is_intact = 1;
    for (int64_t segment = 1; segment <= parts[0].segments; segment++) {
        int i = 0;
        while (parts[i].segment != segment)
            i++;
        rows_file *r = &parts[i];
        if (r->tables[0].rows > 0 && all->pairs != r->first) {
            return tool_fail("the part \"%s\" begins with pair %lld, but the ones before it end with pair %lld",
                             o->join[i], (long long)r->first, (long long)all->pairs - 1);
        }
        for (int v = 0; v < all->videos; v++) {
            all->tables[v].columns = all->columns;
            for (int64_t row = 0; row < r->tables[v].rows; row++)
                if (!scores_append(&all->tables[v], r->tables[v].values + row * r->columns, r->tables[v].has_row[row]))
                    return tool_out_of_memory();
        }
        all->pairs += r->pairs;
        all->seconds += r->seconds;
        all->is_intact &= r->is_intact;
    }
    return 1;
}

/* Writes the reports. Returns 0 after an error message. */
static int report_joined(rows_file *all, options *o) {
    figures reports[MAX_DISTORTED];
    memset(reports, 0, sizeof reports);
    if (o->output.count && o->output.count != all->videos)
        return tool_fail("the number of reports (-o) must be 0 or %d, the number of distorted videos, not %d",
                         all->videos, o->output.count);
    if (all->pairs == 0)
        return tool_fail("the parts contain no pair of frames");
    for (int i = 0; i < all->videos; i++) {
        figures *f = &reports[i];
        f->about = all;
        f->table = &all->tables[i];
        f->o = o;
        f->width = all->width;
        f->height = all->height;
        f->columns = all->shown;
        f->rows = f->table->rows;
        f->pairs = all->pairs;
        f->fps = all->seconds > 0 ? (double)all->pairs / all->seconds : 0;
    }
    int ok =
        tool_open_destinations(o->destinations, tool_report_count(o)) && tool_report_all(NULL, o, reports, all->videos);
    return all->is_intact ? ok : tool_fail("a video is damaged; the report contains the frames before the damage");
}

int tool_join(options *o) {
    rows_file all, *parts = (rows_file *)calloc((size_t)o->join_count, sizeof *parts);
    int ok = parts != NULL || tool_out_of_memory();
    memset(&all, 0, sizeof all);
    for (int i = 0; i < o->join_count && ok; i++)
        ok = read_part_file(parts, o, i);
    ok = ok && check_segments(parts, o->join_count) && join_parts(&all, parts, o) && report_joined(&all, o);
    for (int i = 0; i < o->output.count; i++)
        tool_abandon_destination(&o->destinations[i], i);
    all.names = NULL; /* owned by the first part */
    all.single = NULL;
    rows_free(&all);
    for (int i = 0; i < o->join_count && parts; i++)
        rows_free(&parts[i]);
    free(parts);
    return ok;
}
