/* Encodes a clip with libx264. The scores, maps and slopes of vmafgpu control the encoder. `make x264` builds the
 * program if libx264 is installed (Debian: libx264-dev). x264.md contains results and explains their limits.
 *
 * LICENCE: libx264 is under the GNU General Public License, version 2 or later. A program that is linked with libx264
 * may be distributed only under that licence. This applies to x264_vmaf, but not to vmafgpu.h or this file alone.
 *
 *     x264_vmaf --crf 30 reference.y4m coded.264
 *     x264_vmaf --target 90 --percentile 5 --segment 5 reference.y4m coded.264
 *     x264_vmaf --crf 30 --slopes --bound 1 --rounds 3 --model vmaf_v0.6.1neg reference.y4m coded.264
 *     x264_vmaf --crf 30 --map --strength 2 reference.y4m coded.264
 *
 * Input is an 8-bit 4:2:0 y4m file, or `-` for standard input. The program keeps the whole clip in memory. Output is a
 * raw H.264 stream. The second command prints:
 *
 *         frames 0 to 4: CRF 22, 33103 bytes, percentile 5 is 90.103, 4 encodes; CRF 23: 88.306
 *         frames 5 to 9: CRF 24, 21425 bytes, percentile 5 is 90.110, 4 encodes; CRF 25: 88.030
 *         10 frames, 1090.560 kbit/s, 8 encodes: vmaf 93.594, neg 92.036, v1 91.686, ssim 0.90507, psnr 35.435
 *
 * General options:
 *   --crf N            constant rate factor, 1 to 51; default 23. With --target, the search starts at this CRF
 *   --preset NAME      preset of x264; default medium
 *   --tune NAME        tuning of x264; default none
 *   --x264 OPTIONS     more options of x264: NAME=VALUE, separated by colons
 *   --model NAME       model for --target, --slopes, --map and the percentile; default vmaf_v0.6.1
 *   --percentile P     percentile of the frame scores, 0 to 100; default 5
 *   --segment N        encodes every N frames separately, each segment with its own CRF; default: the whole clip
 *   --frames N         reads only the first N frames
 *   --threads N        threads of x264 and of vmafgpu; default 1. The stream depends on this number
 *   --recon FILE       writes the reconstruction of the encoder, which equals the decoded stream, as y4m
 *   --moved FILE       writes the clip that was passed to x264, as y4m
 *
 * --target SCORE finds, for each segment, the highest integer CRF for which the percentile is at least SCORE. All CRFs
 * of a step are scored in one pass over the reference, with vmafgpu_push_many(). Unless the result is 51, the next
 * higher CRF is encoded too; its score is below SCORE. If the score does not fall steadily with the CRF, a larger CRF
 * may reach SCORE.
 *
 * --slopes moves the luma of the source before encoding. Each round encodes the clip, computes the derivative of the
 * score by each sample of the reconstruction, and moves the source in this direction.
 *   --bound N          maximum distance of a sample from the source, 1 to 32 code values; default 1
 *   --rounds N         number of rounds, 1 to 50; default 3, with --map alone 1
 *
 * --map changes the quantiser of each macroblock. Each round encodes the clip, computes how much of the score is lost
 * in each macroblock, lowers the quantiser where a squared error costs more score than on average, and raises it
 * elsewhere, by at most 4.
 *   --strength S       quantiser steps per doubling of that cost, 0.01 to 6; default 1.5
 */
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x264.h>

enum { LOWEST_CRF = 1, HIGHEST_CRF = 51, AT_ONCE = 2, BLOCK = 16 };

typedef struct options {
    const char *source, *output, *preset, *tune, *x264, *model, *recon, *moved;
    double crf, target, percentile, bound, strength;
    int segment, frames, threads, rounds, use_target, use_slopes, use_map;
} options;

/* All frames of a clip, in planar 4:2:0. */
typedef struct clip {
    int width, height, count, rate, scale, aspect_x, aspect_y, full_range;
    size_t luma, size; /* bytes of the luma plane and of a frame */
    char header[256];  /* header line, for files that this program writes */
    unsigned char *data;
} clip;

/* One encode of a segment. */
typedef struct encode {
    double crf, percentile;
    unsigned char *stream, *recon,
        *moved; /* recon: frames; moved: luma planes that x264 received, if they were moved */
    size_t bytes, capacity;
} encode;

typedef struct session {
    options set;
    clip source;
    int longest;               /* frames of the longest segment */
    vmafgpu *scorers[AT_ONCE]; /* score the encodes of a segment at once */
    vmafgpu *editor, *judge;   /* for slopes and maps; for the final scores of the whole clip */
    float *distance;           /* current distance of each luma sample of the segment from the source */
    float *slopes;
    float *offsets;         /* quantiser offset of each macroblock of the segment */
    float *losses, *errors; /* lost score and squared error of each macroblock of the segment */
    vmafgpu_block *blocks;
    int across, down; /* size of a frame in macroblocks */
    encode tries[AT_ONCE], best;
    FILE *stream, *recon, *moved;
    size_t bytes;
    int encodes;
} session;

static int fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "x264_vmaf: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    return 0;
}

