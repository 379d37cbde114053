/* Compares float_adm with a second implementation in simple C, whose only source was
 * ../shared/arithmetic/float_family.md. The values must be equal, bit for bit, with all options, depths, sizes, kinds
 * of reciprocal, numbers of threads and instruction sets. The section numbers below refer to that document. */
#include "scoring.h"

#include <math.h>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

/* ---- powf() of the GNU C library, section 9 ---- */

static const double log_table[16][2] = {
    { 0x1.661ec79f8f3bep+0, -0x1.efec65b963019p-2 }, { 0x1.571ed4aaf883dp+0, -0x1.b0b6832d4fca4p-2 },
    { 0x1.49539f0f010bp+0, -0x1.7418b0a1fb77bp-2 },  { 0x1.3c995b0b80385p+0, -0x1.39de91a6dcf7bp-2 },
    { 0x1.30d190c8864a5p+0, -0x1.01d9bf3f2b631p-2 }, { 0x1.25e227b0b8eap+0, -0x1.97c1d1b3b7afp-3 },
    { 0x1.1bb4a4a1a343fp+0, -0x1.2f9e393af3c9fp-3 }, { 0x1.12358f08ae5bap+0, -0x1.960cbbf788d5cp-4 },
    { 0x1.0953f419900a7p+0, -0x1.a6f9db6475fcep-5 }, { 1, 0 },
    { 0x1.e608cfd9a47acp-1, 0x1.338ca9f24f53dp-4 },  { 0x1.ca4b31f026aap-1, 0x1.476a9543891bap-3 },
    { 0x1.b2036576afce6p-1, 0x1.e840b4ac4e4d2p-3 },  { 0x1.9c2d163a1aa2dp-1, 0x1.40645f0c6651cp-2 },
    { 0x1.886e6037841edp-1, 0x1.88e9c2c1b9ff8p-2 },  { 0x1.767dcf5534862p-1, 0x1.ce0a44eb17bccp-2 }
};
static const double log_terms[5] = { 0x1.27616c9496e0bp-2, -0x1.71969a075c67ap-2, 0x1.ec70a6ca7baddp-2,
                                     -0x1.7154748bef6c8p-1, 0x1.71547652ab82bp0 };
static const double exp_terms[3] = { 0x1.c6af84b912394p-5, 0x1.ebfce50fac4f3p-3, 0x1.62e42ff0c52d6p-1 };
static const uint64_t exp_table[32] = {
    0x3ff0000000000000, 0x3fefd9b0d3158574, 0x3fefb5586cf9890f, 0x3fef9301d0125b51, 0x3fef72b83c7d517b,
    0x3fef54873168b9aa, 0x3fef387a6e756238, 0x3fef1e9df51fdee1, 0x3fef06fe0a31b715, 0x3feef1a7373aa9cb,
    0x3feedea64c123422, 0x3feece086061892d, 0x3feebfdad5362a27, 0x3feeb42b569d4f82, 0x3feeab07dd485429,
    0x3feea47eb03a5585, 0x3feea09e667f3bcd, 0x3fee9f75e8ec5f74, 0x3feea11473eb0187, 0x3feea589994cce13,
    0x3feeace5422aa0db, 0x3feeb737b0cdc5e5, 0x3feec49182a3f090, 0x3feed503b23e255d, 0x3feee89f995ad3ad,
    0x3feeff76f2fb5e47, 0x3fef199bdd85529c, 0x3fef3720dcef9069, 0x3fef5818dcfba487, 0x3fef7c97337b9b5f,
    0x3fefa4afa2a490da, 0x3fefd0765b6e4540
};

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Returns x^p for x >= 0 and p > 0. */
static float power(float x, float p) {
    const double shift = 0x1.8p47;
    uint32_t bits = bits_of(x), t, top;
    uint64_t rounded, both;
    double r, y0, r2, y, u, q, exponent, down, s, w;
    if (x != x || x == 0 || bits == 0x7f800000)
        return x;
    if (bits < 0x00800000)
        bits = bits_of(x * 8388608.0f) - (23u << 23);
    t = bits - 0x3f330000;
    top = t & 0xff800000;
    r = (double)float_of(bits - top) * log_table[t >> 19 & 15][0] - 1;
    y0 = log_table[t >> 19 & 15][1] + (double)((int32_t)top / 8388608);
    r2 = r * r;
    y = log_terms[0] * r + log_terms[1];
    u = log_terms[2] * r + log_terms[3];
    q = log_terms[4] * r + y0;
    q = u * r2 + q;
    y = y * (r2 * r2) + q;
    exponent = (double)p * y;
    if (exponent > 0x1.fffffffd1d571p+6)
        return float_of(0x7f800000);
    if (exponent <= -150)
        return 0;
    down = exponent + shift;
    memcpy(&rounded, &down, sizeof rounded);
    down -= shift;
    r = exponent - down;
    both = exp_table[rounded & 31] + (rounded << 47);
    memcpy(&s, &both, sizeof s);
    w = exp_terms[0] * r + exp_terms[1];
    y = exp_terms[2] * r + 1;
    y = w * (r * r) + y;
    return (float)(y * s);
}

