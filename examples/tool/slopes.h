/* slopes.h: draws slopes, which show how the score changes with each luma sample, for --slopes and for --html. The
 * library computes the slopes of the first model, and slopemap.h draws them. */
#ifndef TOOL_SLOPES_H
#define TOOL_SLOPES_H

#include "options.h"
#include "png.h"
#include "session.h"
#include "slopemap.h"

#include <stdint.h>

/* Whether a file name of --slopes contains a frame number, such as slopes%04d.png. Otherwise the picture shows the mean
 * over the clip. */
int tool_is_slopes_pattern(const char *name);

/* Checks a file name of --slopes: it ends in .png and contains at most one frame number. */
int tool_is_slopes_name(const char *name);

/* Checks that the names of numbered pictures differ, and that the first picture can be written. Returns 0 after an
 * error message. */
int tool_check_slopes_names(const options *o);

/* Prepares --slopes. Opens separate contexts if those of the videos cannot compute slopes. Returns 0 after an error
 * message. */
int tool_begin_slopes(session *all);

/* Requests the slopes of pair n, and passes the pair to the separate contexts. The caller must then pass the pair to
 * the contexts of the videos. Returns 0 on failure; tool_fail_slopes() prints the message. */
int tool_push_slopes(session *all, int64_t n, const pair *now);

/* Prints why tool_push_slopes() or tool_flush_slopes() failed. Returns 0. */
int tool_fail_slopes(const session *all);

/* Draws the slopes of all pairs whose slopes are ready. Returns 0 after an error message. */
int tool_collect_slopes(session *all);

/* Ends the clip of the separate contexts, and draws the remaining pairs. With is_cut, draws only those that do not
 * depend on more frames. Returns 0 after an error message. */
int tool_flush_slopes(session *all, int is_cut);

/* Draws the mean over the clip. Returns 0 after an error message. */
int tool_finish_slopes(session *all);

/* Closes the separate contexts and frees all planes. Must be called when the contexts of the videos are closed, because
 * they may write to the planes until then. */
void tool_end_slopes(session *all);

/* Draws slopes of single pairs. */
typedef struct slope_drawer {
    vmafgpu *context;
    unsigned char *references[3]; /* luma of the previous reference, of the reference, and of the following one */
    unsigned char *distorted;
    float *slopes;
} slope_drawer;

/* Opens a drawer. Returns 0 if the model has no slopes or if there is not enough memory; prints no message. The drawer
 * must be closed even on failure. */
int tool_open_drawer(slope_drawer *d, const session *all);

/* Copies the luma of a frame for a drawer. */
void tool_copy_luma(const session *all, const video *v, const vmafgpu_frame *frame, unsigned char *to);

/* Draws a small picture of the slopes of the pair that was copied. Nothing is drawn on failure. */
void tool_draw_small_slopes(slope_drawer *d, const session *all, int has_previous, int has_following, int width,
                            png_bytes *out, slopemap_range *range);

void tool_close_drawer(slope_drawer *d);

#endif /* TOOL_SLOPES_H */