/* ---- y4m files ---- */

/* Returns 0 if the text is not a number. */
static int size_of(const char *text) {
    char *end;
    const long value = strtol(text, &end, 10);
    return *end || value < 0 || value > 1000000 ? 0 : (int)value;
}

/* Reads a parameter of the header. Returns 0 if it is not supported. */
static int read_parameter(clip *c, const char *text) {
    const char *value = text + 1;
    switch (*text) {
    case 'W': c->width = size_of(value); return 1;
    case 'H': c->height = size_of(value); return 1;
    case 'F': return sscanf(value, "%d:%d", &c->rate, &c->scale) == 2 && c->rate > 0 && c->scale > 0;
    case 'A': return sscanf(value, "%d:%d", &c->aspect_x, &c->aspect_y) == 2;
    case 'I': return *value == 'p' || *value == '?';
    case 'C':
        return strcmp(value, "420") == 0 || strcmp(value, "420jpeg") == 0 || strcmp(value, "420mpeg2") == 0 ||
               strcmp(value, "420paldv") == 0;
    case 'X': c->full_range |= strcmp(value, "COLORRANGE=FULL") == 0; return 1;
    default: return 1;
    }
}

/* Reads a line without its end. Returns 0 at the end of the file or if the line is too long. */
static int read_line(FILE *file, char *line, int size) {
    if (!fgets(line, size, file))
        return 0;
    char *end = strchr(line, '\n');
    if (end)
        *end = 0;
    return end != NULL;
}

static int read_header(clip *c, FILE *file, const char *name) {
    char line[sizeof c->header], *word, *rest = line;
    if (!read_line(file, line, sizeof line) || strncmp(line, "YUV4MPEG2 ", 10) != 0)
        return fail("%s: not a y4m file", name);
    strcpy(c->header, line);
    c->rate = 25;
    c->scale = 1;
    while ((word = rest) != NULL) {
        if ((rest = strchr(word, ' ')) != NULL)
            *rest++ = 0;
        if (*word && !read_parameter(c, word))
            return fail("%s: unsupported y4m parameter %s; only progressive 8-bit 4:2:0 video is supported", name,
                        word);
    }
    if (c->width < 16 || c->height < 16 || c->width > 16384 || c->height > 16384 || c->width % 2 || c->height % 2)
        return fail("%s: width and height must be even numbers from 16 to 16384 (%dx%d)", name, c->width, c->height);
    c->luma = (size_t)c->width * (size_t)c->height;
    c->size = c->luma / 2 * 3;
    return 1;
}

static int read_frames(clip *c, FILE *file, const char *name, int limit) {
    char line[256];
    int space = 0;
    while (c->count < limit && read_line(file, line, sizeof line)) {
        if (strncmp(line, "FRAME", 5) != 0)
            return fail("%s: frame %d does not begin with FRAME", name, c->count);
        if (c->count == space) {
            space = space ? 2 * space : 1;
            unsigned char *larger =
                (size_t)space <= SIZE_MAX / c->size ? realloc(c->data, (size_t)space * c->size) : NULL;
            if (!larger)
                return fail("%s: out of memory after %d frames; set --frames", name, c->count);
            c->data = larger;
        }
        if (fread(c->data + (size_t)c->count * c->size, 1, c->size, file) != c->size)
            return fail("%s: frame %d is incomplete", name, c->count);
        c->count++;
    }
    return c->count > 0 || fail("%s: no frames", name);
}

static int read_clip(clip *c, const options *set) {
    const int is_input = strcmp(set->source, "-") == 0;
    FILE *file = is_input ? stdin : fopen(set->source, "rb");
    if (!file)
        return fail("%s: cannot be opened", set->source);
    const int ok = read_header(c, file, set->source) && read_frames(c, file, set->source, set->frames);
    if (!is_input)
        fclose(file);
    return ok;
}

static unsigned char *frame_of(const clip *c, int i) {
    return c->data + (size_t)i * c->size;
}

/* ---- x264 ---- */

static void print_message(void *user, int level, const char *format, va_list arguments) {
    (void)user;
    if (level > X264_LOG_WARNING)
        return;
    fprintf(stderr, "x264_vmaf: x264: ");
    vfprintf(stderr, format, arguments);
}

/* Applies the options of --x264. */
static int apply_options(x264_param_t *param, const char *list) {
    char text[1024], *word = text;
    if (strlen(list) >= sizeof text)
        return fail("--x264: too long");
    strcpy(text, list);
    while (word && *word) {
        char *rest = strchr(word, ':'), *value = strchr(word, '=');
        if (rest)
            *rest++ = 0;
        value = value && (!rest || value < rest) ? value : NULL;
        if (value)
            *value++ = 0;
        const int result = x264_param_parse(param, word, value);
        if (result == X264_PARAM_BAD_NAME)
            return fail("--x264: unknown option (%s)", word);
        if (result != 0)
            return fail("--x264: invalid value of %s (%s)", word, value ? value : "");
        word = rest;
    }
    return 1;
}