/* ---- reciprocals, section 2.4 ---- */

static int amd_base[256], amd_delta[256], has_amd;

static void read_amd(void) {
    FILE *file = fopen("../shared/arithmetic/rcp_amd_zen3.txt", "rb");
    char line[512];
    int *const tables[2] = { amd_base, amd_delta };
    int table = -1, count = 512;
    if (!file) {
        test_skip("../shared/arithmetic/rcp_amd_zen3.txt does not exist: no tests of the AMD reciprocal");
        return;
    }
    while (fgets(line, sizeof line, file)) {
        char *at = line, *end;
        if (strchr(line, '#') || strchr(line, '(')) {
            table += line[0] != '#';
            count = 0;
            continue;
        }
        for (long value = strtol(at, &end, 10); end != at && table < 2 && count < 256; value = strtol(at, &end, 10)) {
            tables[table][count++] = (int)value;
            at = end;
        }
    }
    fclose(file);
    has_amd = CHECK(table == 1 && count == 256);
}

/* Returns the estimate of 1 / x that a processor's reciprocal instruction produces. */
static float estimate(float x, vmafgpu_reciprocal kind) {
    const uint32_t bits = bits_of(x), sign = bits & 0x80000000, e = bits >> 23 & 255;
    uint32_t v;
    if (e == 0)
        return float_of(sign | 0x7f800000);
    if (e >= 253)
        return float_of(sign);
    if (kind == VMAFGPU_RECIPROCAL_INTEL) {
        v = (uint32_t)floor(8192 / (1 + ((bits >> 12 & 2047) + 0.5) / 2048) + 0.5) - 4096;
    } else {
        const uint32_t i = bits >> 11 & 4095;
        v = (uint32_t)(amd_base[i >> 4] + amd_delta[(i >> 8) * 16 + (i & 15)]);
    }
    return float_of(sign | ((v << 11) + ((253 - e) << 23)));
}

static float quotient(float t, float x, vmafgpu_reciprocal kind) {
    float rough, product, error, correction;
    switch (kind) {
    case VMAFGPU_RECIPROCAL_HOST:
#ifdef __SSE__
        rough = _mm_cvtss_f32(_mm_rcp_ss(_mm_set_ss(x)));
        break;
#else
        return t / x;
#endif
    case VMAFGPU_RECIPROCAL_DIVISION: return t / x;
    default: rough = estimate(x, kind);
    }
    product = x * rough;
    error = 1.0f - product;
    correction = rough * error;
    return t * (rough + correction);
}

/* ---- options, sections 2.1 and 2.6 ---- */

static double option(const char *options, const char *name, double standard) {
    const char *at = strstr(options, name);
    if (!at)
        return standard;
    at += strlen(name) + 1;
    return *at == 't' ? 1 : *at == 'f' ? 0 : strtod(at, NULL);
}

static float watson(float r, int scale, int diagonal) {
    static const float amplitude[2][4] = { { 0.67234f, 0.41317f, 0.22727f, 0.11792f },
                                           { 0.72709f, 0.49428f, 0.28688f, 0.15214f } };
    const float a0 = 0.495f, k0 = 0.466f, f0 = 0.401f, g = diagonal ? 0.534f : 1.0f;
    const float u = (float)log10(pow(2.0, scale + 1) * (double)f0 * (double)g / (double)r);
    const float ku = k0 * u, e = ku * u;
    const float q = (float)(2.0 * (double)a0 * pow(10.0, (double)e) / (double)amplitude[diagonal][scale]);
    return 1.0f / q;
}

