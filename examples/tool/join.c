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

/* Reads a part, and finds it the place that its number says. */
static int read_part_file(rows_file *parts, const options *o, int i) {
    rows_file *r = &parts[i];
    FILE *in = fopen(o->join[i], "rb");
    if (!in)
        return tool_fail("the part \"%s\" cannot be opened (%s)", o->join[i], strerror(errno));
    int ok = rows_read(r, in) || tool_fail("the part \"%s\" %s", o->join[i], r->error);
    fclose(in);
    if (ok && !r->is_whole)
        ok = tool_fail("the part \"%s\" is not whole: its last line is missing or damaged", o->join[i]);
    if (ok && (r->run != parts[0].run || r->segments != parts[0].segments || r->total != parts[0].total ||
               r->columns != parts[0].columns || r->videos != parts[0].videos || r->step != parts[0].step)) {
        ok = tool_fail("the parts \"%s\" and \"%s\" are of different runs: videos, options, version or number of "
                       "segments are not the same",
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

/* Fails with the list of missing segments. The number of segments is what a file claims: the list ends where it is
 * full. */
static int check_segments(const rows_file *parts, int count) {
    const int64_t missing = parts[0].segments - count; /* no two parts are the same segment */
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
    return tool_fail("of %lld segments %lld %s missing: %s", (long long)parts[0].segments, (long long)missing,
                     missing == 1 ? "is" : "are", list);
}

/* Puts the parts behind one another into `all`. */
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

static int report_joined(rows_file *all, options *o) {
    figures reports[MAX_DISTORTED];
    memset(reports, 0, sizeof reports);
    if (o->output.count && o->output.count != all->videos)
        return tool_fail("as many reports (-o) as distorted videos, %d, or none: not %d", all->videos, o->output.count);
    if (all->pairs == 0)
        return tool_fail("there is no pair of frames in these parts");
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
    return all->is_intact ? ok : tool_fail("a video was damaged: the frames before that are reported");
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
    all.names = NULL; /* those of the first part */
    all.single = NULL;
    rows_free(&all);
    for (int i = 0; i < o->join_count && parts; i++)
        rows_free(&parts[i]);
    free(parts);
    return ok;
}
