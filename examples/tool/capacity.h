/* capacity.h: the limits of the tool. */
#ifndef TOOL_CAPACITY_H
#define TOOL_CAPACITY_H

enum {
    MAX_MODELS = 16,
    MAX_FEATURES = 32,
    MAX_POOLINGS = 32,
    MAX_DISTORTED = 16,
    MAX_REPORTS = 2 * MAX_DISTORTED + 1, /* for each video a report and a picture of --slopes, and --html */
    MAX_THREADS = 256,
    MAX_GPU = 255,
    MAX_GPUS = 16
};

#endif /* TOOL_CAPACITY_H */
