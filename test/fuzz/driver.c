/* Runs a fuzz target without libFuzzer: first with every seed file unchanged, then with random mutations of the seeds.
 *
 *     fuzz_NAME [-seconds=N] [-runs=N] [-seed=N] FILES...
 *
 *   -runs    maximum number of mutations
 *   -seed    selects the mutations; default: 1
 *
 * Build the target with sanitizers, because it reports errors by crashing. If FUZZ_KEEP is set, each input is written
 * to fuzz-last-input in the working directory before it runs. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_SEEDS = 256, MAX_SIZE = 1 << 16 };

typedef struct input {
    uint8_t *data;
    size_t size;
} input;

static uint64_t state = 1;

static uint32_t draw(uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % below);
}

static int load(input *in, const char *path) {
    FILE *file = fopen(path, "rb");
    in->data = (uint8_t *)malloc(MAX_SIZE);
    in->size = file && in->data ? fread(in->data, 1, MAX_SIZE, file) : 0;
    if (file)
        fclose(file);
    return file && in->data;
}

/* Makes one change: changes a byte, a bit or a number, removes or repeats a part, or copies a part of another seed. */
static size_t mutate(uint8_t *data, size_t size, const input *other) {
    static const char likely[] = "0123456789.:=-+eE \n\"\\{}[],WHFIC";
    size_t at = size ? draw((uint32_t)size) : 0, count = 1 + draw(16);
    count = count > size - at ? size - at : count;
    switch (draw(6)) {
    case 0:
        if (size)
            data[at] = (uint8_t)draw(256);
        return size;
    case 1:
        if (size)
            data[at] = (uint8_t)likely[draw(sizeof likely - 1)];
        return size;
    case 2:
        if (size)
            data[at] ^= (uint8_t)(1u << draw(8));
        return size;
    case 3: memmove(data + at, data + at + count, size - at - count); return size - count;
    case 4:
        if (size + count <= MAX_SIZE) {
            memmove(data + at + count, data + at, size - at);
            return size + count;
        }
        return size;
    default:
        if (other->size) {
            size_t from = draw((uint32_t)other->size);
            count = count > other->size - from ? other->size - from : count;
            count = count > size - at ? size - at : count;
            memcpy(data + at, other->data + from, count);
        }
        return size;
    }
}

/* Runs the target with a copy of exactly this size, so that a sanitizer detects reads beyond the end. */
static void run(const uint8_t *data, size_t size) {
    uint8_t *exact = (uint8_t *)malloc(size ? size : 1);
    if (exact) {
        memcpy(exact, data, size);
        if (getenv("FUZZ_KEEP")) {
            FILE *file = fopen("fuzz-last-input", "wb");
            if (file) {
                fwrite(data, 1, size, file);
                fclose(file);
            }
        }
        LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    }
}

int main(int argc, char **argv) {
    static input seeds[MAX_SEEDS];
    static uint8_t data[MAX_SIZE];
    int count = 0;
    long seconds = 10, most = LONG_MAX, runs = 0;
    time_t end;
    for (int i = 1; i < argc && count < MAX_SEEDS; i++) {
        if (strncmp(argv[i], "-seconds=", 9) == 0) {
            seconds = atol(argv[i] + 9);
        } else if (strncmp(argv[i], "-runs=", 6) == 0) {
            most = atol(argv[i] + 6);
        } else if (strncmp(argv[i], "-seed=", 6) == 0) {
            state = strtoul(argv[i] + 6, NULL, 10);
        } else if (load(&seeds[count], argv[i])) {
            run(seeds[count].data, seeds[count].size);
            count++;
        } else {
            fprintf(stderr, "cannot read %s\n", argv[i]);
            return 2;
        }
    }
    if (count == 0) {
        fprintf(stderr, "usage: %s [-seconds=N] [-seed=N] FILES...\n", argv[0]);
        return 2;
    }
    for (end = time(NULL) + seconds; time(NULL) < end && runs < most;) {
        for (int i = 0; i < 64 && runs < most; i++, runs++) {
            const input *seed = &seeds[draw((uint32_t)count)], *other = &seeds[draw((uint32_t)count)];
            size_t size = seed->size;
            memcpy(data, seed->data, size);
            for (uint32_t changes = 1 + draw(6); changes > 0; changes--)
                size = mutate(data, size, other);
            run(data, size);
        }
    }
    printf("%ld inputs\n", runs);
    for (int i = 0; i < count; i++)
        free(seeds[i].data);
    return 0;
}
