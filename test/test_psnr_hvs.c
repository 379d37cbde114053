/* Compares psnr_hvs with a second implementation that computes each block and each term separately, for several numbers
 * of threads and instruction sets, and for small, odd-sized and identical pictures. Also tests which settings are
 * rejected. */
#include "scoring.h"

#include <math.h>

/* ---- psnr_hvs ---- */

static const char *const tables[3] = {
    "1.6193873005 2.2901594831 2.08509755623 1.48366094411 1.00227514334 0.678296995242 0.466224900598 0.3265091542 "
    "1.94321815382 2.04793073064 1.68731108984 1.2305666963 0.868920337363 0.61280991668 0.436405793551 1.34329019223 "
    "1.09205635862 0.875748795257 0.670882927016 0.501731932449 0.372504254596 0.772819797575 0.605636379554 "
    "0.48309405692 "
    "0.380429446972 0.295774038565 0.448996256676 0.352889268808 0.283006984131 0.226951348204 0.27032073436 "
    "0.215017739696 "
    "0.17408067321 0.168869545842 0.136153931001 0.109083846276",
    "1.91113096927 2.46074210438 1.18284184739 1.14982565193 1.05017074788 0.898018824055 0.74725392039 0.615105596242 "
    "1.58529308355 1.21363250036 1.38190029285 1.33100189972 1.17428548929 0.996404342439 0.830890433625 "
    "0.978712413627 "
    "1.02624506078 1.03145147362 0.960060382087 0.849823426169 0.731221236837 0.861317501629 0.801821139099 "
    "0.751437590932 "
    "0.685398513368 0.608694761374 0.676555426187 0.605503172737 0.55002013668 0.495804539034 0.514674450957 "
    "0.454353482512 "
    "0.407050308965 0.389234902883 0.342353999733 0.295530605237",
    "2.03871978502 2.62502345193 1.26180942886 1.11019789803 1.01397751469 0.867069376285 0.721500455585 "
    "0.593906509971 "
    "1.69112867013 1.17180569821 1.3342742857 1.28513006198 1.13381474809 0.962064122248 0.802254508198 0.944981930573 "
    "0.990876405848 0.995903384143 0.926972725286 0.820534991409 0.706020324706 0.831632933426 0.77418706195 "
    "0.725539939514 "
    "0.661776842059 0.587716619023 0.653238524286 0.584635025748 0.531064164893 0.478717061273 0.496936637883 "
    "0.438694579826 "
    "0.393021669543 0.375820256136 0.330555063063 0.285345396658"
};

static void read_table(int plane, float csf[8][8]) {
    const char *at = tables[plane];
    for (int i = 0; i < 8; i++) {
        for (int j = i; j < 8; j++) {
            char *end;
            csf[i][j] = csf[j][i] = (float)strtod(at, &end);
            at = end;
        }
    }
}

/* Returns x * factor / 2^shift, rounded to nearest. */
static int lift(int x, int factor, int shift) {
    return (int)floor(((double)x * factor + (double)(1 << (shift - 1))) / (double)(1 << shift));
}

static void transform(const int in[8], int out[8]) {
    const int d07 = in[0] - in[7], h07 = d07 / 2;
    const int e1 = in[1] + in[6], h16 = e1 / 2;
    const int d25 = in[2] - in[5];
    const int e3 = in[3] + in[4], h34 = e3 / 2;
    int p0 = in[0] - h07 + h34, p6 = p0 - e3, p2 = h16 - (in[2] - d25 / 2), p4 = p2 - e1;
    int t1 = d07, t3 = d25, t5 = in[6] - h16, t7 = h34 - in[4];
    p0 -= lift(p4, 13573, 15);
    p4 += lift(p0, 11585, 14);
    p0 -= lift(p4, 13573, 15);
    p6 -= lift(p2, 21895, 15);
    p2 += lift(p6, 15137, 14);
    p6 -= lift(p2, 21895, 15);
    t3 += lift(t5, 19195, 15);
    t5 += lift(t3, 11585, 14);
    t3 -= lift(t5, 7489, 13);
    t7 = t5 / 2 - t7;
    t5 -= t7;
    t3 = h07 - t3;
    t1 -= t3;
    t7 += lift(t1, 3227, 15);
    t1 -= lift(t7, 6393, 15);
    t7 += lift(t1, 3227, 15);
    t5 += lift(t3, 2485, 13);
    t3 -= lift(t5, 18205, 15);
    t5 += lift(t3, 2485, 13);
    out[0] = p0;
    out[1] = t1;
    out[2] = p2;
    out[3] = t3;
    out[4] = p4;
    out[5] = t5;
    out[6] = p6;
    out[7] = t7;
}

