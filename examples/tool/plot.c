/* plot.c: see plot.h. */
#include "plot.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PLOT_ROWS = 12, PLOT_MOST = 240, PLOT_MARGIN = 9 };

void plot_curve(FILE *out, const scores *s, int column, const char *name, int64_t step, int width) {
    static unsigned char cells[PLOT_ROWS][PLOT_MOST];
    static const unsigned char dots[4][2] = { { 0x01, 0x08 }, { 0x02, 0x10 }, { 0x04, 0x20 }, { 0x40, 0x80 } };
    int across = width - PLOT_MARGIN - 1, down = 4 * PLOT_ROWS, before = -1;
    scores_total all = scores_pool(s, column, 0, s->rows);
    across = across < 8 ? 8 : across > PLOT_MOST ? PLOT_MOST : across;
    if (all.count == 0)
        return;
    double low = all.min, high = all.max > all.min ? all.max : all.min + 1;
    memset(cells, 0, sizeof cells);
    for (int x = 0; x < 2 * across; x++) {
        int64_t first = s->rows * x / (2 * across), end = s->rows * (x + 1) / (2 * across);
        scores_total t = scores_pool(s, column, first, end > first ? end : first + 1);
        if (t.count == 0) {
            before = -1;
            continue;
        }
        int top = (int)((high - t.max) / (high - low) * (down - 1) + 0.5),
            bottom = (int)((high - t.min) / (high - low) * (down - 1) + 0.5);
        if (before >= 0) { /* connect with the column to the left */
            top = before < top ? before : top;
            bottom = before > bottom ? before : bottom;
        }
        before = (int)((high - t.mean) / (high - low) * (down - 1) + 0.5);
        for (int y = top; y <= bottom; y++)
            cells[y / 4][x / 2] |= dots[y % 4][x % 2];
    }
    fprintf(out, "%s: mean %.3f, from %.3f to %.3f\n", name, all.mean, all.min, all.max);
    for (int y = 0; y < PLOT_ROWS; y++) {
        if (y % 3 == 0 || y == PLOT_ROWS - 1)
            fprintf(out, "%*.2f ", PLOT_MARGIN - 2, high - (high - low) * y / (PLOT_ROWS - 1));
        else
            fprintf(out, "%*s", PLOT_MARGIN - 1, "");
        fputs("\xe2\x94\x82", out);
        int last = across;
        while (last > 0 && cells[y][last - 1] == 0)
            last--;
        for (int x = 0; x < last; x++) {
            unsigned code = 0x2800u + cells[y][x];
            fprintf(out, "%c%c%c", 0xe2, (int)(0x80 | (code >> 6 & 63)), (int)(0x80 | (code & 63)));
        }
        fputc('\n', out);
    }
    fprintf(out, "%*s", PLOT_MARGIN - 1, "");
    fputs("\xe2\x94\x94", out);
    for (int x = 0; x < across; x++)
        fputs("\xe2\x94\x80", out);
    fprintf(out, "\n%*s0%*lld\n", PLOT_MARGIN, "", across - 1, (long long)((s->rows - 1) * step));
}
