/* system.h: what the system has that the tool uses. The first thing that each file includes, since it asks the C
 * library for functions of POSIX.
 *
 * VIDEO_MAP: files can be mapped, and read at any place on any thread. READ_AHEAD: threads read pipes, and files that a
 * GPU scores. Windows has neither here.
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
