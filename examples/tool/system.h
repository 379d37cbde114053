/* system.h: defines which features of the operating system the tool uses. Each file must include it first, because it
 * requests POSIX functions from the C library.
 *
 * VIDEO_MAP: files can be mapped, and read at any position by any thread. READ_AHEAD: threads read pipes, and if a GPU
 * is used, they also read files. The tool uses neither on Windows.
 */
#ifndef SYSTEM_H
#define SYSTEM_H

/* Makes the system headers declare isatty, fileno, clock_gettime, mmap, realpath and sigaction. macOS, FreeBSD, OpenBSD
 * and DragonFly BSD declare them without a feature-test macro, and defining _XOPEN_SOURCE there would hide
 * _SC_NPROCESSORS_ONLN. */
#if defined(__NetBSD__)
#define _NETBSD_SOURCE
#elif !defined(_WIN32) && !defined(__APPLE__) && !defined(__FreeBSD__) && !defined(__OpenBSD__) && \
    !defined(__DragonFly__) && !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700
#endif
#ifndef _WIN32
#define VIDEO_MAP
#ifndef VMAFGPU_NO_THREADS
#define READ_AHEAD
#endif
#endif

#endif /* SYSTEM_H */