static float between(float at_20, float at_150) {
    const float x0 = (float)log10(20.0), x1 = (float)log10(150.0), x = (float)log10(100.0);
    const float rise = at_150 - at_20, run = x1 - x0, slope = rise / run, ahead = x - x0, more = slope * ahead;
    return at_20 + more;
}

static float barten(float r, int scale, double weight) {
    static const float alpha[4] = { 0.424838596301290f, 0.572435103936480f, 0.000167576239164937f,
                                    0.00255872352306433f };
    static const float beta[4] = { 0.028f, 0.37f, 37.0f, 360.0f };
    const float f = (float)((double)r / pow(2.0, scale + 1));
    const float p0 = between(0.334278f, 0.394533f), p1 = between(3.79542f, 2.7755f), p2 = between(1.07327f, 1.16577f),
                p3 = between(6.4635f, 7.45665f);
    const float p0f = p0 * f, f7 = f / 7;
    const float a = (float)(1 + pow((double)p0f, (double)p1));
    const float b = (float)(1 / pow(1 - exp(-pow((double)f7, 2)), (double)p2));
    const float ab = a * b, c = (float)((double)p3 / pow((double)ab, 0.5));
    const float age = 4.0627f / 100.0f;
    const float rc = (float)(30.162 * pow(pow((double)age, 1.6596) + 1, -0.2712));
    float m = 0, product;
    for (int i = 0; i < 4; i++) {
        const float bf = beta[i] * f;
        m = (float)((double)m + (double)alpha[i] * exp(-(double)bf));
    }
    product = c * m;
    product = product * rc;
    return (float)((double)product * weight);
}

static float native(float r, int scale, int diagonal) {
    float f = (float)((double)r / pow(2.0, scale + 1));
    if (diagonal)
        f = (float)((double)f / 0.7);
    return (float)((0.31 + 0.69 * (double)f) * exp(-0.29 * (double)f));
}

static float factor(const char *options, int scale, int diagonal) {
    const double pi = 3.14159265358979323846;
    const float r = (float)(option(options, "adm_norm_view_dist", 3) * option(options, "adm_ref_display_height", 1080) *
                            pi / 180.0);
    const int mode = (int)option(options, "adm_csf_mode", 0);
    char name[32];
    double given;
    snprintf(name, sizeof name, "adm_f%ds%d", 1 + diagonal, scale);
    given = option(options, name, -1);
    if (given >= 0)
        return (float)given;
    return mode == 1   ? barten(r, scale, option(options, diagonal ? "adm_csf_diag_scale" : "adm_csf_scale", 1))
           : mode == 2 ? native(r, scale, diagonal)
                       : watson(r, scale, diagonal);
}

/* Checks the factors that the document lists. */
static void test_factors(void) {
    static const struct {
        const char *options;
        uint32_t bits[2][4];
    } wanted[] = {
        { "adm_csf_mode=0",
          { { 0x3c8e63ba, 0x3d030286, 0x3d31a788, 0x3d3b140b }, { 0x3bc106aa, 0x3c6a46a3, 0x3cc7dc06, 0x3d0041c9 } } },
        { "adm_csf_mode=1",
          { { 0x3f9af18d, 0x40a159e3, 0x416a0875, 0x41d7ce9b }, { 0x3f9af18d, 0x40a159e3, 0x416a0875, 0x41d7ce9b } } },
        { "adm_csf_mode=2",
          { { 0x3bb2731d, 0x3e2ad6cf, 0x3f2af91a, 0x3f7c7bd6 }, { 0x3971c0da, 0x3d26e4ec, 0x3ec747cb, 0x3f609aa9 } } }
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        for (int k = 0; k < 8; k++) {
            snprintf(test_where, sizeof test_where, "%s scale %d", wanted[i].options, k % 4);
            CHECK_INT(bits_of(factor(wanted[i].options, k % 4, k / 4)), wanted[i].bits[k / 4][k % 4]);
        }
    }
}

/* ---- a scale, sections 2.3, 2.5 and 2.7 ---- */

enum { LONGEST = 160, H = 0, V = 1, D = 2 };

typedef struct plane {
    int w, h;
    float at[LONGEST][LONGEST];
} plane;

