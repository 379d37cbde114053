/* signals.c: see signals.h. */
#include "system.h"

#include "signals.h"
#include "destination.h"
#include "files.h"

#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <fcntl.h>
#include <io.h>
#else
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#endif

#ifdef _WIN32
static BOOL WINAPI end_by_console(DWORD event) {
    (void)event;
    tool_remove_temporaries();
    return FALSE; /* the default handler ends the program */
}

void tool_hold_signals(int hold) {
    (void)hold;
}

void tool_watch(void) {
    SetConsoleCtrlHandler(end_by_console, TRUE);
}

int tool_fill_standard_files(void) {
    int stdin_is_closed = _get_osfhandle(STANDARD_INPUT) == -1;
    for (int number = STANDARD_INPUT; number <= STANDARD_ERROR; number++)
        if (_get_osfhandle(number) == -1)
            _open("NUL", number == STANDARD_INPUT ? _O_WRONLY : _O_RDONLY);
    return stdin_is_closed;
}
#else
static const int fatal_signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXCPU, SIGXFSZ };
enum { FATAL_SIGNALS = sizeof fatal_signals / sizeof fatal_signals[0] };

static void end_by_signal(int number) {
    tool_remove_temporaries();
    raise(number); /* SA_RESETHAND has restored the default handler */
}

/* Handles SIGBUS, which an access to a mapped file raises if the file has become shorter. */
static void lost_video(int number) {
    static const char message[] = "vmafgpu: a video became shorter or could not be read while it was scored\n";
    ssize_t written = write(STANDARD_ERROR, message, sizeof message - 1);
    (void)number;
    tool_remove_temporaries();
    _exit(written < 0 ? 2 : EXIT_FAILURE);
}

void tool_hold_signals(int hold) {
    static sigset_t before;
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < FATAL_SIGNALS; i++)
        sigaddset(&set, fatal_signals[i]);
    if (hold)
        sigprocmask(SIG_BLOCK, &set, &before);
    else
        sigprocmask(SIG_SETMASK, &before, NULL);
}

void tool_watch(void) {
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = lost_video;
    sigaction(SIGBUS, &action, NULL);
    action.sa_handler = end_by_signal;
    action.sa_flags = (int)SA_RESETHAND | SA_NODEFER;
    for (int i = 0; i < FATAL_SIGNALS; i++)
        if (sigaction(fatal_signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(fatal_signals[i], &action, NULL);
}

int tool_fill_standard_files(void) {
    int stdin_is_closed = fcntl(STANDARD_INPUT, F_GETFD) < 0;
    for (int number = STANDARD_INPUT; number <= STANDARD_ERROR; number++) {
        if (fcntl(number, F_GETFD) < 0) {
            int opened = open("/dev/null", number == STANDARD_INPUT ? O_WRONLY : O_RDONLY);
            (void)opened; /* open() returns the lowest free number, which is `number` */
        }
    }
    return stdin_is_closed;
}
#endif
