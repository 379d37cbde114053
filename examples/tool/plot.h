/* plot.h: the curve of a column in a terminal, in characters of Braille, two columns of dots by four rows each. */
#ifndef PLOT_H
#define PLOT_H

#include "scores.h"

#include <stdint.h>
#include <stdio.h>

void plot_curve(FILE *out, const scores *s, int column, const char *name, int64_t step, int width);

#endif /* PLOT_H */