static void wavelet(const plane *in, plane *approximation, plane band[3]) {
    static const float low[4] = { 0.482962913144690f, 0.836516303737469f, 0.224143868041857f, -0.129409522550921f };
    const float high[4] = { low[3], -low[2], low[1], -low[0] };
    static float rows[2][LONGEST][LONGEST];
    const int w = (in->w + 1) / 2, h = (in->h + 1) / 2;
    /* the low-pass band comes before the high-pass band, both vertically and horizontally */
    plane *const out[4] = { approximation, &band[V], &band[H], &band[D] };
    for (int i = 0; i < h; i++) {
        for (int x = 0; x < in->w; x++) {
            for (int f = 0; f < 2; f++) {
                float sum = 0;
                for (int t = 0; t < 4; t++) {
                    int k = 2 * i - 1 + t;
                    k = k < 0 ? -k : k >= in->h ? 2 * in->h - 1 - k : k;
                    const float product = (f ? high : low)[t] * in->at[k][x];
                    sum = sum + product;
                }
                rows[f][i][x] = sum;
            }
        }
        for (int j = 0; j < w; j++) {
            for (int f = 0; f < 4; f++) {
                float sum = 0;
                for (int t = 0; t < 4; t++) {
                    int k = 2 * j - 1 + t;
                    k = k < 0 ? -k : k >= in->w ? 2 * in->w - 1 - k : k;
                    const float product = (f % 2 ? high : low)[t] * rows[f / 2][i][k];
                    sum = sum + product;
                }
                out[f]->at[i][j] = sum;
            }
        }
    }
    for (int f = 0; f < 4; f++) {
        out[f]->w = w;
        out[f]->h = h;
    }
}

/* Splits the distorted bands t into a part that matches the reference bands o, and an added part. */
static void decouple(const plane o[3], const plane t[3], double limit, vmafgpu_reciprocal kind, plane kept[3],
                     plane added[3]) {
    const float c = float_of(0x3f7fec0a);
    for (int i = 0; i < o[0].h * o[0].w; i++) {
        const int y = i / o[0].w, x = i % o[0].w;
        const float oh = o[H].at[y][x], ov = o[V].at[y][x], th = t[H].at[y][x], tv = t[V].at[y][x];
        const float ohth = oh * th, ovtv = ov * tv, ohoh = oh * oh, ovov = ov * ov, thth = th * th, tvtv = tv * tv;
        const float dp = ohth + ovtv, om = ohoh + ovov, tm = thth + tvtv, dpdp = dp * dp, com = c * om,
                    bound = com * tm;
        const int flag = dp >= 0 && dpdp >= bound;
        for (int q = 0; q < 3; q++) {
            const float oq = o[q].at[y][x], tq = t[q].at[y][x];
            float k = quotient(tq, oq + 1e-30f, kind), r;
            k = k < 0 ? 0 : k > 1 ? 1 : k;
            r = k * oq;
            if (flag && r != 0) {
                const double z = (double)r * limit;
                r = (r > 0 ? z < (double)tq : z > (double)tq) ? (float)z : tq;
            }
            kept[q].at[y][x] = r;
            added[q].at[y][x] = tq - r;
        }
    }
    for (int q = 0; q < 3; q++) {
        kept[q].w = added[q].w = o[0].w;
        kept[q].h = added[q].h = o[0].h;
    }
}

typedef struct norm {
    double p;
    float e;
} norm;

static float raised(float x, norm n) {
    return n.p == 3 ? x * x * x : power(x, (float)n.p);
}

/* Returns the masking threshold of one band: the weighted sum of a coefficient and its eight neighbours. */
static float masking(const plane *mask, float f, int y, int x) {
    float sum = 0;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            int ny = y + dy, nx = x + dx;
            ny = ny < 0 ? 1 : ny >= mask->h ? mask->h - 1 : ny;
            nx = nx < 0 ? 1 : nx >= mask->w ? mask->w - 1 : nx;
            const float c = f * mask->at[ny][nx], m = fabsf(c);
            if (dy == 0 && dx == 0) {
                const double product = 0.0666666701 * (double)m;
                sum = (float)((double)sum + product);
            } else {
                sum = sum + (float)(0.0333333351 * (double)m);
            }
        }
    }
    return sum;
}

