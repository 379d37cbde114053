/* plot.h: draws the curve of a column in a terminal, with Braille characters of 2 x 4 dots. */
#ifndef PLOT_H
#define PLOT_H

#include "scores.h"

#include <stdint.h>
#include <stdio.h>

/* Draws rows 0 .. s->rows - 1; frame numbers are multiples of `step`. `width` is the width of the terminal. */
void plot_curve(FILE *out, const scores *s, int column, const char *name, int64_t step, int width);

#endif /* PLOT_H */
