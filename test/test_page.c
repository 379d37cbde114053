/* Tests the code behind the tool's --html option: pooled values, hashes, shots, plots, and a page with a million
 * frames. test_html.sh opens this page in a browser.
 *
 *     test_page [FILE]        writes the page to FILE
 */
#include "../examples/tool/html.h"
#include "../examples/tool/plot.h"
#include "../examples/tool/xxh64.h"
#include "../vmafgpu.h"
#include "clip.h"
#include "test.h"

#include <math.h>

/* Tests that pooled values equal those of the library, bit for bit. */
static void test_pooling(void) {
    enum { WIDTH = 64, HEIGHT = 48, FRAMES = 9 };
    static uint16_t samples[WIDTH * HEIGHT];
    static unsigned char planes[2][WIDTH * HEIGHT];
    vmafgpu_config config = VMAFGPU_INIT;
    vmafgpu *v = NULL;
    clip c;
    scores s;
    memset(&s, 0, sizeof s);
    config.width = WIDTH;
    config.height = HEIGHT;
    config.chroma = VMAFGPU_CHROMA_400;
    config.backend = VMAFGPU_BACKEND_CPU;
    CHECK(clip_init(&c, "texture+mix", WIDTH, HEIGHT, 8, 400, FRAMES, 3));
    CHECK_INT(vmafgpu_open(&v, &config), VMAFGPU_OK);
    for (int i = 0; i < FRAMES; i++) {
        for (int side = 0; side < 2; side++) {
            clip_plane(&c, i, side, 0, samples);
            clip_store(samples, WIDTH * HEIGHT, 1, planes[side]);
        }
        vmafgpu_frame r = vmafgpu_frame_of(&config, planes[0], 0), d = vmafgpu_frame_of(&config, planes[1], 0);
        CHECK_INT(vmafgpu_push(v, &r, &d), VMAFGPU_OK);
    }
    CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
    s.columns = vmafgpu_column_count(v);
    for (int i = 0; i < FRAMES; i++) {
        vmafgpu_score score;
        CHECK_INT(vmafgpu_score_at(v, i, &score), VMAFGPU_OK);
        CHECK(scores_append(&s, score.values, 1));
    }
    for (int column = 0; column < s.columns; column++) {
        static const double percents[] = { 0, 1, 5, 33.3, 50, 99, 100 };
        scores_total t = scores_pool(&s, column, 0, s.rows);
        const double ours[] = { t.mean, t.harmonic_mean, t.min, t.max };
        static const vmafgpu_pool_method methods[] = { VMAFGPU_POOL_MEAN, VMAFGPU_POOL_HARMONIC_MEAN, VMAFGPU_POOL_MIN,
                                                       VMAFGPU_POOL_MAX };
        int64_t count;
        double value, *sorted = scores_sorted(&s, column, &count);
        for (int i = 0; i < 4; i++) {
            CHECK_INT(vmafgpu_pool(v, column, methods[i], &value), VMAFGPU_OK);
            CHECK_BITS(ours[i], value);
        }
        for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++) {
            CHECK_INT(vmafgpu_percentile(v, column, percents[i], &value), VMAFGPU_OK);
            CHECK_BITS(scores_percentile(sorted, count, percents[i]), value);
        }
        free(sorted);
    }
    scores_free(&s);
    vmafgpu_close(v);
}

static void test_hash(void) {
    static const struct {
        const char *text;
        uint64_t hash;
    } rows[] = { { "", 0xef46db3751d8e999u },
                 { "a", 0xd24ec4f1a98c6e5bu },
                 { "abc", 0x44bc2cf5ad770999u },
                 { "Nobody inspects the spammish repetition", 0xfbcea83c8a378bf1u } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t piece = 1; piece < 40; piece += 6) {
            xxh64 h;
            xxh64_start(&h);
            for (size_t at = 0, length = strlen(rows[i].text); at < length; at += piece)
                xxh64_add(&h, rows[i].text + at, length - at < piece ? length - at : piece);
            CHECK(xxh64_end(&h) == rows[i].hash);
        }
    }
}

/* Tests that cuts are found and that fast motion is not reported as a cut. */
static void test_shots(void) {
    static float distances[100];
    int64_t count;
    for (int i = 1; i < 100; i++)
        distances[i] = (float)(300000 + 1000 * i);
    distances[40] = distances[70] = 9e7f;
    html_shot *shots = html_find_shots(distances, 100, &count);
    CHECK_INT(count, 3);
    CHECK(shots && shots[0].first == 0 && shots[0].end == 40 && shots[1].end == 70 && shots[2].end == 100);
    free(shots);
}

static void test_long_page(const char *path) {
    enum { ROWS = 1000000, COLUMNS = 14 };
    static html_video video;
    static const char *const names[COLUMNS] = {
        "vmaf", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"
    };
    static const int score_column = 0;
    static const char *const models[] = { "vmaf_v0.6.1" }, *const notes[] = { "</script> <b>&amp; \"\\ \xff \xc3\xa4" };
    html_page p;
    double row[COLUMNS];
    uint32_t state = 5;
    memset(&p, 0, sizeof p);
    video.name = "million.y4m";
    video.figures.columns = COLUMNS;
    for (int i = 0; i < ROWS; i++) {
        state = state * 1664525u + 1013904223u;
        row[0] = 80 + 12 * sin(i / 30000.0) + (double)(state >> 8) / (1 << 24) * 6 - (i == 777777 ? 70 : 0);
        for (int c = 1; c < COLUMNS; c++)
            row[c] = row[0] / c;
        if (!scores_append(&video.figures, row, 1))
            CHECK(0);
    }
    video.worst_count = html_find_worst(&video.figures, 0, 3, 250, video.worst);
    CHECK_INT(video.worst[0].row, 777777);
    p.out = fopen(path, "wb");
    CHECK(p.out != NULL);
    p.version = vmafgpu_version_string();
    p.libvmaf = p.command = p.backend = p.reference = "test";
    p.width = 1920;
    p.height = 1080;
    p.rate_num = 24000;
    p.rate_den = 1001;
    p.step = 1;
    p.columns = COLUMNS;
    p.names = names;
    p.score_columns = &score_column;
    p.score_count = p.model_count = p.note_count = p.video_count = 1;
    p.models = models;
    p.notes = notes;
    p.videos = &video;
    if (p.out) {
        html_write(&p);
        CHECK(ftell(p.out) > 500000);
        CHECK(ftell(p.out) < 5000000);
        fclose(p.out);
    }
    scores_free(&video.figures);
}

static void test_plot(void) {
    scores s;
    double value;
    memset(&s, 0, sizeof s);
    s.columns = 1;
    for (int i = 0; i < 300; i++) {
        value = i % 100;
        CHECK(scores_append(&s, &value, i != 5));
    }
    FILE *out = tmpfile();
    if (out) {
        plot_curve(out, &s, 0, "vmaf", 1, 80);
        CHECK(ftell(out) > 500);
        fclose(out);
    }
    scores_free(&s);
}

int main(int argc, char **argv) {
    test_pooling();
    test_hash();
    test_shots();
    test_plot();
    char path[1024];
    snprintf(path, sizeof path, "%s.html", argv[0]);
    test_long_page(argc > 1 ? argv[1] : path);
    if (argc < 2)
        remove(path);
    return test_end();
}