/* Returns the pooled sum of a scale. `masks` is NULL for bands without masking. */
static float pooled(const plane signal[3], const plane *masks, const float f[2], norm n, double weight) {
    const int w = signal[0].w, h = signal[0].h, left = (int)(w * 0.1 - 0.5), top = (int)(h * 0.1 - 0.5);
    const int area = (w - 2 * left) * (h - 2 * top);
    float sums[3] = { 0, 0, 0 }, result = 0;
    for (int y = top; y < h - top; y++) {
        float row[3] = { 0, 0, 0 };
        for (int x = left; x < w - left; x++) {
            float threshold = 0;
            for (int q = 0; masks && q < 3; q++)
                threshold = threshold + masking(&masks[q], f[q == D], y, x);
            for (int q = 0; q < 3; q++) {
                float value = fabsf(signal[q].at[y][x] * f[q == D]) - threshold;
                value = value < 0 ? 0 : value;
                row[q] = row[q] + raised(value, n);
            }
        }
        for (int q = 0; q < 3; q++)
            sums[q] = sums[q] + row[q];
    }
    for (int q = 0; q < 3; q++) {
        const float noise = weight != 0 ? power((float)((double)area * weight), n.e) : 0;
        const float band = power(sums[q], n.e) + noise;
        result = q == 0 ? band : result + band;
    }
    return result;
}

/* ---- a pair, sections 2.2 and 2.8 ---- */

enum { COLUMNS = 18 };

static void read_plane(const film *f, int frame, int side, plane *out) {
    const unsigned char *samples = (const unsigned char *)film_frame(f, frame, side).data[0];
    const float unit = (float)(1 << (f->clip.depth - 8));
    out->w = f->clip.width;
    out->h = f->clip.height;
    for (int i = 0; i < out->w * out->h; i++) {
        const int p = f->bytes_per_sample == 1 ? samples[i] : samples[2 * i] | samples[2 * i + 1] << 8;
        out->at[i / out->w][i % out->w] = (float)p / unit - 128.0f;
    }
}

static void expect(const film *f, int frame, const char *options, vmafgpu_reciprocal kind, double out[COLUMNS]) {
    static plane picture[2], band[2][3], kept[3], added[3];
    const double size = 1e-10 * (f->clip.width * f->clip.height) / (1920.0 * 1080.0);
    const double weight = option(options, "adm_noise_weight", 0.03125), dlm = option(options, "adm_dlm_weight", 0.5);
    const int skip = (int)option(options, "adm_skip_aim_scale", -1), no_mask = option(options, "adm_bypass_cm", 0) != 0;
    const int skip_first = option(options, "adm_skip_scale0", 0) != 0;
    const double least = option(options, "adm_min_val", 0);
    norm n;
    double num = 0, den = 0, an = 0, ad = 0, adm2, aim, value;
    n.p = option(options, "adm_p_norm", 3);
    n.e = (float)(1.0 / n.p);
    for (int side = 0; side < 2; side++)
        read_plane(f, frame, side, &picture[side]);
    for (int s = 0; s < 4; s++) {
        const float factors[2] = { factor(options, s, 0), factor(options, s, 1) };
        float num_s = 0, den_s = (float)1e-10, aim_s = 0;
        for (int side = 0; side < 2; side++) {
            static plane approximation;
            wavelet(&picture[side], &approximation, band[side]);
            picture[side] = approximation;
        }
        if (s > 0 || !skip_first) {
            decouple(band[0], band[1], option(options, "adm_enhn_gain_limit", 100), kind, kept, added);
            den_s = pooled(band[0], NULL, factors, n, weight);
            num_s = pooled(kept, no_mask ? NULL : added, factors, n, weight);
            aim_s = pooled(added, no_mask ? NULL : kept, factors, n, 0);
        }
        num += (double)num_s;
        den += (double)den_s;
        an += s == skip ? 0 : (double)aim_s;
        ad += s == skip ? 0 : (double)den_s;
        out[3 + s] = (double)num_s / (double)den_s;
        out[10 + 2 * s] = (double)num_s;
        out[11 + 2 * s] = (double)den_s;
    }
    num = num < size ? 0 : num;
    den = den < size ? 0 : den;
    adm2 = num / den;
    aim = an / ad < 1 ? an / ad : 1;
    value = option(options, "adm_adm3_apply_hm", 0) != 0 ? 2 * adm2 * aim / (adm2 + aim)
                                                         : adm2 * dlm + (1 - aim) * (1 - dlm);
    out[0] = out[7] = adm2;
    out[1] = aim;
    out[2] = value > least ? value : least;
    out[8] = num;
    out[9] = den;
}

static const struct {
    int threads;
    unsigned cpumask;
} ways[] = { { 1, 0 }, { 2, 255 }, { 7, 16 } };

