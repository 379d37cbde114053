/* Prints how the kernels of the AMD images are launched: a line "KERNEL LANES THREADS SHARED" for each kernel and both
 * lane counts, including kernels that a target lacks. THREADS is the block size, and SHARED the shared memory of a
 * block in bytes.
 *
 *     cc test/codegen/launches.c -o launches -lm -lpthread
 */
#define VMAFGPU_STATIC
#define VMAFGPU_IMPLEMENTATION
#include "../../vmafgpu.h"

enum { WIDTH = 1920, HEIGHT = 1080, MOST_SHARED = 65536 };

static void print(const char *kernel, int lanes, unsigned threads, unsigned shared) {
    printf("%s %d %u %u\n", kernel, lanes, threads, shared);
}

static vmafgpu__batch batch_of(int bit_depth) {
    vmafgpu__batch batch;
    memset(&batch, 0, sizeof batch);
    batch.pairs = 1;
    batch.width = WIDTH;
    batch.height = HEIGHT;
    batch.bit_depth = bit_depth;
    return batch;
}

static void motion(const vmafgpu__plan *plan, int bit_depth, int lanes) {
    vmafgpu__motion_launch launch;
    vmafgpu__shape shape;
    launch.batch = batch_of(bit_depth);
    vmafgpu__motion_fill(&launch, &shape, plan, VMAFGPU__FORM_PLAIN, NULL);
    print(vmafgpu__motion_kernel(VMAFGPU__FORM_PLAIN, bit_depth), lanes, shape.threads, shape.shared);
}

static void vif(int scale, int bit_depth, int lanes) {
    static const vmafgpu__kernel_form forms[] = { VMAFGPU__FORM_PLAIN, VMAFGPU__FORM_MATRIX_16 };
    for (int i = 0; i < 2 * VMAFGPU__VIF_STATISTICS; i++) {
        const vmafgpu__block block = vmafgpu__vif_block(forms[i % 2], scale, bit_depth, lanes, MOST_SHARED, 0);
        print(vmafgpu__vif_kernels[forms[i % 2]][i / 2][vmafgpu__vif_input(scale, bit_depth)], lanes, block.threads,
              block.shared);
    }
}

static void adm(const vmafgpu__plan *plan, int scale, int bit_depth, int lanes) {
    const vmafgpu__adm_scratch layout = vmafgpu__adm_scratch_of(WIDTH, HEIGHT);
    vmafgpu__adm_launch launch;
    vmafgpu__shape shape;
    launch.batch = batch_of(bit_depth);
    vmafgpu__adm_fill(&launch, &shape, plan, 0, scale, &layout, NULL, lanes);
    for (int form = 0; form < VMAFGPU__ADM_FORMS; form++)
        print(vmafgpu__adm_kernels[form][vmafgpu__adm_input(scale, bit_depth)], lanes, shape.threads, shape.shared);
}

static void adm_rows(int lanes) {
    const vmafgpu__adm_scratch layout = vmafgpu__adm_scratch_of(WIDTH, HEIGHT);
    vmafgpu__adm_rows_launch launch;
    vmafgpu__shape shape;
    launch.batch = batch_of(8);
    vmafgpu__adm_rows_fill(&launch, &shape, 0, &layout, NULL);
    print(vmafgpu__adm_rows_kernel, lanes, shape.threads, shape.shared);
}

/* Prints the launches for the largest supported histograms. */
static void cambi(int lanes) {
    vmafgpu__plan plan;
    vmafgpu__cambi_launch launch;
    vmafgpu__cambi_variant *variant = &plan.cambi[0];
    memset(&plan, 0, sizeof plan);
    variant->picture[0] = vmafgpu__cambi_picture_of(WIDTH, HEIGHT, 65, 0);
    variant->contrasts = 32;
    variant->bins = 1056;
    for (int k = 0; k < variant->contrasts; k++)
        variant->limit[k] = 1023;
    launch.batch = batch_of(8);
    (void)vmafgpu__cambi_fill(&launch, &plan, 0, 0, NULL, 0);
    for (int k = 0; k < VMAFGPU__CAMBI_KERNELS; k++) {
        const vmafgpu__shape shape = vmafgpu__cambi_shape(&launch, (vmafgpu__cambi_kernel)k);
        print(vmafgpu__cambi_kernel_names[k], lanes, shape.threads, shape.shared);
    }
}

static void speed(int lanes) {
    vmafgpu__speed_variant variant;
    memset(&variant, 0, sizeof variant);
    variant.columns = WIDTH >> 5;
    variant.rows = HEIGHT >> 5;
    variant.blocks_across = variant.columns / VMAFGPU__SPEED_BLOCK;
    variant.blocks_down = variant.rows / VMAFGPU__SPEED_BLOCK;
    variant.reach = VMAFGPU__SPEED_TAPS / 2;
    for (int i = 0; i < VMAFGPU__SPEED_KERNELS; i++) {
        const vmafgpu__shape shape = vmafgpu__speed_shape_of(&variant, i, VMAFGPU__SPEED_PLANES, 1);
        for (int step = 1; step <= (i == VMAFGPU__SPEED_LOW ? 4 : 1); step *= 2)
            print(vmafgpu__speed_kernel_name(i, step), lanes, shape.threads, shape.shared);
        if (i == VMAFGPU__SPEED_LOW_SCALED)
            print("vmafgpu_speed_change", lanes, shape.threads, shape.shared);
    }
}

