/* Counts cases by kind and keeps the first case of each kind as an example. */
#ifndef FUZZ_TALLY_H
#define FUZZ_TALLY_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { TALLY_KINDS = 256, TALLY_NAME = 200, TALLY_TEXT = 2000 };

typedef struct tally {
    struct {
        char name[TALLY_NAME];
        char example[TALLY_TEXT];
        uint64_t number; /* of the case that is the example */
        long count;
    } kinds[TALLY_KINDS];
    int count;
} tally;

/* Counts a case. If the table is full, all other kinds are counted as the last one. */
static inline void tally_add(tally *t, const char *name, uint64_t number, const char *example) {
    int i = 0;
    while (i < t->count && strncmp(t->kinds[i].name, name, TALLY_NAME - 1) != 0)
        i++;
    if (i == TALLY_KINDS) {
        i--;
    } else if (i == t->count) {
        t->count++;
        snprintf(t->kinds[i].name, TALLY_NAME, "%s", name);
        snprintf(t->kinds[i].example, TALLY_TEXT, "%s", example);
        t->kinds[i].number = number;
        t->kinds[i].count = 0;
    }
    t->kinds[i].count++;
}

/* Appends the name of a column without its options, unless the name is already in the list:
 * "integer_adm2_csf_2_dlmw_0.7" becomes integer_adm2. An option is a word and a number; flags, which are single words,
 * are kept. */
static inline void tally_column(char *list, size_t size, const char *name) {
    const char *end = name + strlen(name), *word = name;
    char base[TALLY_NAME];
    for (const char *at = strchr(name, '_'); at; at = strchr(at + 1, '_')) {
        if ((at[1] >= '0' && at[1] <= '9') || at[1] == '-') {
            end = word > name ? word - 1 : end;
            break;
        }
        word = at + 1;
    }
    snprintf(base, sizeof base, " %.*s ", (int)(end - name), name);
    if (!strstr(list, base)) {
        const size_t length = strlen(list);
        snprintf(list + length, size - length, "%s", length ? base + 1 : base);
    }
}

/* Copies a message with each number replaced by #. */
static inline void tally_message(char *out, size_t size, const char *message) {
    size_t length = 0;
    for (; *message && length + 1 < size; message++) {
        const int is_digit = *message >= '0' && *message <= '9';
        if (!is_digit || length == 0 || out[length - 1] != '#')
            out[length++] = is_digit ? '#' : *message;
    }
    out[length] = 0;
}

/* Prints all kinds; kinds with an example come last. */
static inline void tally_print(const tally *t) {
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < t->count; i++) {
            if ((t->kinds[i].example[0] != 0) == turn) {
                printf("%ld x %s\n", t->kinds[i].count, t->kinds[i].name);
                if (turn)
                    printf("    case %llu: %s\n", (unsigned long long)t->kinds[i].number, t->kinds[i].example);
            }
        }
    }
}

#endif /* FUZZ_TALLY_H */
