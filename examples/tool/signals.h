/* signals.h: handles signals: removes temporary files before a signal ends the program, and reports SIGBUS. */
#ifndef TOOL_SIGNALS_H
#define TOOL_SIGNALS_H

/* Blocks (1) or unblocks (0) the signals that end the program. */
void tool_hold_signals(int hold);

/* Installs the signal handlers. */
void tool_watch(void);

/* Opens standard input, output and error if they are closed, so that no file that is opened later becomes one of them.
 * Reading and writing them still fails. Returns whether standard input was closed. */
int tool_fill_standard_files(void);

#endif /* TOOL_SIGNALS_H */