/* Prints the launches of the kernels of standalone features. */
static void standalone(int lanes) {
    static const char *const smoothing[] = { "vmafgpu_float_vif_8", "vmafgpu_float_vif_4", "vmafgpu_float_vif" };
    print("vmafgpu_squares", lanes, VMAFGPU__SQUARES_THREADS, 0);
    print("vmafgpu_square_terms", lanes, VMAFGPU__SQUARES_THREADS, 0);
    print("vmafgpu_float_rows", lanes, (unsigned)lanes, (unsigned)vmafgpu__chain_shared(lanes));
    print("vmafgpu_float_sums", lanes, (unsigned)lanes, VMAFGPU__CHAIN_ROWS * 4);
    for (int i = 0; i < 3; i++)
        print(smoothing[i], lanes, VMAFGPU__BLUR_THREADS, VMAFGPU__FLOAT_VIF_SHARED);
    print("vmafgpu_float_shrink", lanes, VMAFGPU__SHRINK_THREADS,
          (unsigned)vmafgpu__shrink_shared(VMAFGPU__BLUR_REACH));
    print("vmafgpu_float_motion", lanes, VMAFGPU__BLUR_THREADS, VMAFGPU__FLOAT_MOTION_SHARED);
    print("vmafgpu_float_planes", lanes, VMAFGPU__PLANES_THREADS, 0);
    print("vmafgpu_float_motion_small", lanes, VMAFGPU__FLOAT_MOTION_SMALL_THREADS, 0);
    print("vmafgpu_float_ansnr", lanes, VMAFGPU__FLOAT_ANSNR_THREADS, 0);
    print("vmafgpu_float_adm", lanes, VMAFGPU__FLOAT_ADM_THREADS, VMAFGPU__FLOAT_ADM_SHARED);
    print("vmafgpu_float_adm_powers", lanes, VMAFGPU__FLOAT_ADM_THREADS, VMAFGPU__FLOAT_ADM_SHARED);
    print("vmafgpu_ssim_reduce", lanes, VMAFGPU__SSIM_THREADS, 0);
    print("vmafgpu_ssim_halve", lanes, VMAFGPU__SSIM_THREADS, VMAFGPU__SSIM_HALVE_SHARED);
    print("vmafgpu_ssim_windows", lanes, VMAFGPU__SSIM_THREADS, VMAFGPU__SSIM_WINDOWS_SHARED);
    print("vmafgpu_ssim_means", lanes, VMAFGPU__SSIM_THREADS, VMAFGPU__SSIM_MEANS_SHARED);
    print("vmafgpu_ssim_rounded", lanes, VMAFGPU__SSIM_THREADS, VMAFGPU__SSIM_WINDOWS_SHARED);
    print("vmafgpu_ssim_finalise", lanes, VMAFGPU__SSIM_THREADS, VMAFGPU__SSIM_FINALISE_SHARED);
    print("vmafgpu_ssim_terms", lanes, VMAFGPU__SSIM_THREADS, VMAFGPU__SSIM_WINDOWS_SHARED);
    print("vmafgpu_ssim_sums", lanes, VMAFGPU__SEQUENCE_THREADS, VMAFGPU__SEQUENCE_SHARED);
    print("vmafgpu_psnr_hvs", lanes, VMAFGPU__PSNR_HVS_THREADS, VMAFGPU__PSNR_HVS_SHARED);
    print("vmafgpu_psnr_hvs_sums", lanes, VMAFGPU__SEQUENCE_THREADS, VMAFGPU__SEQUENCE_SHARED);
    print("vmafgpu_ciede", lanes, VMAFGPU__CIEDE_THREADS, VMAFGPU__CIEDE_SHARED);
    print("vmafgpu_ordered_sums", lanes, VMAFGPU__SEQUENCE_THREADS, VMAFGPU__SEQUENCE_SHARED);
}