static int set_parameters(const session *s, int count, double crf, x264_param_t *param) {
    const clip *c = &s->source;
    if (x264_param_default_preset(param, s->set.preset, s->set.tune) < 0) {
        x264_param_default(param);
        return fail("--preset or --tune: unknown to x264 (%s%s%s)", s->set.preset, s->set.tune ? ", " : "",
                    s->set.tune ? s->set.tune : "");
    }
    if (!apply_options(param, s->set.x264))
        return 0;
    /* These follow the options of the user, so that the options cannot change them. */
    param->i_width = c->width;
    param->i_height = c->height;
    param->i_csp = X264_CSP_I420;
    param->i_bitdepth = 8;
    param->b_interlaced = param->b_fake_interlaced = 0;
    memset(&param->crop_rect, 0, sizeof param->crop_rect);
    param->i_fps_num = (uint32_t)c->rate;
    param->i_fps_den = (uint32_t)c->scale;
    param->b_vfr_input = 0;
    param->i_frame_total = count;
    param->vui.i_sar_width = c->aspect_x;
    param->vui.i_sar_height = c->aspect_y;
    param->vui.b_fullrange = c->full_range;
    param->b_annexb = 1;
    param->b_repeat_headers = 1;
    param->b_stitchable = s->longest < c->count; /* several segments are joined */
    param->b_full_recon = 1;                     /* otherwise frames without references to them are not deblocked */
    param->i_threads = s->set.threads;
    param->rc.i_rc_method = X264_RC_CRF;
    param->rc.f_rf_constant = (float)crf;
    param->rc.b_stat_read = param->rc.b_stat_write = 0;
    param->pf_log = print_message;
    if (s->set.use_map && (param->rc.i_aq_mode == X264_AQ_NONE || param->rc.f_aq_strength <= 0))
        return fail("--map: requires adaptive quantisation; remove aq-mode=0, or choose a preset other than ultrafast");
    return x264_param_apply_profile(param, "high") == 0 || fail("x264: the profile high does not allow the options");
}

static int append(encode *out, const unsigned char *data, size_t bytes) {
    if (out->bytes + bytes > out->capacity) {
        const size_t capacity = 2 * (out->bytes + bytes);
        unsigned char *larger = realloc(out->stream, capacity);
        if (!larger)
            return fail("out of memory");
        out->stream = larger;
        out->capacity = capacity;
    }
    memcpy(out->stream + out->bytes, data, bytes);
    out->bytes += bytes;
    return 1;
}

/* Copies the reconstruction of a frame, whose chroma planes x264 interleaves. */
static int copy_recon(const clip *c, const x264_picture_t *picture, int count, unsigned char *recon) {
    const x264_image_t *image = &picture->img;
    if ((image->i_csp & X264_CSP_MASK) != X264_CSP_NV12 || picture->i_pts < 0 || picture->i_pts >= count)
        return fail("x264: unexpected format or time of a reconstructed frame (%d, %d)", image->i_csp,
                    (int)picture->i_pts);
    unsigned char *y = recon + (size_t)picture->i_pts * c->size, *u = y + c->luma, *v = u + c->luma / 4;
    for (int row = 0; row < c->height; row++)
        memcpy(y + (size_t)row * (size_t)c->width, image->plane[0] + (ptrdiff_t)row * image->i_stride[0],
               (size_t)c->width);
    for (int row = 0; row < c->height / 2; row++) {
        const unsigned char *from = image->plane[1] + (ptrdiff_t)row * image->i_stride[1];
        for (int i = 0; i < c->width / 2; i++) {
            *u++ = from[2 * i];
            *v++ = from[2 * i + 1];
        }
    }
    return 1;
}

/* Passes one frame to the encoder, or none to receive delayed frames. Returns the number of frames that the encoder
 * returns, or -1. */
static int encode_frame(const session *s, x264_t *encoder, x264_picture_t *in, int count, encode *out) {
    x264_picture_t picture;
    x264_nal_t *units;
    int unit_count;
    const int bytes = x264_encoder_encode(encoder, &units, &unit_count, in, &picture);
    if (bytes < 0) {
        fail("x264: cannot encode a frame");
        return -1;
    }
    if (bytes == 0)
        return 0;
    return append(out, units[0].p_payload, (size_t)bytes) && copy_recon(&s->source, &picture, count, out->recon) ? 1
                                                                                                                 : -1;
}

/* Encodes a segment. luma: planes that replace those of the source, or NULL. offsets: quantiser offsets, or NULL. */
static int encode_frames(session *s, int first, int count, const unsigned char *luma, float *offsets, encode *out) {
    x264_param_t param;
    x264_t *encoder = NULL;
    const clip *c = &s->source;
    int done = 0, status = 0;
    out->bytes = 0;
    if (set_parameters(s, count, out->crf, &param) && (encoder = x264_encoder_open(&param)) == NULL)
        fail("x264: cannot open the encoder with these options");
    for (int i = 0; encoder && status >= 0 && (i < count || x264_encoder_delayed_frames(encoder) > 0); i++) {
        x264_picture_t in;
        if (i < count) {
            unsigned char *frame = frame_of(c, first + i);
            x264_picture_init(&in);
            in.i_pts = i;
            in.img.i_csp = X264_CSP_I420;
            in.img.i_plane = 3;
            in.img.i_stride[0] = c->width;
            in.img.i_stride[1] = in.img.i_stride[2] = c->width / 2;
            in.img.plane[0] = luma ? (unsigned char *)luma + (size_t)i * c->luma : frame;
            in.img.plane[1] = frame + c->luma;
            in.img.plane[2] = frame + c->luma / 4 * 5;
            in.prop.quant_offsets = offsets ? offsets + (ptrdiff_t)i * s->across * s->down : NULL;
        }
        status = encode_frame(s, encoder, i < count ? &in : NULL, count, out);
        done += status;
    }
    if (encoder)
        x264_encoder_close(encoder);
    x264_param_cleanup(&param);
    s->encodes++;
    if (!encoder || status < 0)
        return 0;
    return done == count || fail("x264: returned %d of %d frames", done, count);
}

