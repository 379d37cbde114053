/* Tests align.h with random shifts, and with dropped and repeated frames. align_find() must detect all of these or mark
 * the result as unsure.
 *
 *     test_align          tests some cases; with DEPTH=all, 1,400 cases
 */
#include "../examples/tool/align.h"
#include "../examples/tool/video.h"
#include "clip.h"
#include "test.h"

enum { WIDTH = 160, HEIGHT = 96, FRAMES = 90, MOST = 12 };

static uint32_t state = 1;

static int below(int n) {
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 8) % (uint32_t)n);
}

typedef struct film {
    char name[64];
    align_signature reference[FRAMES + 2 * MOST], distorted[FRAMES + 2 * MOST];
    int frames;
} film;

static void make_film(film *f, const char *what, uint32_t seed) {
    clip c;
    static uint16_t samples[WIDTH * HEIGHT];
    static unsigned char bytes[WIDTH * HEIGHT];
    snprintf(f->name, sizeof f->name, "%s %u", what, seed);
    f->frames = FRAMES + MOST;
    CHECK(clip_init(&c, what, WIDTH, HEIGHT, 8, 400, f->frames, seed));
    for (int i = 0; i < f->frames; i++) {
        for (int side = 0; side < 2; side++) {
            align_picture p = { bytes, WIDTH, WIDTH, HEIGHT, 1, 8 };
            clip_plane(&c, i, side, 0, samples);
            clip_store(samples, WIDTH * HEIGHT, 1, bytes);
            align_sign(side ? &f->distorted[i] : &f->reference[i], &p, 1);
        }
    }
}

static int sign_video(align_signature *out, int space, const char *path) {
    video v;
    int64_t count = 0;
    align_signature *list = NULL;
    if (video_open(&v, path, NULL, 1) == VIDEO_OK)
        list = align_sign_video(&v, 0, space, 1, &count);
    for (int i = 0; i < (int)count; i++)
        out[i] = list[i];
    free(list);
    video_close(&v);
    return (int)count;
}

typedef struct tally {
    int cases, found, uncertain, silent;
} tally;

/* Creates a misalignment in a film, calls align_find() and adds the outcome to the tally. */
static void plant(const film *f, int kind, tally *t) {
    static align_signature distorted[2 * FRAMES + 4 * MOST];
    int64_t truth[2 * FRAMES + 4 * MOST], last = -1;
    int most = f->frames < 40 ? 8 : MOST, count = 0, begin = 0;
    /* dropped or repeated frames shift later frames further */
    int offset = kind % 4 == 0 ? 0 : below(2 * most - 9) - (most - 5);
    begin = offset < 0 ? -offset : 0;
    int start = offset > 0 ? offset : begin, length = f->frames - start; /* length: number of corresponding frames */
    int at = start + 3 + below(length / 3), again = start + length / 2 + below(length / 3), freeze = 1 + below(2);
    /* The reference video starts with frame `begin`, the distorted video with frame begin + offset. */
    for (int i = begin + offset; i < f->frames && i - begin < f->frames; i++) {
        int copies = 1;
        copies = (kind / 4) % 3 == 1 && i == at ? 0 : copies;          /* dropped */
        copies = (kind / 4) % 3 == 2 && i == at ? 1 + freeze : copies; /* repeated */
        copies = (kind / 12) % 3 == 1 && i == again ? 0 : copies;
        copies = (kind / 12) % 3 == 2 && i == again ? 2 : copies;
        for (int n = 0; n < copies; n++) {
            int64_t k = i - begin;
            distorted[count] = f->distorted[i];
            truth[count++] = k < 0 || k >= f->frames - begin || n > 0 ? -1 : k;
        }
    }
    alignment a;
    int frames = f->frames - begin, wrong = 0;
    CHECK(align_find(&a, f->reference + begin, frames, distorted, count, -most, 2 * most + 1));
    for (int j = 0; j < count; j++) {
        wrong += a.match[j] != truth[j];
        if (truth[j] >= 0 && a.match[j] >= 0) {
            CHECK(a.match[j] > last);
            last = a.match[j];
        }
    }
    t->cases++;
    t->found += wrong == 0;
    t->uncertain += wrong > 0 && a.unsure;
    t->silent += wrong > 0 && !a.unsure;
    if (wrong > 0 && !a.unsure) {
        printf("wrong: %s, kind %d, offset %d, at %d and %d (%d): found offset %d, %d wrong, %d events\n", f->name,
               kind, offset, at, again, freeze, a.offset, wrong, a.event_count);
    }
    align_free(&a);
}