/* Computes the coefficients of a block. Returns how strongly the block masks errors. */
static float transform_block(int block[8][8], float mask[8][8], int coefficient[8][8]) {
    int sum = 0, part[4] = { 0, 0, 0, 0 }, half[8][8];
    float whole = 0, parts[4] = { 0, 0, 0, 0 }, energy = 0;
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 8; j++) {
            sum += block[i][j];
            part[i / 4 + j / 4 * 2] += block[i][j];
        }
    }
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 8; j++) {
            const int q = i / 4 + j / 4 * 2;
            const float e = (float)block[i][j] - (float)sum / 64, f = (float)block[i][j] - (float)part[q] / 16;
            const float square = e * e, other = f * f;
            whole = whole + square;
            parts[q] = parts[q] + other;
        }
    }
    whole = whole * ((float)(1. / 63) * 64);
    for (int q = 0; q < 4; q++)
        parts[q] = parts[q] * ((float)(1. / 15) * 16);
    if (whole > 0) {
        float all = parts[0] + parts[1];
        all = all + parts[2];
        all = all + parts[3];
        whole = all / whole;
    }
    for (int j = 0; j < 8; j++) {
        int in[8], out[8];
        for (int i = 0; i < 8; i++)
            in[i] = block[i][j];
        transform(in, out);
        for (int i = 0; i < 8; i++)
            half[i][j] = out[i];
    }
    for (int i = 0; i < 8; i++) {
        transform(half[i], coefficient[i]);
        for (int j = 0; j < 8; j++) {
            if (i + j > 0) {
                const float square = (float)(coefficient[i][j] * coefficient[i][j]), weighed = square * mask[i][j];
                energy = energy + weighed;
            }
        }
    }
    energy = energy * whole;
    return (float)(sqrt((double)energy) / 32);
}

static int sample_of(const unsigned char *plane, int bytes, size_t at) {
    return bytes == 1 ? plane[at] : plane[2 * at] | plane[2 * at + 1] << 8;
}

/* Returns the mean of the terms of a plane. `w` and `h` are its size; `pitch` is the distance between rows in
 * samples. */
static double plane_mean(const unsigned char *const pair[2], int bytes, int depth, int w, int h, int pitch, int plane) {
    float csf[8][8], mask[8][8], sum = 0;
    const int peak = (1 << depth) - 1;
    int count = 0;
    read_table(plane, csf);
    for (int i = 0; i < 64; i++) {
        const double root = (double)csf[i / 8][i % 8] * 0.3885746225901003;
        mask[i / 8][i % 8] = (float)(root * root);
    }
    for (int y = 0; y + 8 <= h; y += 7) {
        for (int x = 0; x + 8 <= w; x += 7) {
            int coefficient[2][8][8];
            float hides[2], most;
            for (int k = 0; k < 2; k++) {
                int block[8][8];
                for (int i = 0; i < 64; i++) {
                    block[i / 8][i % 8] =
                        sample_of(pair[k], bytes, (size_t)(y + i / 8) * (size_t)pitch + (size_t)(x + i % 8));
                }
                hides[k] = transform_block(block, mask, coefficient[k]);
            }
            most = hides[1] > hides[0] ? hides[1] : hides[0];
            for (int i = 0; i < 64; i++) {
                float error = (float)abs(coefficient[0][i / 8][i % 8] - coefficient[1][i / 8][i % 8]), square;
                if (i > 0) {
                    const float threshold = most / mask[i / 8][i % 8];
                    error = error < threshold ? 0 : error - threshold;
                }
                error = error * csf[i / 8][i % 8];
                square = error * error;
                sum = sum + square;
            }
            count += 64;
        }
    }
    if (count == 0)
        return (double)NAN;
    sum = sum / (float)count;
    sum = sum / (float)(peak * peak);
    return (double)sum;
}

