/* cut.c: see cut.h. */
#include "cut.h"

#include <stddef.h>
#include <stdint.h>

int64_t cut_digits(const char **text, int64_t most) {
    int64_t value = 0;
    const char *at = *text;
    for (; **text >= '0' && **text <= '9'; ++*text) {
        value = 10 * value + (**text - '0');
        if (value > most)
            return -1;
    }
    return *text > at ? value : -1;
}

int cut_parse(cut_point *p, const char *text) {
    int64_t part = cut_digits(&text, 4000000000), seconds = part;
    int colons = 0;
    p->is_given = 1;
    p->value = part;
    for (; part >= 0 && *text == ':' && colons < 2; colons++) {
        text++;
        part = cut_digits(&text, 59);
        seconds = 60 * seconds + part;
    }
    if (part < 0)
        return 0;
    p->is_time = colons > 0 || *text == '.' || *text == 's';
    int64_t fraction = 0, unit = 100000;
    if (*text == '.') {
        for (text++; *text >= '0' && *text <= '9'; text++, unit /= 10)
            fraction += unit * (*text - '0');
        if (text[-1] == '.' || (colons == 0 && *text != 's'))
            return 0;
    }
    text += *text == 's';
    if (p->is_time)
        p->value = 1000000 * seconds + fraction;
    return *text == '\0';
}

int64_t cut_frame(const cut_point *p, int rate_num, int rate_den) {
    if (!p->is_time)
        return p->value;
    int64_t unit = 1000000 * (int64_t)rate_den, whole = p->value / unit, rest = p->value % unit;
    return whole * rate_num + (rest * rate_num + unit - 1) / unit;
}

int cut_parse_window(cut_window *w, const char *text) {
    int *const fields[] = { &w->width, &w->height, &w->x, &w->y };
    int count = 0;
    for (; count < 4; count++) {
        int64_t value = cut_digits(&text, VIDEO_MAX_SIDE);
        if (value < 0)
            return 0;
        *fields[count] = (int)value;
        if (*text != ':') {
            count++;
            break;
        }
        text++;
    }
    w->is_given = 1;
    w->is_centred = count == 2;
    return *text == '\0' && text[-1] != ':' && (count == 2 || count == 4) && w->width >= VIDEO_MIN_SIDE &&
           w->height >= VIDEO_MIN_SIDE;
}

/* Returns the distance between chroma samples, in luma samples; 1 if the video has no chroma. */
static int cut_grid(const video *v, int step) {
    return v->chroma_bytes > 0 && step > 1 ? step : 1;
}

void cut_centre(cut_window *w, const video *v) {
    if (w->is_centred) {
        int gx = cut_grid(v, v->sampling.chroma_x), gy = cut_grid(v, v->sampling.chroma_y);
        w->x = w->width <= v->width ? (v->width - w->width) / 2 / gx * gx : 0;
        w->y = w->height <= v->height ? (v->height - w->height) / 2 / gy * gy : 0;
    }
}

int cut_is_on_grid(const cut_window *w, const video *v) {
    return w->x % cut_grid(v, v->sampling.chroma_x) == 0 && w->y % cut_grid(v, v->sampling.chroma_y) == 0;
}

vmafgpu_frame cut_picture(const cut_window *w, const video *v, vmafgpu_frame frame) {
    int planar = v->layout == VMAFGPU_LAYOUT_PLANAR;
    for (int plane = 0; plane < 3; plane++) {
        int gx = plane ? cut_grid(v, v->sampling.chroma_x) : 1, gy = plane ? cut_grid(v, v->sampling.chroma_y) : 1;
        if (frame.data[plane]) {
            frame.data[plane] = (const unsigned char *)frame.data[plane] + w->y / gy * frame.pitch[plane] +
                                (ptrdiff_t)(w->x / gx) * (plane && !planar ? 2 : 1) * v->bytes_per_sample;
        }
    }
    return frame;
}
