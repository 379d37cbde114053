/* Defines the version of the libvmaf interface in libvmaf.h, for programs that test it with #if. */
#ifndef LIBVMAF_VERSION_H
#define LIBVMAF_VERSION_H

#define VMAF_API_VERSION_MAJOR 3
#define VMAF_API_VERSION_MINOR 2
#define VMAF_API_VERSION_PATCH 0

#endif /* LIBVMAF_VERSION_H */
