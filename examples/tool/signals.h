/* signals.h: signals that end the program: temporary files go, and a video that became shorter is reported. */
#ifndef TOOL_SIGNALS_H
#define TOOL_SIGNALS_H

/* Holds back signals that end the program (1), or lets them come again (0). */
void tool_hold_signals(int hold);

/* From now on, a signal that ends the program removes temporary files first. */
void tool_watch(void);

/* Opens what is closed of standard input, output and error, so that nothing that is opened next becomes one of them.
 * Reading and writing go on failing. Returns whether standard input was closed. */
int tool_fill_standard_files(void);

#endif /* TOOL_SIGNALS_H */