static void edits(const vmafgpu__plan *plan, int lanes) {
    print(vmafgpu__edit_kernels[VMAFGPU__EDIT_IMPORT], lanes, VMAFGPU__EDIT_IMPORT_THREADS, 0);
    print(vmafgpu__edit_kernels[VMAFGPU__EDIT_PATCH], lanes, VMAFGPU__EDIT_PATCH_THREADS, 0);
    print(vmafgpu__edit_kernels[VMAFGPU__EDIT_CHANGE], lanes, VMAFGPU__EDIT_CHANGE_THREADS,
          (unsigned)vmafgpu__edit_change_shared(VMAFGPU__SMOOTH_EXTRACTORS));
    print(vmafgpu__edit_kernels[VMAFGPU__MAP_FINALISE], lanes, VMAFGPU__MAP_FINALISE_THREADS,
          VMAFGPU__MAP_FINALISE_SHARED);
    print(vmafgpu__edit_kernels[VMAFGPU__MAP_SLOPES], lanes, VMAFGPU__MAP_SLOPE_THREADS, VMAFGPU__MAP_SLOPE_SHARED);
    print(vmafgpu__edit_kernels[VMAFGPU__MAP_ADJUST], lanes, VMAFGPU__MAP_ADJUST_THREADS, VMAFGPU__MAP_SCORE_SHARED);
    print(vmafgpu__edit_kernels[VMAFGPU__MAP_SHARES], lanes, VMAFGPU__MAP_THREADS, 0);
    print(vmafgpu__edit_kernels[VMAFGPU__KERNEL_SLOPES_WEIGHTS], lanes, VMAFGPU__SLOPES_THREADS,
          VMAFGPU__SLOPES_WEIGHTS_SHARED);
    print(vmafgpu__edit_kernels[VMAFGPU__KERNEL_SLOPES_WAVELET], lanes, VMAFGPU__SLOPES_THREADS,
          VMAFGPU__SLOPES_MERGE_SHARED);
    for (int depth = 8; depth <= 16; depth += 8)
        for (int s = 0; s < VMAFGPU__SCALES && (s == 0 || depth == 8); s++) {
            const vmafgpu__adm_scratch layout = vmafgpu__adm_scratch_of(WIDTH, HEIGHT);
            const int vif_input = vmafgpu__vif_input(s, depth), adm_input = vmafgpu__adm_input(s, depth);
            vmafgpu__edit_vif_launch vif;
            vmafgpu__edit_adm_launch adm;
            vmafgpu__shape shape;
            for (int use = 0; use < 4; use++) {
                static const int of_vif[] = { VMAFGPU__EDIT_VIF, VMAFGPU__BASE_VIF, VMAFGPU__MAP_VIF,
                                              VMAFGPU__KERNEL_SLOPES_TERMS };
                vmafgpu__edit_vif_tile(&shape, &vif, use > 0, s, WIDTH, HEIGHT, lanes);
                print(vmafgpu__edit_kernels[of_vif[use] + vif_input], lanes, shape.threads, shape.shared);
            }
            print(vmafgpu__edit_kernels[VMAFGPU__KERNEL_SLOPES_VIF + vif_input], lanes, VMAFGPU__SLOPES_THREADS,
                  (unsigned)VMAFGPU__SLOPES_VIF_SHARED(s));
            if (s + 1 < VMAFGPU__SCALES)
                print(vmafgpu__edit_kernels[VMAFGPU__KERNEL_SLOPES_COMBINE + s], lanes, VMAFGPU__SLOPES_THREADS,
                      VMAFGPU__SLOPES_COMBINE_SHARED);
            print(vmafgpu__edit_kernels[VMAFGPU__KERNEL_SLOPES_BANDS + adm_input], lanes, VMAFGPU__SLOPES_BANDS_THREADS,
                  0);
            adm.adm.batch = batch_of(depth);
            adm.edits.count = 1;
            vmafgpu__adm_fill(&adm.adm, &shape, plan, 0, s, &layout, NULL, lanes);
            print(vmafgpu__edit_kernels[VMAFGPU__BASE_ADM + adm_input], lanes, shape.threads, shape.shared);
            print(vmafgpu__edit_kernels[VMAFGPU__MAP_ADM + adm_input], lanes, shape.threads, shape.shared);
            vmafgpu__edit_adm_lanes(&shape, &adm, adm_input, HEIGHT, lanes);
            print(vmafgpu__edit_kernels[VMAFGPU__EDIT_ADM + adm_input], lanes, shape.threads, shape.shared);
        }
}

int main(void) {
    static vmafgpu__plan plan;
    plan.motion[0] = plan.motion[1] = 1;
    plan.vif_variants = plan.adm_variants = 1;
    plan.adm[0].gain_limit = 100;
    for (int s = 0; s < VMAFGPU__SCALES; s++)
        plan.adm[0].factor[s][0] = plan.adm[0].factor[s][1] = 1;
    for (int lanes = 32; lanes <= 64; lanes += 32) {
        print("vmafgpu_interface_2", lanes, (unsigned)lanes, 0);
        print("vmafgpu_import", lanes, VMAFGPU__IMPORT_THREADS, 0);
        print("vmafgpu_pixels", lanes, VMAFGPU__PIXELS_THREADS, 0);
        print("vmafgpu_pixels_chroma", lanes, VMAFGPU__PIXELS_THREADS, 0);
        for (int depth = 8; depth <= 16; depth += 8) {
            motion(&plan, depth, lanes);
            for (int s = 0; s < VMAFGPU__SCALES && (s == 0 || depth == 8); s++) {
                vif(s, depth, lanes);
                adm(&plan, s, depth, lanes);
            }
        }
        vif(0, 12, lanes);
        adm_rows(lanes);
        cambi(lanes);
        speed(lanes);
        standalone(lanes);
        edits(&plan, lanes);
    }
    return 0;
}