static void expect(const film *f, int frame, double out[4]) {
    const int chroma = f->clip.chroma;
    double mean[3];
    for (int plane = 0; plane < 3; plane++) {
        const int w = plane > 0 && chroma != 444 ? f->clip.width / 2 : f->clip.width;
        const int h = plane > 0 && chroma == 420 ? f->clip.height / 2 : f->clip.height;
        const unsigned char *pair[2];
        for (int side = 0; side < 2; side++)
            pair[side] = (const unsigned char *)film_frame(f, frame, side).data[plane];
        mean[plane] =
            plane_mean(pair, f->bytes_per_sample, f->clip.depth, w, h, clip_plane_width(&f->clip, plane), plane);
        out[plane] = 10 * (-1 * log10(mean[plane]));
    }
    out[3] = 10 * (-1 * log10(mean[0] * .8 + .1 * (mean[1] + mean[2])));
}

static const char *const columns[4] = { "psnr_hvs_y", "psnr_hvs_cb", "psnr_hvs_cr", "psnr_hvs" };

static const struct {
    int threads;
    unsigned cpumask;
} ways[] = { { 1, 0 }, { 3, 0 }, { 1, 16 }, { 2, 255 } };

static void compare(const char *what, int w, int h, int depth, int chroma) {
    static const vmafgpu_feature_config feature = { "psnr_hvs", NULL };
    film f = film_make_colour(what, w, h, depth, chroma, 2, (uint32_t)(w + h));
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
        vmafgpu_config config = film_feature_config(&f, &feature);
        vmafgpu *context;
        vmafgpu_score score;
        config.threads = test_thread_count(ways[way].threads);
        config.cpumask = ways[way].cpumask;
        snprintf(test_where, sizeof test_where, "%s %dx%d %d bits %d way %d", what, w, h, depth, chroma, (int)way);
        context = open_checked(&config);
        memset(&score, 0, sizeof score);
        for (int i = 0; context && i < 2; i++) {
            double wanted[4];
            CHECK_INT(film_push(&f, context, i), VMAFGPU_OK);
            if (!CHECK_INT(vmafgpu_score_at(context, i, &score), VMAFGPU_OK))
                continue;
            expect(&f, i, wanted);
            for (int k = 0; k < 4; k++) {
                const double got = score.values[vmafgpu_column_index(context, columns[k])];
                if (wanted[k] != wanted[k])
                    CHECK(got != got);
                else
                    CHECK_COMPUTED(got, wanted[k]);
            }
        }
        vmafgpu_close(context);
    }
    film_free(&f);
}

static void test_pictures(void) {
    compare("noise+grain", 70, 51, 8, 420);
    compare("noise+mix", 333, 64, 8, 444);
    compare("texture+mix", 257, 131, 8, 422);
    compare("texture+faint", 352, 288, 8, 420);
    compare("blocks+invert", 129, 65, 8, 420);
    compare("lines+coarse", 128, 71, 10, 422);
    compare("texture+mix", 201, 97, 10, 420);
    compare("noise+blur", 119, 120, 12, 444);
    compare("blocks+invert", 64, 64, 12, 444);
    compare("dusk+mix", 120, 96, 10, 420);
    compare("texture+same", 100, 80, 8, 420);
    compare("black+same", 64, 64, 8, 420);
    compare("flat+grain", 96, 96, 8, 420);
    /* pictures with one luma block and no chroma block */
    compare("texture+mix", 16, 16, 8, 420);
    compare("texture+mix", 18, 22, 8, 422);
    compare("texture+mix", 23, 17, 10, 444);
}

static void test_refused(void) {
    check_feature_refused("psnr_hvs", 16, VMAFGPU_CHROMA_420,
                          "feature psnr_hvs: unsupported bit depth (16); use 8, 10 or 12");
    check_feature_refused("psnr_hvs", 9, VMAFGPU_CHROMA_420, "bit depth (9)");
    check_feature_refused("psnr_hvs", 8, VMAFGPU_CHROMA_400, "requires chroma");
}

int main(void) {
    test_pictures();
    test_refused();
    return test_end();
}