/* Tests clips without motion or with periodic motion, which have no unique offset. */
static void test_ambiguous(void) {
    static film f;
    static const char *const contents[] = { "black", "white", "lines+same", "black+grain" };
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        alignment a;
        make_film(&f, contents[i], 7);
        CHECK(align_find(&a, f.reference, f.frames, f.distorted, f.frames, -MOST, 2 * MOST + 1));
        CHECK(a.unsure);
        CHECK(a.offset == 0);
        align_free(&a);
    }
    /* The motion has a period of nine frames. */
    make_film(&f, "texture+mix", 8);
    for (int i = 9; i < f.frames; i++) {
        f.reference[i] = f.reference[i - 9];
        f.distorted[i] = f.distorted[i - 9];
    }
    alignment a;
    CHECK(align_find(&a, f.reference, f.frames, f.distorted, f.frames, -MOST, 2 * MOST + 1));
    CHECK(a.unsure && a.offset == 0);
    align_free(&a);
}

static void test_align_look(void) {
    static film f;
    make_film(&f, "texture+mix", 3);
    CHECK(align_look(f.reference, 30, f.distorted, 30, 0, 10) == 0);
    CHECK(align_look(f.reference, 30, f.distorted + 1, 30, 0, 10) == 1);
    CHECK(align_look(f.reference + 4, 30, f.distorted, 30, 0, 10) == -4);
    CHECK(align_look(f.reference + 4, 30, f.distorted, 30, -4, 10) == -4);
    CHECK(align_look(f.reference, 5, f.distorted + 1, 5, 0, 10) == 0); /* too few frames to find an offset */
    make_film(&f, "black", 3);
    CHECK(align_look(f.reference, 30, f.distorted + 1, 30, 0, 10) == 0);
}

int main(void) {
    /* In the first clips (MOVING), neighbouring frames differ by more than noise. The other clips have hardly any
     * motion, a fade, or noise that averages out; for these, a wrong result must be marked as unsure. */
    static const char *const contents[] = { "texture+same",  "texture+mix",     "texture+coarse", "texture+blur",
                                            "texture+grain", "texture+stretch", "ramp+grain",     "noise+blur",
                                            "grey+mix",      "grey+blur",       "blocks+mix",     "bands+mix",
                                            "flat+mix",      "dusk+mix" };
    enum { MOVING = 10 };
    const char *depth = getenv("DEPTH");
    int rounds = depth && strcmp(depth, "all") == 0 ? 100 : 8;
    static film f;
    tally t = { 0, 0, 0, 0 }, hard = { 0, 0, 0, 0 };
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        make_film(&f, contents[i], (uint32_t)i + 1);
        for (int kind = 0; kind < rounds; kind++)
            plant(&f, kind % 8 == 0 ? 0 : below(36), i < MOVING ? &t : &hard);
    }
    f.frames = sign_video(f.reference, FRAMES, "../shared/clips/seek_8b_ref.y4m");
    if (f.frames > 0 && sign_video(f.distorted, FRAMES, "../shared/clips/seek_8b_dis.y4m") == f.frames) {
        snprintf(f.name, sizeof f.name, "seek_8b");
        for (int kind = 0; kind < rounds; kind++)
            plant(&f, below(36), &t);
    }
    printf("%d cases: %d found, %d unsure, %d wrong; with little motion %d: %d, %d, %d\n", t.cases, t.found,
           t.uncertain, t.silent, hard.cases, hard.found, hard.uncertain, hard.silent);
    CHECK(t.silent == 0 && hard.silent == 0);
    CHECK(t.found * 1000 >= t.cases * 999);
    test_ambiguous();
    test_align_look();
    return test_end();
}