/* ---- slopes and maps ---- */

static vmafgpu_frame yuv(vmafgpu *v, const unsigned char *data) {
    return vmafgpu_frame_of(vmafgpu_get_config(v), data, 0);
}

/* Makes a reconstructed frame the base of the editor. */
static int begin(session *s, int index, const unsigned char *recon) {
    const clip *c = &s->source;
    const vmafgpu_frame reference = yuv(s->editor, frame_of(c, index)), distorted = yuv(s->editor, recon),
                        before = yuv(s->editor, frame_of(c, index > 0 ? index - 1 : 0)),
                        after = yuv(s->editor, frame_of(c, index + 1 < c->count ? index + 1 : 0));
    return vmafgpu_edit_begin(s->editor, &reference, &distorted, index > 0 ? &before : NULL,
                              index + 1 < c->count ? &after : NULL, NULL) == VMAFGPU_OK;
}

/* Moves the luma of a frame along the slopes. On average, a sample moves by `step`. */
static int move(session *s, int index, float *distance, double step, unsigned char *moved) {
    const unsigned char *source = frame_of(&s->source, index);
    const double bound = s->set.bound;
    double sum = 0;
    if (vmafgpu_edit_slopes(s->editor, s->slopes, 0, VMAFGPU_MEMORY_HOST) != VMAFGPU_OK)
        return 0;
    for (size_t i = 0; i < s->source.luma; i++)
        sum += fabs(s->slopes[i]);
    const double scale = sum > 0 ? step * (double)s->source.luma / sum : 0;
    for (size_t i = 0; i < s->source.luma; i++) {
        const double wanted = distance[i] + scale * s->slopes[i];
        distance[i] = (float)(wanted < -bound ? -bound : wanted > bound ? bound : wanted);
        const double value = floor(source[i] + distance[i] + 0.5);
        moved[i] = (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
    return 1;
}

/* Returns the squared error of the luma of a macroblock. */
static double error_of(const clip *c, const unsigned char *a, const unsigned char *b, int column, int row) {
    double sum = 0;
    for (int y = row * BLOCK; y < (row + 1) * BLOCK && y < c->height; y++) {
        for (int x = column * BLOCK; x < (column + 1) * BLOCK && x < c->width; x++) {
            const double difference = (double)a[y * c->width + x] - b[y * c->width + x];
            sum += difference * difference;
        }
    }
    return sum;
}

/* Measures how much of the score and how much squared error each macroblock of frame i of the segment contributes, both
 * relative to the mean of the frame. */
static int measure(session *s, int first, int i, const unsigned char *recon) {
    const int count = s->across * s->down;
    float *losses = s->losses + (ptrdiff_t)i * count, *errors = s->errors + (ptrdiff_t)i * count;
    int across, down;
    double loss = 0, error = 0;
    if (vmafgpu_edit_blocks(s->editor, BLOCK, s->blocks, &across, &down) != VMAFGPU_OK)
        return 0;
    for (int k = 0; k < count; k++) {
        losses[k] = (float)s->blocks[k].loss;
        errors[k] = (float)error_of(&s->source, frame_of(&s->source, first + i), recon, k % across, k / across);
        loss += losses[k] / count;
        error += errors[k] / count;
    }
    for (int k = 0; k < count; k++) {
        losses[k] = loss > 0 && error > 0 ? (float)(losses[k] / loss) : 1;
        errors[k] = loss > 0 && error > 0 ? (float)(errors[k] / error) : 1;
    }
    return 1;
}

/* Returns the cost of a squared error in a macroblock: the loss of score per squared error, relative to the mean. The
 * neighbourhood and a constant make the quotient less noisy: the map is an approximation, and content moves. */
static double cost_of(const session *s, int count, int frame, int column, int row) {
    const int frames = 3, blocks = 1;
    const double constant = 0.3, least = 1.0 / 16;
    double loss = 0, error = 0;
    for (int i = frame - frames; i <= frame + frames; i++) {
        for (int y = row - blocks; y <= row + blocks; y++) {
            for (int x = column - blocks; x <= column + blocks; x++) {
                if (i >= 0 && i < count && y >= 0 && y < s->down && x >= 0 && x < s->across) {
                    const ptrdiff_t at = ((ptrdiff_t)i * s->down + y) * s->across + x;
                    loss += s->losses[at] + constant;
                    error += s->errors[at] + constant;
                }
            }
        }
    }
    return loss > least * error ? loss / error : least;
}

/* Computes the quantiser offsets of a segment. An encoder minimises squared error plus lambda times bits. To minimise
 * lost score instead, lambda must be inversely proportional to the cost of a squared error. */
static void weigh(session *s, int count) {
    const int blocks = s->across * s->down;
    const double limit = 4;
    for (int i = 0; i < count; i++) {
        float *offsets = s->offsets + (ptrdiff_t)i * blocks;
        double mean = 0;
        for (int k = 0; k < blocks; k++) {
            offsets[k] = (float)(-s->set.strength * log2(cost_of(s, count, i, k % s->across, k / s->across)));
            mean += offsets[k] / blocks;
        }
        for (int k = 0; k < blocks; k++) {
            const double offset = offsets[k] - mean;
            offsets[k] = (float)(offset < -limit ? -limit : offset > limit ? limit : offset);
        }
    }
}

/* Encodes a segment, in several rounds with --slopes and --map. */
static int encode_segment(session *s, int first, int count, double crf, encode *out) {
    const clip *c = &s->source;
    out->crf = crf;
    if (s->set.use_slopes) {
        memset(s->distance, 0, sizeof *s->distance * (size_t)count * c->luma);
        for (int i = 0; i < count; i++)
            memcpy(out->moved + (size_t)i * c->luma, frame_of(c, first + i), c->luma);
    }
    for (int round = 0; encode_frames(s, first, count, out->moved, round && s->set.use_map ? s->offsets : NULL, out);
         round++) {
        if (round == s->set.rounds)
            return 1;
        for (int i = 0; i < count; i++) {
            const unsigned char *recon = out->recon + (size_t)i * c->size;
            const size_t at = (size_t)i * c->luma;
            int ok = begin(s, first + i, recon);
            if (ok && s->set.use_slopes)
                ok = move(s, first + i, s->distance + at, 0.4 * s->set.bound / (1 + round), out->moved + at);
            if (ok && s->set.use_map)
                ok = measure(s, first, i, recon);
            if (!ok)
                return fail("frame %d: %s", first + i, vmafgpu_last_error(s->editor));
        }
        if (s->set.use_map)
            weigh(s, count);
    }
    return 0;
}

/* ---- scores ---- */

/* Scores encodes of the same segment in one pass. The references around the segment are pushed too, so each frame gets
 * the score that it has in the whole clip. */
static int score(session *s, int first, int count, encode *encodes, int n) {
    const clip *c = &s->source;
    int ok = 1;
    for (int k = 0; k < n; k++) {
        vmafgpu *v = s->scorers[k];
        ok = ok && vmafgpu_reset(v) == VMAFGPU_OK;
        for (int i = first - vmafgpu_preceding_count(v); ok && i < first; i++) {
            const vmafgpu_frame before = yuv(v, frame_of(c, i > 0 ? i : 0));
            ok = i < 0 || vmafgpu_push_preceding(v, &before) == VMAFGPU_OK;
        }
    }
    for (int i = 0; ok && i < count; i++) {
        const vmafgpu_frame reference = yuv(s->scorers[0], frame_of(c, first + i));
        vmafgpu_frame distorted[AT_ONCE];
        for (int k = 0; k < n; k++)
            distorted[k] = yuv(s->scorers[k], encodes[k].recon + (size_t)i * c->size);
        ok = vmafgpu_push_many(s->scorers, n, &reference, distorted, NULL) == VMAFGPU_OK;
    }
    for (int k = 0; k < n; k++) {
        vmafgpu *v = s->scorers[k];
        if (ok && first + count < c->count) {
            const vmafgpu_frame after = yuv(v, frame_of(c, first + count));
            ok = vmafgpu_push_following(v, &after) == VMAFGPU_OK;
        }
        ok = ok && vmafgpu_flush(v) == VMAFGPU_OK &&
             vmafgpu_percentile(v, vmafgpu_model_column(v, 0), s->set.percentile, &encodes[k].percentile) == VMAFGPU_OK;
        if (!ok)
            return fail("frames %d to %d: %s", first, first + count - 1, vmafgpu_last_error(v));
    }
    return 1;
}

/* ---- the search for the target ---- */

/* What is known about the CRFs of a segment. */
typedef struct search {
    double target, percentile[HIGHEST_CRF + 1];
    int is_known[HIGHEST_CRF + 1];
    int reached, missed; /* highest CRF that reaches the target, or 0; lowest CRF above it that does not, or 52 */
} search;

static void learn(search *p, const encode *e) {
    const int crf = (int)e->crf;
    p->percentile[crf] = e->percentile;
    p->is_known[crf] = 1;
    p->reached = 0;
    p->missed = HIGHEST_CRF + 1;
    for (int i = LOWEST_CRF; i <= HIGHEST_CRF; i++)
        if (p->is_known[i] && p->percentile[i] >= p->target)
            p->reached = i;
    for (int i = HIGHEST_CRF; i > p->reached; i--)
        if (p->is_known[i])
            p->missed = i;
}

/* Estimates the highest CRF that reaches the target, from the two known CRFs between which or next to which it is. */
static int estimate(const search *p) {
    int low = p->reached, high = p->missed;
    double fall = 1; /* points per CRF */
    if (low == 0)
        for (low = high, high++; high <= HIGHEST_CRF && !p->is_known[high]; high++) {
        }
    else if (high > HIGHEST_CRF)
        for (high = low, low--; low > 0 && !p->is_known[low]; low--) {
        }
    if (low >= LOWEST_CRF && high <= HIGHEST_CRF)
        fall = (p->percentile[low] - p->percentile[high]) / (high - low);
    if (fall < 0.1)
        fall = 0.1;
    const int known = p->reached ? p->reached : p->missed;
    const double crf = floor(known + (p->percentile[known] - p->target) / fall);
    return crf < LOWEST_CRF ? LOWEST_CRF : crf > HIGHEST_CRF ? HIGHEST_CRF : (int)crf;
}

static void exchange(encode *a, encode *b) {
    const encode old = *a;
    *a = *b;
    *b = old;
}

/* Finds the highest CRF that reaches the target and leaves its encode in s->best. Each step tries the estimated CRF and
 * the CRF above it. guess: estimate for the first step. */
static int find(session *s, int first, int count, int guess, search *p) {
    memset(p, 0, sizeof *p);
    p->target = s->set.target;
    p->missed = HIGHEST_CRF + 1;
    while (p->missed - p->reached > 1) {
        int crfs[AT_ONCE], n = 0;
        for (int crf = guess; crf < guess + AT_ONCE; crf++)
            if (crf > p->reached && crf < p->missed)
                crfs[n++] = crf;
        if (n == 0) /* the estimate is outside of the range that remains */
            crfs[n++] = guess <= p->reached ? p->reached + 1 : p->missed - 1;
        for (int k = 0; k < n; k++)
            if (!encode_segment(s, first, count, crfs[k], &s->tries[k]))
                return 0;
        if (!score(s, first, count, s->tries, n))
            return 0;
        for (int k = 0; k < n; k++) {
            learn(p, &s->tries[k]);
            if (p->reached == (int)s->tries[k].crf)
                exchange(&s->best, &s->tries[k]);
        }
        guess = estimate(p);
    }
    if (p->reached == 0)
        return fail("--target: frames %d to %d reach only %.3f with CRF %d (%g); choose a lower target", first,
                    first + count - 1, p->percentile[LOWEST_CRF], LOWEST_CRF, s->set.target);
    return 1;
}

/* ---- the program ---- */

static int open_context(vmafgpu **v, const vmafgpu_config *config) {
    return vmafgpu_open(v, config) == VMAFGPU_OK || fail("%s", vmafgpu_last_error(*v));
}

static int open_contexts(session *s) {
    const clip *c = &s->source;
    vmafgpu_model_config model = VMAFGPU_INIT, models[3] = VMAFGPU_INIT;
    vmafgpu_feature_config features[2] = VMAFGPU_INIT;
    vmafgpu_config config = VMAFGPU_INIT;
    config.width = c->width;
    config.height = c->height;
    config.threads = s->set.threads;
    config.models = &model;
    config.model_count = 1;
    config.contexts_per_pass = AT_ONCE;
    model.version = s->set.model;
    for (int k = 0; k < AT_ONCE; k++)
        if (!open_context(&s->scorers[k], &config))
            return 0;
    if (s->set.use_slopes || s->set.use_map) {
        vmafgpu_config edits = config;
        edits.contexts_per_pass = 1;
        edits.max_edit_size = BLOCK;
        edits.slopes = s->set.use_slopes;
        if (!open_context(&s->editor, &edits))
            return 0;
    }
    models[0].version = "vmaf_v0.6.1";
    models[1].version = "vmaf_v0.6.1neg";
    models[1].name = "neg";
    models[2].version = "vmaf_v1.0.16_3d0h";
    models[2].name = "v1";
    features[0].name = "float_ssim";
    features[1].name = "psnr";
    features[1].options = "enable_chroma=false";
    config.models = models;
    config.model_count = c->width < 216 || c->height < 160 ? 2 : 3; /* the v1 model needs larger frames */
    config.features = features;
    config.feature_count = 2;
    config.contexts_per_pass = 1;
    return open_context(&s->judge, &config);
}

static int allocate(session *s) {
    const clip *c = &s->source;
    const size_t samples = (size_t)s->longest * c->luma;
    int ok = 1;
    s->across = (c->width + BLOCK - 1) / BLOCK;
    s->down = (c->height + BLOCK - 1) / BLOCK;
    for (int k = 0; k <= AT_ONCE; k++) {
        encode *e = k < AT_ONCE ? &s->tries[k] : &s->best;
        e->recon = malloc((size_t)s->longest * c->size);
        e->moved = s->set.use_slopes ? malloc(samples) : NULL;
        ok = ok && e->recon && (e->moved || !s->set.use_slopes);
    }
    if (s->set.use_slopes) {
        ok = (s->distance = malloc(sizeof *s->distance * samples)) != NULL && ok;
        ok = (s->slopes = malloc(sizeof *s->slopes * c->luma)) != NULL && ok;
    }
    if (s->set.use_map) {
        const size_t blocks = (size_t)s->across * (size_t)s->down;
        ok = (s->blocks = malloc(sizeof *s->blocks * blocks)) != NULL && ok;
        ok = (s->offsets = malloc(sizeof *s->offsets * blocks * (size_t)s->longest)) != NULL && ok;
        ok = (s->losses = malloc(sizeof *s->losses * blocks * (size_t)s->longest)) != NULL && ok;
        ok = (s->errors = malloc(sizeof *s->errors * blocks * (size_t)s->longest)) != NULL && ok;
    }
    return ok || fail("out of memory; set --segment");
}

static int open_file(FILE **file, const char *name, const char *header) {
    if (name && !(*file = fopen(name, "wb")))
        return fail("%s: cannot be opened for writing", name);
    return !name || !header || fprintf(*file, "%s\n", header) > 0 || fail("%s: cannot be written", name);
}

static int close_file(FILE *file, const char *name) {
    return !file || fclose(file) == 0 || fail("%s: cannot be written", name);
}

static int write_frame(const clip *c, FILE *file, const char *name, const unsigned char *luma,
                       const unsigned char *frame) {
    return !file ||
           (fputs("FRAME\n", file) >= 0 && fwrite(luma, c->luma, 1, file) == 1 &&
            fwrite(frame + c->luma, c->size - c->luma, 1, file) == 1) ||
           fail("%s: cannot be written", name);
}

/* Writes the chosen encode of a segment and scores it as a part of the clip. */
static int finish(session *s, int first, int count) {
    const clip *c = &s->source;
    const encode *e = &s->best;
    if (s->stream && fwrite(e->stream, 1, e->bytes, s->stream) != e->bytes)
        return fail("%s: cannot be written", s->set.output);
    s->bytes += e->bytes;
    for (int i = 0; i < count; i++) {
        const unsigned char *source = frame_of(c, first + i), *recon = e->recon + (size_t)i * c->size;
        const vmafgpu_frame reference = yuv(s->judge, source), distorted = yuv(s->judge, recon);
        if (!write_frame(c, s->recon, s->set.recon, recon, recon) ||
            !write_frame(c, s->moved, s->set.moved, e->moved ? e->moved + (size_t)i * c->luma : source, source))
            return 0;
        if (vmafgpu_push(s->judge, &reference, &distorted) != VMAFGPU_OK)
            return fail("frame %d: %s", first + i, vmafgpu_last_error(s->judge));
    }
    return 1;
}

static int run_segment(session *s, int first, int count, int *guess) {
    const int before = s->encodes;
    search found;
    int ok;
    if (s->set.use_target)
        ok = find(s, first, count, *guess, &found);
    else
        ok = encode_segment(s, first, count, s->set.crf, &s->best) && score(s, first, count, &s->best, 1);
    if (!ok || !finish(s, first, count))
        return 0;
    printf("frames %d to %d: CRF %g, %lu bytes, percentile %g is %.3f, %d encode%s", first, first + count - 1,
           s->best.crf, (unsigned long)s->best.bytes, s->set.percentile, s->best.percentile, s->encodes - before,
           s->encodes - before == 1 ? "" : "s");
    if (s->set.use_target) {
        *guess = found.reached;
        if (found.missed <= HIGHEST_CRF)
            printf("; CRF %d: %.3f", found.missed, found.percentile[found.missed]);
    }
    printf("\n");
    fflush(stdout);
    return 1;
}

static int print_scores(session *s) {
    static const char *const columns[] = { "vmaf", "neg", "v1", "float_ssim", "psnr_y" };
    static const char *const names[] = { "vmaf", "neg", "v1", "ssim", "psnr" };
    const clip *c = &s->source;
    vmafgpu *v = s->judge;
    if (vmafgpu_flush(v) != VMAFGPU_OK)
        return fail("%s", vmafgpu_last_error(v));
    printf("%d frames, %.3f kbit/s, %d encode%s", c->count, 0.008 * (double)s->bytes * c->rate / c->scale / c->count,
           s->encodes, s->encodes == 1 ? "" : "s");
    for (int i = 0; i < 5; i++) {
        double mean;
        const int column = vmafgpu_column_index(v, columns[i]);
        if (column < 0)
            continue;
        if (vmafgpu_pool(v, column, VMAFGPU_POOL_MEAN, &mean) != VMAFGPU_OK)
            return fail("%s", vmafgpu_last_error(v));
        printf("%s %s %.*f", i ? "," : ":", names[i], i == 3 ? 5 : 3, mean);
    }
    printf("\n");
    return 1;
}

static int run(session *s) {
    int guess = (int)(s->set.crf + 0.5);
    if (!read_clip(&s->source, &s->set))
        return 0;
    s->longest = s->set.segment < s->source.count ? s->set.segment : s->source.count;
    if (!open_contexts(s) || !allocate(s) || !open_file(&s->stream, s->set.output, NULL) ||
        !open_file(&s->recon, s->set.recon, s->source.header) || !open_file(&s->moved, s->set.moved, s->source.header))
        return 0;
    for (int first = 0; first < s->source.count; first += s->longest) {
        const int left = s->source.count - first;
        if (!run_segment(s, first, left < s->longest ? left : s->longest, &guess))
            return 0;
    }
    return print_scores(s);
}

/* ---- options ---- */

static int number(const char *name, const char *text, double low, double high, int is_integer, double *out) {
    char *end;
    *out = strtod(text, &end);
    if (end == text || *end || !(*out >= low && *out <= high) || (is_integer && *out != floor(*out)))
        return fail("%s: must be %s from %.7g to %.7g (%s)", name, is_integer ? "an integer" : "a number", low, high,
                    text);
    return 1;
}

static int integer(const char *name, const char *text, int high, int *out) {
    double value;
    if (!number(name, text, 1, high, 1, &value))
        return 0;
    *out = (int)value;
    return 1;
}

/* Sets an option that has a value. Returns -1 if the name is unknown. */
static int set_value(options *set, const char *name, const char *text) {
    const struct {
        const char *name, **text;
    } texts[] = { { "--preset", &set->preset }, { "--tune", &set->tune },   { "--x264", &set->x264 },
                  { "--model", &set->model },   { "--recon", &set->recon }, { "--moved", &set->moved } };
    const struct {
        const char *name;
        int high, *value;
    } integers[] = { { "--segment", 1000000, &set->segment },
                     { "--frames", 1000000, &set->frames },
                     { "--threads", 64, &set->threads },
                     { "--rounds", 50, &set->rounds } };
    const struct {
        const char *name;
        double low, high, *value;
    } numbers[] = { { "--crf", LOWEST_CRF, HIGHEST_CRF, &set->crf },
                    { "--target", 0, 110, &set->target },
                    { "--percentile", 0, 100, &set->percentile },
                    { "--bound", 1, 32, &set->bound },
                    { "--strength", 0.01, 6, &set->strength } };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].text = text;
            return 1;
        }
    }
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        if (strcmp(name, integers[i].name) == 0)
            return integer(name, text, integers[i].high, integers[i].value);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(name, numbers[i].name) == 0)
            return number(name, text, numbers[i].low, numbers[i].high, 0, numbers[i].value);
    return -1;
}

