/* system.h: defines which features of the operating system the tool uses. Each file must include it first, because it
 * requests POSIX functions from the C library.
 *
 * VIDEO_MAP: files can be mapped, and read at any position by any thread. READ_AHEAD: threads read pipes, and if a GPU
 * is used, they also read files. The tool uses neither on Windows.
 */
#ifndef SYSTEM_H
#define SYSTEM_H

#if !defined(_WIN32) && !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700 /* isatty, fileno, clock_gettime, mmap, realpath, sigaction */
#endif
#ifndef _WIN32
#define VIDEO_MAP
#ifndef VMAFGPU_NO_THREADS
#define READ_AHEAD
#endif
#endif

#endif /* SYSTEM_H */