static void compare(const char *what, int w, int h, int depth, const char *options, vmafgpu_reciprocal kind) {
    static const char *const names[COLUMNS] = { "adm2",           "aim",
                                                "adm3",           "adm_scale0",
                                                "adm_scale1",     "adm_scale2",
                                                "adm_scale3",     "adm",
                                                "adm_num",        "adm_den",
                                                "adm_num_scale0", "adm_den_scale0",
                                                "adm_num_scale1", "adm_den_scale1",
                                                "adm_num_scale2", "adm_den_scale2",
                                                "adm_num_scale3", "adm_den_scale3" };
    film f = film_make(what, w, h, depth, 1, (uint32_t)(w + depth));
    char text[256];
    double wanted[COLUMNS];
    snprintf(text, sizeof text, "%s:debug=true", options);
    expect(&f, 0, options, kind, wanted);
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
        vmafgpu_feature_config feature;
        vmafgpu_config config = film_config(&f);
        scores s;
        memset(&feature, 0, sizeof feature);
        feature.name = "float_adm";
        feature.options = text;
        config.features = &feature;
        config.feature_count = 1;
        config.features_only = config.strict_options = 1;
        config.backend = VMAFGPU_BACKEND_CPU;
        config.float_reciprocal = kind;
        config.threads = test_thread_count(ways[way].threads);
        config.cpumask = ways[way].cpumask;
        s = film_score(&f, &config);
        for (int k = 0; CHECK_INT(s.columns, COLUMNS) && k < COLUMNS && s.values; k++) {
            snprintf(test_where, sizeof test_where, "%s %dx%d %d bits %.140s reciprocal %d way %d %s", what, w, h,
                     depth, options, (int)kind, (int)way, names[k]);
            CHECK_BITS(s.values[k], wanted[k]);
        }
        scores_free(&s);
    }
    film_free(&f);
}

int main(void) {
    static const char *const options[] = {
        "adm_min_val=0",
        "adm_p_norm=1:adm_enhn_gain_limit=1",
        "adm_p_norm=2.5:adm_dlm_weight=0.7",
        "adm_p_norm=3.5:adm_adm3_apply_hm=true:adm_min_val=0.25",
        "adm_p_norm=20:adm_noise_weight=0",
        "adm_bypass_cm=1:adm_skip_aim_scale=0:adm_enhn_gain_limit=1.2",
        "adm_csf_mode=1:adm_csf_scale=0.5:adm_csf_diag_scale=2:adm_skip_aim_scale=3",
        "adm_csf_mode=2:adm_norm_view_dist=1.5:adm_ref_display_height=720:adm_skip_scale0=true",
        "adm_csf_mode=9:adm_norm_view_dist=24:adm_ref_display_height=4320:adm_enhn_gain_limit=99.9",
        "adm_p_norm=20:adm_f1s0=10:adm_noise_weight=1500:adm_min_val=0.25", /* leads to an infinite sum */
        "adm_f1s0=0:adm_f1s1=0.05:adm_f1s2=10:adm_f1s3=0.1:adm_f2s0=0.3:adm_f2s1=0:adm_f2s2=0.02:adm_f2s3=1",
    };
    enum { OPTIONS = sizeof options / sizeof options[0] };
    static const struct {
        const char *what;
        int w, h, depth;
    } pictures[] = {
        { "texture+mix", 97, 64, 8 },       { "noise+grain", 131, 67, 8 }, { "blocks+invert", 64, 61, 10 },
        { "texture+stretch", 150, 50, 12 }, { "noise+blur", 33, 90, 16 },  { "texture+mix", 17, 17, 8 },
        { "lines+coarse", 18, 22, 10 },     { "ramp+faint", 17, 160, 8 },  { "texture+grain", 160, 17, 16 }
    };
    enum { PICTURES = sizeof pictures / sizeof pictures[0] };
    test_factors();
    read_amd();
    for (int i = 0; i < OPTIONS; i++) {
        for (int k = 0; k < PICTURES; k++) {
            /* this choice tests each picture and each option with all kinds of reciprocal */
            const vmafgpu_reciprocal kind = (vmafgpu_reciprocal)((i + k) % 4);
            if (kind != VMAFGPU_RECIPROCAL_AMD || has_amd)
                compare(pictures[k].what, pictures[k].w, pictures[k].h, pictures[k].depth, options[i], kind);
        }
    }
    return test_end();
}