static int is_source(const options *set, const char *name) {
    return name && strcmp(name, set->source) == 0;
}

static int read_options(options *set, int argc, char **argv) {
    int rounds_given = 0;
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (strcmp(name, "--slopes") == 0) {
            set->use_slopes = 1;
        } else if (strcmp(name, "--map") == 0) {
            set->use_map = 1;
        } else if (*name == '-' && name[1]) {
            if (i + 1 == argc)
                return fail("%s: unknown option, or without a value; see the top of x264_vmaf.c", name);
            const int result = set_value(set, name, argv[i + 1]);
            if (result < 0)
                return fail("%s: unknown option; see the top of x264_vmaf.c", name);
            if (result == 0)
                return 0;
            set->use_target |= strcmp(name, "--target") == 0;
            rounds_given |= strcmp(name, "--rounds") == 0;
            i++;
        } else if (!set->source) {
            set->source = name;
        } else if (!set->output) {
            set->output = name;
        } else {
            return fail("%s: unexpected argument; usage: x264_vmaf [OPTIONS] SOURCE.y4m [OUTPUT.264]", name);
        }
    }
    if (!set->source)
        return fail("no source; usage: x264_vmaf [OPTIONS] SOURCE.y4m [OUTPUT.264]");
    if (is_source(set, set->output) || is_source(set, set->recon) || is_source(set, set->moved))
        return fail("%s: an output file must not be the source", set->source);
    if (rounds_given && !set->use_slopes && !set->use_map)
        return fail("--rounds: requires --slopes or --map");
    if (!set->use_slopes && !set->use_map)
        set->rounds = 0;
    else if (!rounds_given)
        set->rounds = set->use_slopes ? 3 : 1;
    return 1;
}

int main(int argc, char **argv) {
    session s;
    memset(&s, 0, sizeof s);
    s.set.preset = "medium";
    s.set.x264 = "";
    s.set.model = "vmaf_v0.6.1";
    s.set.crf = 23;
    s.set.percentile = 5;
    s.set.bound = 1;
    s.set.strength = 1.5;
    s.set.segment = s.set.frames = 1 << 30;
    s.set.threads = 1;
    int ok = read_options(&s.set, argc, argv) && run(&s);
    ok = close_file(s.stream, s.set.output) && ok;
    ok = close_file(s.recon, s.set.recon) && ok;
    ok = close_file(s.moved, s.set.moved) && ok;
    for (int k = 0; k <= AT_ONCE; k++) {
        encode *e = k < AT_ONCE ? &s.tries[k] : &s.best;
        free(e->stream);
        free(e->recon);
        free(e->moved);
    }
    for (int k = 0; k < AT_ONCE; k++)
        vmafgpu_close(s.scorers[k]);
    vmafgpu_close(s.editor);
    vmafgpu_close(s.judge);
    free(s.distance);
    free(s.slopes);
    free(s.offsets);
    free(s.losses);
    free(s.errors);
    free(s.blocks);
    free(s.source.data);
    return !ok;
}
