#!/bin/sh
# Whether the tests can fail: plants one fault after the other in a copy of the sources, and runs the program that is to find
# it. Not part of `make test`: it takes a quarter of an hour. Prints the table that stands in test/README.md.
#
#     test/planted.sh BUILD [NAME...]       CC, CXX: the compilers
#     test/planted.sh texts                 only whether each fault's text is still there, and has a line in test/README.md
#
# A fault is a sed script. It knows functions by their names and text, not lines; where it changes nothing, that is a failure.
build=$1
shift
cc="${CC:-cc} -std=c99 -w"
cxx="${CXX:-c++} -std=c++17 -O0 -w -ffp-contract=off -fPIC -fvisibility=hidden"
libs='-lm -lpthread -ldl'
export TEST_FIRST=1   # one failure is enough

# NAME FILE FINDER and the sed script. Finders: a test program; fuzz_api on the CPU, or fuzz_api:cuda; cuda or hip with a group of test_gpu, for host code; plain,
# matrix or amd with a group, for kernels without and with matrix products and AMD's with 64 lanes; reductions, for what no
# picture of a size that a test can use brings about (CAMBI's sum rounds from 2^53 on).
faults() {
    cat <<'END'
settings vmafgpu.h test_levels s/^#    define VMAFGPU__HAS_X86$//
arithmetic vmafgpu.h test_figures /^VMAFGPU__FN int vmafgpu__reflect(/,/^}/s/2 \* (n - 1) - k/2 * n - 1 - k/
arithmetic_bounds vmafgpu.h test_private /^static.* vmafgpu__adm_plain_limit(uint32_t/,/^}/s/return (int)limit;/return (int)limit + 1;/
launch vmafgpu.h plain:v1_speed /^VMAFGPU__FN int vmafgpu__speed_is_wide(/,/^}/s/return !launch->columns/return 1 || !launch->columns/
memory vmafgpu.h test_memory /^static void vmafgpu__memory_give(/,/^}/s/allocator->free(pointer, allocator->user);/(void)0;/
memory_states vmafgpu.h test_memory /^static vmafgpu_result vmafgpu__measures_open(/,/^}/s/vmafgpu__take(v, state)/vmafgpu__take(v, state - 512)/
text vmafgpu.h test_model /^static const char \*vmafgpu__skip_digits(/,/^}/s/at < end/at + 1 < end/
frames vmafgpu.h test_v1 /vmafgpu__chroma_pitch(/,/^}/s/(c->width + 1) >> 1/c->width >> 1/
json vmafgpu.h test_model /^static int vmafgpu__hex_digit(/,/^}/s/c - 'A' + 10/c - 'A'/
model_reader vmafgpu.h test_model /^static int vmafgpu__read_clip(/,/^}/s/clip_max = limits\[1\]/clip_max = limits[0]/
models vmafgpu.h test_figures /^static double vmafgpu__sorted_percentile(/,/^}/s/scores\[low\] \* /scores[high] * /
features vmafgpu.h test_config /vmafgpu__set_option(/,/^}/s/"true"/"yes"/
threads vmafgpu.h test_threads /^static void vmafgpu__part(/,/^}/s/(index + 1)/(index + 1 - (index > 0))/
cambi vmafgpu.h test_levels /^static uint16_t vmafgpu__cambi_mode(/,/^}/s/(a == b) | (a == c)/a == b/
speed vmafgpu.h test_figures /^static void vmafgpu__speed_rotation(/,/^}/s/fabsf(z) > fabsf(x)/fabsf(z) < fabsf(x)/
speed_covariance vmafgpu.h test_private /^VMAFGPU__FN double vmafgpu__speed_covariance_error(/,/^}/s/return unit \*/return 0 \*/
measured_psnr vmafgpu.h test_features /^static void vmafgpu__psnr_finish(/,/^}/s/bit_depth + 12/bit_depth + 13/
measured_ours vmafgpu.h cuda:measured_dies /^static.* \*vmafgpu__sight_row(/,/^}/s/if (plane)/if (1)/
aggregates vmafgpu.h test_features /^static void vmafgpu__psnr_gather(/,/^}/s/values\[plane\].whole/values[0].whole/
float_psnr vmafgpu.h test_float_ssim /^static void vmafgpu__float_psnr_finish(/,/^}/s/256.0 - /255.0 - /
float_moment vmafgpu.h test_float_ssim /^static void vmafgpu__float_moment_finish(/,/^}/s/k < 4/k < 3/
ssim vmafgpu.h test_float_ssim /^static int vmafgpu__ssim_mean(/,/^}/s/low < high ||/0 \&\&/
ms_ssim vmafgpu.h test_float_ssim /^static void vmafgpu__ms_ssim_finish(/,/^}/s/0.2363f/0.2364f/
psnr_hvs vmafgpu.h test_psnr_hvs /^static void vmafgpu__hvs_finish(/,/^}/s/plane\[1\].real + plane\[2\].real/plane[1].real + plane[1].real/
ciede vmafgpu.h test_features /^static void vmafgpu__ciede_finish(/,/^}/s/45\. - /44. - /
float_adm vmafgpu.h test_float_adm /^static void vmafgpu__float_adm_totals(/,/^}/s/y < t->h - t->top/y + 1 < t->h - t->top/
float_adm_intel vmafgpu.h test_float_adm /^static uint32_t vmafgpu__reciprocal_intel(/,/^}/s/i & ~1u/i/
float_adm_amd vmafgpu.h test_float_adm /^static uint32_t vmafgpu__reciprocal_amd(/,/^}/s/acdfhjlnprs/acdfhjlnpqs/
float_ansnr vmafgpu.h test_features /^static void vmafgpu__ansnr_finish(/,/^}/s/6 \* b + 12/6 * b/
float_motion vmafgpu.h test_edges /^static void vmafgpu__fmotion_emit(/,/^}/s/next < own/next > own/
float_vif vmafgpu.h test_features /^static float vmafgpu__fvif_from_noise(/,/^}/s/deviation \* deviation/deviation/
speed_temporal vmafgpu.h test_speed_temporal /^static vmafgpu_result vmafgpu__speed_temporal_measure_pair(/,/^}/s/if (!pair->history)/if (0)/
heatmaps vmafgpu.h test_v1 /^static vmafgpu_result vmafgpu__cambi_give_maps(/,/^}/s/cambi->scale = s;/cambi->scale = 0;/
vif_scalar vmafgpu.h test_levels /^static void vmafgpu__vif_shrink(/,/^}/s/(job->end + 1) \/ 2/job->end \/ 2 - 1/
motion_scalar vmafgpu.h test_levels /^static int64_t vmafgpu__motion_rows_scalar(/,/^}/s/y < end/y + 1 < end/
chains vmafgpu.h test_levels /^static int vmafgpu__cut(/,/^}/s/size = units - at;/size = units - at - 2;/
kernels vmafgpu.h cuda:random /^static vmafgpu__vif_gain vmafgpu__vif_gain_of(/,/^}/s/(2 << gain.shift) < limit/gain.shift < 1/
driver vmafgpu.h cuda:no_device /^static void \*vmafgpu__library_symbol(/,/^}/s/return dlsym(library, name);/return dlsym(library, name + 1);/
gpu_context vmafgpu.h cuda:caller_context /^static void vmafgpu__gpu_leave(/,/^}/s/vendor->leave(v->gpu)/vendor == NULL/
gpu_illegal vmafgpu.h cuda:illegal /^static vmafgpu_result vmafgpu__check_outcome(/,/^}/s/illegal & (outcome/illegal \& 1 \& (outcome/
gpu_lend vmafgpu.h cuda:lend /^static vmafgpu_result vmafgpu__lend(/,/^}/s/needs(v, position, 1)/needs(v, position - 1, 1)/
live vmafgpu.h test_live /^static void vmafgpu__emit(/,/^}/s/last.emitted < last.count/last.emitted < last.count - 1/
live_gpu vmafgpu.h cuda:live /^static int vmafgpu__gpu_is_free(/,/^}/s/return g->is_dead/return 1 || g->is_dead/
live_fleet vmafgpu.h cuda:live /^static int vmafgpu__fleet_is_free(/,/^}/s/vmafgpu__takes_over(d, position) || //
map_pair vmafgpu.h test_live /^static void vmafgpu__map_pair(/,/^}/s/vmafgpu__add_workers(v, v->cpu, &x->base)/(void)0/
gpu_fleet vmafgpu.h cuda:devices /^static void vmafgpu__deal_until(/,/^}/s/handed = first < f->history ? (int)first : f->history/handed = 0/
gpu_fleet_pair vmafgpu.h cuda:devices /^static void vmafgpu__hand_over(/,/^}/s/vmafgpu__keeps_pairs(v) ? job->distorted : NULL/NULL/
gpu_fleet_chroma vmafgpu.h cuda:devices /^static vmafgpu__target vmafgpu__transfer(/,/^}/s/vmafgpu__copy_foreign(v, a->to, 1 + i/vmafgpu__copy_foreign(v, a->to, 2 - i/
gpu_stage vmafgpu.h cuda:lend /^static void vmafgpu__stage_rows(/,/^}/s/note_bad_row(a, y + k)/note_bad_row(a, y)/
gpu_convert vmafgpu.h cuda:lend /^static vmafgpu_result vmafgpu__stage(/,/^}/s/for (; passes; passes--)/for (passes = passes > 0; passes; passes--)/
lzma vmafgpu.h test_blobs /^static int vmafgpu__unpack_lzma(/,/^}/s/state < 10 ? state - 3 : state - 6/state < 10 ? state - 3 : state - 5/
lzma_family vmafgpu.h test_blobs /^static int vmafgpu__unpack(/,/^}/s/bytes + blob->at/bytes/
vendors_cuda vmafgpu.h cuda:images /^static int vmafgpu__is_whole_text(/,/^}/s/end >= length \&\& !memcmp.*;/end >= length;/
vendors_hip vmafgpu.h hip:images /^static int vmafgpu__is_bundle(/,/^}/s/|| size > image->size - offset//
finish vmafgpu.h test_figures /^static void vmafgpu__vif_finish(/,/^}/s/65025.0/65024.0/
scores vmafgpu.h test_figures /^static void vmafgpu__add_to(/,/^}/s/value > t->max/value < t->max/
open vmafgpu.h test_config /^static vmafgpu_result vmafgpu__in_range(/,/^}/s/value <= max/value <= max + 1/
public vmafgpu.h test_config /^static vmafgpu_result vmafgpu__enter(/,/^}/s/return VMAFGPU_ERROR_STATE;/return VMAFGPU_OK;/
level_avx2 vmafgpu.h test_levels s/_mm256_or_si256(_mm256_and_si256(a, b), c)/_mm256_and_si256(_mm256_and_si256(a, b), c)/
level_avx512 vmafgpu.h test_levels s/_mm512_ternarylogic_epi32(a, b, c, 0xea)/_mm512_ternarylogic_epi32(a, b, c, 0xe8)/
level_motion vmafgpu.h test_levels s/\(vmafgpu__inside + 32 - (w - x)\)/vmafgpu__inside + 31 - (w - x)/
level_vif vmafgpu.h test_levels s/join_truncated_f64(signal\[0\], signal\[1\])/join_truncated_f64(signal[1], signal[0])/
level_cambi vmafgpu.h test_levels /^static void vmafgpu__cambi_mode_row(/,/^}/s/vmafgpu__v_equal16(va, vc)/vmafgpu__v_equal16(vb, vc)/
level_speed vmafgpu.h test_levels /^static void vmafgpu__speed_variances(/,/^}/s/p < VMAFGPU__SPEED_SIDE/p + 1 < VMAFGPU__SPEED_SIDE/
level_adm_sign vmafgpu.h test_levels /^VMAFGPU__INLINE vmafgpu__v vmafgpu__adm_apart(/,/^}/s/vmafgpu__v_mul_f32(f\[0\], f\[2\]), vmafgpu__v_zero()/vmafgpu__v_mul_f32(f[0], f[2]), vmafgpu__v_slli32(vmafgpu__v_set32(1), 31)/
level_adm vmafgpu.h test_levels s/= vmafgpu__adm_pair(low\[2\], low\[3\])/= vmafgpu__adm_pair(low[3], low[2])/
level_psnr vmafgpu.h test_levels /^static uint64_t vmafgpu__psnr_row(/,/^}/s/(uint64_t)lanes\[2\]\[i\] << 16/(uint64_t)lanes[2][i] << 15/
level_float_row vmafgpu.h test_levels /^static void vmafgpu__float_row(/,/^}/s/total\[i\] += (double)(d \* d)/total[i] = (double)(d * d)/
level_ansnr vmafgpu.h test_levels /^static void vmafgpu__float_ansnr_terms(/,/^}/s/vmafgpu__v_load(distorted\[3\] + x)/vmafgpu__v_load(distorted[2] + x)/
level_float_vif vmafgpu.h test_levels /^static int vmafgpu__float_vif_ratios(/,/^}/s/vmafgpu__v_min_u32(gain, limit)/gain/
level_float_sums vmafgpu.h test_levels /^VMAFGPU__INLINE void vmafgpu__float_down(/,/^}/s/VMAFGPU__FLOAT_ADD(1, m - 1)/VMAFGPU__FLOAT_ADD(1, m - 2)/
level_ssim vmafgpu.h test_float_ssim /^static void vmafgpu__ssim_down(/,/^}/s/VMAFGPU__SSIM_DOWN(7, h, g, f/VMAFGPU__SSIM_DOWN(7, g, h, f/
lanes_ssim vmafgpu.h test_float_ssim /^static void vmafgpu__ssim_compare(/,/^}/s/sg\[i\] > 0 ? cv/sg[i] < 0 ? cv/
lanes_hvs vmafgpu.h test_psnr_hvs /^static float vmafgpu__hvs_fold(/,/^}/s/off\[l\] < floor \/ 16777216 \&\& //
lanes_hvs_error vmafgpu.h test_psnr_hvs /^VMAFGPU__INLINE void vmafgpu__hvs_error(/,/^}/s/threshold\[l\] \/ mask/threshold[l] * mask/
lanes_float_adm vmafgpu.h test_float_adm /^static inline void vmafgpu__float_adm_threshold(/,/^}/s/below\[i - 1\] + below\[i\]/below[i] + below[i - 1]/
lanes_ciede vmafgpu.h test_features /^static VMAFGPU__APART void vmafgpu__ciede_weights(/,/^}/s/weight(h\[l\]/weight(h[l \& ~1]/
api_candidate vmafgpu.h fuzz_api /^static vmafgpu_result vmafgpu__score_pairs(/,/^}/s/&v->pair_sums\[i\]/\&v->pair_sums[0]/
api_lent vmafgpu.h fuzz_api /^static vmafgpu_result vmafgpu__reset(/,/^}/s/v->lending.count = 0;//
edit_vif_tile vmafgpu.h test_edits /^static vmafgpu__range vmafgpu__edit_vif_range(/,/^}/s/2 \* vmafgpu__vif_reach(scale) + 2/vmafgpu__vif_reach(scale) + 2/
edit_vif_next vmafgpu.h test_edits /^VMAFGPU__FN vmafgpu__range vmafgpu__edit_vif_next(/,/^}/s/reach) >> 1) + 1,/reach) >> 1),/
edit_bands vmafgpu.h test_edits /^VMAFGPU__FN vmafgpu__range vmafgpu__edit_band_range(/,/^}/s/(changed.end >> 1) + 1/changed.end >> 1/
edit_bands_before vmafgpu.h test_edits /^VMAFGPU__FN vmafgpu__range vmafgpu__edit_band_range(/,/^}/s/(changed.first - 1) >> 1/changed.first >> 1/
edit_mask vmafgpu.h test_edits /^static vmafgpu__range vmafgpu__edit_region_tile(/,/^}/s/region.end + 2/region.end + 1/
edit_region vmafgpu.h test_edits /^static void vmafgpu__edit_adm(/,/^}/s/region.of\[i\] = vmafgpu__range_within(bands.of\[i\].first - 1/region.of[i] = vmafgpu__range_within(bands.of[i].first/
edit_low vmafgpu.h test_edits /^static void vmafgpu__edit_adm(/,/^}/s/wants_low \&\& !at_once/0/
edit_rounding vmafgpu.h test_edits /^static void vmafgpu__edit_add_row(/,/^}/s/\*sum += .*/*sum += vmafgpu__adm_round_row((int64_t)((uint64_t)is - (uint64_t)was), shift);/
edit_rows vmafgpu.h test_edits /^static void vmafgpu__edit_add_row(/,/^}/s/if (commits)/if (0)/
edit_commit vmafgpu.h test_edits /^static void vmafgpu__edit_vif(/,/^}/s/if (commits \&\& s)/if (commits \&\& s == 1)/
edit_base vmafgpu.h test_edits /^static void vmafgpu__begin(/,/^}/s/v->has_base = 0;//
edit_settle vmafgpu.h test_edits /^static vmafgpu_result vmafgpu__edits_commit(/,/^}/s/vmafgpu__edits_settle(v);/VMAFGPU_OK;/
edit_gradient vmafgpu.h test_edits /^VMAFGPU__FN double vmafgpu__smooth_slope(/,/^}/s/3 \* sum/2 * sum/
edit_map_vif vmafgpu.h test_edits /^VMAFGPU__FN vmafgpu__range vmafgpu__map_range(/,/^}/s/vmafgpu__divide_up(k \* size, unit)/k * size \/ unit/
edit_map_adm vmafgpu.h test_edits /^static void vmafgpu__edit_map_adm(/,/^}/s/y < rows.end + 1/y < rows.end/
edit_share vmafgpu.h test_edits /^static void vmafgpu__edit_map_adm(/,/^}/s/is_ideal ? 0 : f/f/
edit_slope vmafgpu.h test_private /^VMAFGPU__FN double vmafgpu__smooth_slope(/,/^}/s/1\.0 \/ 2048/1.0 \/ 2047/
edit_scratch vmafgpu.h cuda:edits /^static uint64_t vmafgpu__edit_scratch_of(/,/^}/s/(vif\[i\] + 2 \* vmafgpu__vif_reach(s)) \/ 2 + 1/vif[i] \/ 2 + 1/
edit_kernel_vif vmafgpu_kernels.cu plain:edits /GPU_FN void edit_vif(/,/^}/s/changed.of\[i\].end + REACH/changed.of[i].end + REACH - 1/
edit_kernel_terms vmafgpu_kernels.cu plain:edits /GPU_FN void edit_vif(/,/^}/s/numerator += term.information - load(terms + to)/numerator += term.information/
edit_kernel_adm vmafgpu_kernels.cu plain:edits /^template <class Kind> GPU_FN void edit_adm(/,/^}/s/bands.of\[i\].end + 1/bands.of[i].end/
edit_kernel_rounding vmafgpu_kernels.cu plain:edits /^template <class Kind> GPU_FN void edit_adm(/,/^}/s/(was + walk.sums.masked\[i\]\[band\] + half)/(was + walk.sums.masked[i][band])/
edit_kernel_rows vmafgpu_kernels.cu plain:edits /^GPU_FN void adm_rows(/,/^}/s/if (launch.kept)/if (0)/
edit_kernel_patch vmafgpu_kernels.cu plain:edits /^GPU_FN void edit_patch(/,/^}/s/from\[k\] = batch/from[k] = from[k] ? from[k] : batch/
edit_kernel_low vmafgpu_kernels.cu amd:edits /GPU_FN void edit_adm(/,/^}/s/own_row < bands.of\[1\].end/own_row + 1 < bands.of[1].end/
edit_kernel_stage vmafgpu_kernels.cu plain:edits /GPU_FN void edit_vif_stage(/,/^}/s/outside = before + beyond/outside = before/
edit_kernel_lanes vmafgpu_kernels.cu plain:edits /GPU_FN void edit_adm(/,/^}/s/lanes.own < lanes.count - 1/lanes.own < lanes.count/
map_kernel_vif vmafgpu_kernels.cu plain:maps /^GPU_FN void map_vif(/,/^}/s/edit_vif_term(launch.vif, s1, s1, s1)/edit_vif_term(launch.vif, s1, s2_of[of], s1)/
map_kernel_rows vmafgpu_kernels.cu plain:maps /^GPU_FN void map_vif(/,/^}/s/map.down, SCALE/map.down, 0/
map_kernel_adm vmafgpu_kernels.cu plain:maps /AdmSums<MapKind<Base>, false> &sums, const AdmPixel/,/^}/s/to += sums.which \* VMAFGPU__SLOPES + /to += /
map_kernel_layer vmafgpu_kernels.cu plain:maps /GPU_FN void base_adm(/,/^}/s/block_z() ? reference : //
map_kernel_settle vmafgpu_kernels.cu plain:maps /^GPU_FN void map_settle(/,/^}/s/launch.history/0/
map_kernel_slopes vmafgpu_kernels.cu plain:maps /^GPU_FN void map_slopes(/,/^}/s/slope -= 2 \* gamma/slope -= gamma/
map_kernel_shares vmafgpu_kernels.cu plain:maps /^GPU_FN void map_shares(/,/^}/s/sums + VMAFGPU__SLOPES, launch.unit/sums, launch.unit/
map_clear vmafgpu.h cuda:maps /^static void vmafgpu__clear_map(/,/^}/s/map->count, stream/map->count \/ 2, stream/
pixels_matrix vmafgpu.h test_pixels /^static vmafgpu__colour_plane vmafgpu__plan_colour(/,/^}/s/{ 2627, 593 }/{ 2627, 594 }/
pixels_bias vmafgpu.h test_pixels /^static vmafgpu__colour_plane vmafgpu__plan_colour(/,/^}/s/+ (3 \* (int64_t)taps \* one + 1) \/ 2;/;/
pixels_siting vmafgpu.h test_pixels /^static void vmafgpu__plan_taps(/,/^}/s/VMAFGPU_SITING_LEFT \&\& !is_down/VMAFGPU_SITING_LEFT/
pixels_edge vmafgpu.h test_pixels /^static void vmafgpu__chroma_chunk(/,/^}/s/sums\[k\]\[0\] = sums\[k\]\[1\]/sums[k][0] = 0/
pixels_halves vmafgpu.h test_pixels /^VMAFGPU__FN uint32_t vmafgpu__half_index(/,/^}/s/half < VMAFGPU__TRANSFER_ENTRIES ? half : 0/half \& 0x7fff/
pixels_stated vmafgpu.h test_pixels /^static vmafgpu_result vmafgpu__check_pixels(/,/^}/s/ \&\& !colour->transfer/ \&\& 0/
pixels_alike vmafgpu.h test_pixels /^static int vmafgpu__is_alike(/,/^}/s/return 0;.*/;/
level_pixels_carry vmafgpu.h test_pixels /^VMAFGPU__INLINE vmafgpu__v vmafgpu__pixels_sample(/,/^}/s/vmafgpu__v_srli32(sum, VMAFGPU__LUMA_DIGIT)/vmafgpu__v_zero()/
option_ends vmafgpu.h test_edges s/number >= option->min \&\& number <= option->max/number >= option->min \&\& number < option->max/
kernel_import vmafgpu_kernels.cu plain:equality /^GPU_FN uint32_t import_word(/,/^}/s/(legal << shift)/legal/
pixels_stage vmafgpu.h cuda:pixels /^static void vmafgpu__stage_piece(/,/^}/s/conversion.is_canonical = 1/conversion.is_canonical = 0/
pixels_kinds vmafgpu.h cuda:pixels /^static int vmafgpu__pixels_kind_of(/,/^}/s/(int)VMAFGPU__PIXEL_FORMS : 0/0 : 0/
kernel_pixels vmafgpu_kernels.cu plain:pixels /GPU_FN void pixels_row(/,/^}/s/x + i < width/x + i + 1 < width/
kernel_pixels_word vmafgpu_kernels.cu plain:pixels /^GPU_FN uint32_t load_word(const LinearPixels/,/^}/s/p.is_aligned ?/1 ?/
kernel_pixels_chroma vmafgpu_kernels.cu amd:pixels /GPU_FN void pixels_chroma(/,/^}/s/row < 0 ? 0 : row/row < 0 ? 1 : row/
kernel_motion_plain vmafgpu_kernels.cu plain:sums /GPU_FN void motion_plain(/,/^}/s/k < samples/k <= samples/
kernel_motion_matrix vmafgpu_kernels.cu matrix:sums s/part\[3\]\[i\] \* 256 + (lower >> 16)/part[3][i] * 255 + (lower >> 16)/
kernel_vif_f64 vmafgpu_kernels.cu amd:sums /GPU_FN bool vif_likely_levels(/,/^}/s/below + (left >> 31)/below/
kernel_vif_one vmafgpu_kernels.cu amd:random /GPU_FN bool vif_likely_levels(/,/^}/s/(int32_t)c1 < most/true/
kernel_vif_claims vmafgpu_kernels.cu matrix:pieces s/warps + atomic_claim(/atomic_claim(/
kernel_vif_rounds vmafgpu_kernels.cu matrix:pieces /^GPU_FN VifPiece vif_piece_of(/,/^}/s/from += warps \* length/from += warps/
kernel_vif_int vmafgpu_kernels.cu plain:random /^GPU_FN uint32_t vif_float_quotient(/,/^}/s/12582911/12582910/
kernel_vif_plain vmafgpu_kernels.cu plain:noise /GPU_FN void vif_square_column(/,/^}/s/(1u << shift >> 1)/0/
kernel_vif_matrix vmafgpu_kernels.cu matrix:noise /^GPU_FN void multiply_bytes(/,/^}/s/a2 \* b2 + a3 \* b3/a2 * b2/
kernel_vif_matrix_16 vmafgpu_kernels.cu amd:sums /^template.* struct VifMatrix16 {/,/^};/s/words\[i\] = i < BLOCK_WORDS ? before/words[i] = i >= BLOCK_WORDS ? before/
vif_matrices_16 vmafgpu.h hip:sums /^static void vmafgpu__vif_16_matrices(/,/^}/s/4 \* (word % (words \/ 2))/4 * (word % words)/
vif_matrices_16_rest vmafgpu.h hip:noise /^static uint32_t vmafgpu__vif_16_byte(/,/^}/s/digit == REST ? high - most/digit == REST ? 0/
kernel_adm_8 vmafgpu_kernels.cu plain:noise /^GPU_FN uint32_t adm_restore_magnitude(/,/^}/s/16384 + negative/16384/
kernel_adm_general vmafgpu_kernels.cu plain:noise /GPU_FN AdmPixel adm_pixel(/,/^}/s/t\[band\] - value\[0\]/value[0] - t[band]/
kernel_adm_rows vmafgpu_kernels.cu plain:sums /^GPU_FN void adm_rows(/,/^}/s/take(sums + y) : -half/take(sums) : -half/
kernel_cambi_prepare vmafgpu_kernels.cu plain:v1_cambi /cambi_majority(uint32_t a/s/(c & (a | b))/(c \& a)/
kernel_cambi_shrink vmafgpu_kernels.cu plain:v1_cambi /GPU_FN void cambi_shrink_scale(/,/^}/s/x < plane.width - 1/x < plane.width/
kernel_cambi_count_4 vmafgpu_kernels.cu plain:v1_cambi /GPU_FN uint32_t cambi_value_of_four(/,/^}/s/launch.reach - 1;/launch.reach - 2;/
kernel_cambi_count vmafgpu_kernels.cu plain:v1_cambi /GPU_FN uint32_t cambi_value_of_any(/,/^}/s/k <= contrasts/k < contrasts/
kernel_cambi_select vmafgpu_kernels.cu plain:v1_cambi /^GPU_FN uint32_t cambi_find_bin(/,/^}/s/\*rank <= before + sum/*rank < before + sum/
kernel_cambi_order vmafgpu_kernels.cu reductions /^GPU_FN int64_t cambi_rounded(/,/^}/s/(down & unit)/0/
kernel_speed_low vmafgpu_kernels.cu plain:v1_speed /GPU_FN float speed_column(/,/^}/s/t <= reach/t < reach/
kernel_speed_scaled vmafgpu_kernels.cu plain:v1_speed /^GPU_FN float speed_bilinear_column(/,/^}/s/speed_weight(lower) \* speed_weight(right)/speed_weight(lower) * speed_weight(left)/
kernel_speed_check vmafgpu_kernels.cu plain:v1_speed_illegal /GPU_FN uint32_t speed_seen_in_row(/,/^}/s/x = whole \* 16 \/ launch.step/x = 1 + whole * 16 \/ launch.step/
kernel_speed_flat vmafgpu_kernels.cu plain:v1_speed /GPU_FN float speed_local_mean(/,/^}/s/k <= reach/k < reach/
kernel_speed_covariance vmafgpu_kernels.cu plain:v1_speed /^GPU_FN void speed_sum_column(/,/^}/s/above\[y + 1\] + above\[y\]/above[y]/
kernel_speed_order vmafgpu_kernels.cu plain:v1_speed /^GPU_FN float speed_covariance_of(/,/^}/s/c.a = flat + p \/ BLOCK/c.a = flat + q \/ BLOCK/
kernel_speed_column vmafgpu_kernels.cu reductions /^GPU_FN void speed_tridiagonalise(/,/^}/s/warp_barrier();   .*/ /
kernel_speed_matrix vmafgpu_kernels.cu plain:v1_speed /^GPU_FN float speed_shift(/,/^}/s/corner + side \* ratio/corner - side * ratio/
kernel_speed_entropy vmafgpu_kernels.cu plain:v1_speed /^GPU_FN void speed_entropy(/,/^}/s/p < SPEED_SIDE; p++/p < SPEED_SIDE - 1; p++/
kernel_speed_score vmafgpu_kernels.cu plain:v1_speed /^GPU_FN void speed_score(/,/^}/s/score += terms\[i\]/score += terms[0]/
measured_words vmafgpu.h cuda:measured /^static int vmafgpu__count_words(/,/^}/s/e->words = count/e->words = 0/
measured_position vmafgpu.h cuda:measured_dies /^static vmafgpu_result vmafgpu__take_over(/,/^}/s/job.position = position - k/job.position = position/
kernel_squares vmafgpu_kernels.cu plain:measured s/return (uint64_t)(float)(uint32_t)/return (uint64_t)(uint32_t)/
kernel_square_terms vmafgpu_kernels.cu plain:doubts /^GPU_FN void square_terms(/,/^}/s/launch.first + n/n/
squares_may_round vmafgpu.h cuda:doubts /^static int vmafgpu__gpu_float_psnr_amend(/,/^}/s/>> 53/>> 63/
kernel_squares_chroma vmafgpu_kernels.cu plain:measured /^template <int KIND> GPU_FN void squares_of(/,/^}/s/plane ? launch.shift : 0/0/
kernel_float_rows vmafgpu_kernels.cu plain:measured /^GPU_FN void float_rows(/,/^}/s/tile\[lane \* STRIDE + k\]/tile[lane * STRIDE + (k ^ 1)]/
kernel_float_rows_64 vmafgpu_kernels.cu amd:measured /^GPU_FN void float_rows(/,/^}/s/AT_ONCE = LANES \/ TILE/AT_ONCE = 1/
kernel_float_sums vmafgpu_kernels.cu plain:measured /^GPU_FN void float_sums(/,/^}/s/float_bits(v\[i\].y)/float_bits(v[i].x)/
kernel_float_vif vmafgpu_kernels.cu plain:measured /GPU_FN void blur_along(/,/^}/s/k <= 2 \* REACH/k < 2 * REACH/
kernel_float_vif_any vmafgpu_kernels.cu plain:measured /GPU_FN void blur_along(/,/^}/s/k < 2 \* launch.reach + 4/k < 2 * launch.reach + 3/
kernel_float_shrink vmafgpu_kernels.cu plain:measured /GPU_FN void float_shrink(/,/^}/s/\* from\[k\]/* from[0]/
kernel_float_motion vmafgpu_kernels.cu plain:measured /^GPU_FN void float_motion(/,/^}/s/magnitude(before\[k\] - now\[k\])/before[k] - now[k]/
kernel_float_ansnr vmafgpu_kernels.cu plain:measured /^GPU_FN void float_ansnr(/,/^}/s/tap < 3 ? tap : 4 - tap/tap < 3 ? tap : 2/
kernel_float_adm vmafgpu_kernels.cu plain:measured /^GPU_FN float float_adm_threshold(/,/^}/s/side\[VMAFGPU__FADM_COLUMNS - 1\]/side[VMAFGPU__FADM_COLUMNS]/
kernel_float_adm_reciprocal vmafgpu_kernels.cu plain:measured /^GPU_FN float float_adm_restore(/,/^}/s/1.0f - x \* y/1.0f - y * y/
kernel_ssim_reduce vmafgpu_kernels.cu plain:measured /^GPU_FN void ssim_reduce(/,/^}/s/half = factor \/ 2/half = 0/
kernel_ssim_halve vmafgpu_kernels.cu plain:measured /GPU_FN void ssim_low_pass(/,/^}/s/i < 5 ? i : 8 - i/i < 5 ? i : 4/
kernel_ssim_windows vmafgpu_kernels.cu plain:measured /^GPU_FN void ssim_terms(/,/^}/s/c2 \/ 2/c2 \/ 3/
kernel_ssim_means vmafgpu_kernels.cu amd:measured /^GPU_FN double ssim_block_sums(/,/^}/s,LANES / 2,32 / 2,
kernel_ssim_shifts vmafgpu_kernels.cu plain:measured /^GPU_FN Widening widening(/s/0x38000000/0x38100000/
kernel_ssim_rounded vmafgpu_kernels.cu plain:doubts /^GPU_FN void ssim_add_rounded(/,/^}/s/52 - (int32_t)/51 - (int32_t)/
kernel_ssim_settle vmafgpu_kernels.cu plain:doubts /^GPU_FN void ssim_settle(/,/^}/s/low += grows\[i\]/low += grows[0]/
kernel_speed_change vmafgpu_kernels.cu plain:measured /^GPU_FN SpeedPlane speed_changing_plane(/,/^}/s/plane\[block_y()\]\[1\]/plane[0][1]/
kernel_speed_words vmafgpu_kernels.cu plain:measured /^GPU_FN void speed_score(/,/^}/s/block_z() \* launch.word_stride/block_z()/
kernel_float_planes vmafgpu_kernels.cu plain:measured /^GPU_FN float planes_sample(/,/^}/s/launch.has_weights ? quotient(value, weights) : value/value/
kernel_float_planes_illegal vmafgpu_kernels.cu plain:looks_back /^GPU_FN void float_planes(/,/^}/s/if (f \&\& /if (!f \&\& /
kernel_float_motion_small vmafgpu_kernels.cu plain:measured /^GPU_FN void float_motion_small(/,/^}/s/speed_weight(down) \* speed_weight(across)/speed_weight(down) * speed_weight(down)/
looks_back_ring vmafgpu.h cuda:looks_back /^static vmafgpu__target vmafgpu__find_earlier(/,/^}/s/position % g->distorted_ring/position % g->flight/
looks_back_chroma vmafgpu.h cuda:looks_back /^static void vmafgpu__launch_filling(/,/^}/s/if (g->keeps_chroma)/if (0)/
looks_back_distorted vmafgpu.h cuda:looks_back /^static void vmafgpu__launch_filling(/,/^}/s/pair->distorted_pitch, 1, distorted, 0/pair->distorted_pitch, 1, plane, 0/
looks_back_kept vmafgpu.h cuda:looks_back /^static void vmafgpu__keep_frame(/,/^}/s/\*frame = kept;/(void)kept;/
looks_back_lost vmafgpu.h cuda:looks_back /^static vmafgpu_result vmafgpu__take_over(/,/^}/s/(k == 0 || g->keeps_pairs)/k == 0/
looks_back_spoilt vmafgpu.h cuda:looks_back /^static int vmafgpu__spoils(/,/^}/s/vmafgpu__keeps_pairs(v)/0/
looks_back_handed vmafgpu.h cuda:change_over /^static void vmafgpu__hand_over(/,/^}/s/vmafgpu__keeps_pairs(v) ? job->distorted : NULL/NULL/
kernel_hvs vmafgpu_kernels.cu plain:measured /GPU_FN void hvs_eight(/,/^}/s/hvs_part<7489, 13>/hvs_part<7489, 12>/
kernel_sequence_ties vmafgpu_kernels.cu plain:measured /GPU_FN void go(Place/,/^}/s/by\[0\] + (odd ? by\[1\] - by\[0\] : 0)/by[0]/
kernel_sequence_ends vmafgpu_kernels.cu plain:measured /GPU_FN void sequence(/,/^}/s/place.high <= Sum::ROOM/place.high <= 2 * Sum::ROOM/
kernel_sequence_beyond vmafgpu_kernels.cu plain:measured /GPU_FN void sequence(/,/^}/s/literal += /literal = /
kernel_sequence_waves vmafgpu_kernels.cu amd:doubts /GPU_FN void sequence(/,/^}/s/lane == LANES - 1/lane == 31/
reduction_halves vmafgpu_kernels.cu plain:noise s/v = (int64_t)((uint64_t)v + ((uint64_t)high << 32 | low))/v = (int64_t)((((uint64_t)v >> 32) + high) << 32 | ((uint32_t)v + low))/
reduction_warp vmafgpu_kernels.cu amd:sums /^GPU_FN.* warp_sum_word(/,/^}/s,LANES / 2,32 / 2,
reduction_warp_long vmafgpu_kernels.cu amd:sums /^GPU_FN.* warp_sum(/,/^}/s,LANES / 2,32 / 2,
reduction_or vmafgpu_kernels.cu amd:v1_speed_illegal /^GPU_FN.* warp_or(/,/^}/s,LANES / 2,32 / 2,
reduction_block vmafgpu_kernels.cu amd:sums /^GPU_FN.* motion_finish(/,/^}/s,block_threads() / LANES,block_threads() / 128,
END
}

changed='NOT PLANTED: the text is another one now'
passed=0
failed=0
if [ "$build" = texts ]; then
    while read -r name file _ script; do
        wrong=
        sed "$script" "$file" | cmp -s - "$file" && wrong=$changed
        grep -q "^| $name | " test/README.md || wrong="${wrong:+$wrong; }no line in test/README.md"
        [ -z "$wrong" ] && passed=$((passed + 1)) && continue
        echo "$name: $wrong"
        failed=$((failed + 1))
    done <<END
$(faults)
END
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
fi

rm -rf "$build/planted"
mkdir -p "$build/planted/test" || exit 1
work=$(cd "$build/planted" && pwd)
mkdir -p "$work/tree"
cp -R vmafgpu.h vmafgpu_kernels.cu vmafgpu_kernels.hip models examples test "$work/tree/" || exit 1
ln -s "$(cd .. && pwd)/shared" "$work/shared" 2> /dev/null
cd "$work/tree" || exit 1

# What stays as it is: the tests' own files, the drivers, and kernels without faults.
printf '.version 8.0\n.target sm_75\n// end of vmafgpu kernels\n' > "$work/plain.ptx"
printf '.version 8.0\n.target sm_80\n// end of vmafgpu kernels\n' > "$work/matrix.ptx"
parts=
for part in test/gpu/*.c; do
    object=$work/$(basename "$part" .c).o
    [ "$part" = test/gpu/inside.c ] || parts="$parts $object"   # it looks inside, so that each fault has its own
    $cc -O0 -c -o "$object" "$part" || exit 1
done
for lanes in 32 64; do
    $cxx -DLANES=$lanes -c -o "$work/cuda$lanes.o" test/simulated/cuda.cpp || exit 1
    $cxx -DLANES=$lanes -c -o "$work/hip$lanes.o" test/simulated/hip.cpp || exit 1
done
hip='-DSIMULATED_KERNELS="../../vmafgpu_kernels.hip"'
kernels() { # OUTPUT IMAGE
    case $2 in
    plain) $cxx -DLANES=32 -c -o "$1" test/simulated/kernels.cpp ;;
    matrix) $cxx -DLANES=32 -DGPU_MATRIX -c -o "$1" test/simulated/kernels.cpp ;;
    amd) $cxx -DLANES=64 -DGPU_MATRIX_16 "$hip" -c -o "$1" test/simulated/kernels.cpp ;;
    esac
}
library() { # OUTPUT PLAIN MATRIX
    $cxx -shared -o "$1" "$2" "$3" "$work/cuda32.o" -lpthread
}
for image in plain matrix amd; do
    kernels "$work/$image.o" $image || exit 1
done
library "$work/cuda.so" "$work/plain.o" "$work/matrix.o" || exit 1
$cxx -shared -o "$work/hip.so" "$work/amd.o" "$work/hip64.o" -lpthread || exit 1
$cc -O0 -o "$work/test_gpu" test/test_gpu.c $parts "$work/inside.o" $libs || exit 1

# HIP's image, which is made from nothing, and what fuzz_api looks for.
test/simulated/images.sh "$work" || exit 1

on_gpu() { # PROGRAM VENDOR LIBRARY IMAGE GROUP
    VMAFGPU_TEST_BACKEND=$2 VMAFGPU_TEST_DRIVER=$3 VMAFGPU_TEST_KERNELS=$4 timeout 300 "$1" "$5"
}

# find FINDER NAME: builds what the fault is in and runs the finder; its status, 200 where something is not built
find() {
    group=${1#*:}
    case $1 in
    test_levels | test_private | test_float_ssim | test_edges | test_blobs | test_pixels)
        $cc -O0 -o "$work/$2" "test/$1.c" $libs || return 200
        timeout 300 "$work/$2" ;;
    test_*)
        $cc -O0 -c -o "$work/$2.o" test/implementation.c || return 200
        $cc -O0 -o "$work/$2" "test/$1.c" "$work/$2.o" $libs || return 200
        timeout 300 "$work/$2" ;;
    fuzz_api | fuzz_api:*)
        $cc -O0 -DVMAFGPU_NO_SIMD -c -o "$work/$2.o" test/implementation.c || return 200
        $cc -O0 -o "$work/$2" test/fuzz/fuzz_api.c "$work/$2.o" $libs || return 200
        case $1 in
        *:cuda) set -- "$2" --backend cuda --driver "$work/cuda.so" --kernels "$work/simulated_80.ptx" ;;
        *) set -- "$2" ;;
        esac
        program=$work/$1
        shift
        timeout 300 "$program" --seed 1 --runs 300 "$@" ;;
    reductions)
        $cxx -I. -DLANES=32 '-DSIMULATED_KERNELS="../../vmafgpu_kernels.cu"' -o "$work/$2" test/simulated/reductions.cpp -lpthread || return 200
        timeout 300 "$work/$2" ;;
    cuda:* | hip:*)
        $cc -O0 -c -o "$work/$2.o" test/gpu/inside.c || return 200
        $cc -O0 -o "$work/$2" test/test_gpu.c $parts "$work/$2.o" $libs || return 200
        if [ "${1%%:*}" = cuda ]; then
            on_gpu "$work/$2" cuda "$work/cuda.so" "$work/matrix.ptx" "$group"
        else
            on_gpu "$work/$2" hip "$work/hip.so" "$work/simulated.hsaco" "$group"
        fi ;;
    *)
        kernels "$work/$2.o" "${1%%:*}" || return 200
        case $1 in
        plain:*) library "$work/$2.so" "$work/$2.o" "$work/matrix.o" ;;
        matrix:*) library "$work/$2.so" "$work/plain.o" "$work/$2.o" ;;
        amd:*) $cxx -shared -o "$work/$2.so" "$work/$2.o" "$work/hip64.o" -lpthread ;;
        esac || return 200
        case $1 in
        amd:*) on_gpu "$work/test_gpu" hip "$work/$2.so" "$work/simulated.hsaco" "$group" ;;
        *) on_gpu "$work/test_gpu" cuda "$work/$2.so" "$work/${1%%:*}.ptx" "$group" ;;
        esac ;;
    esac
}

echo '| fault | what is changed | found by |'
echo '| --- | --- | --- |'
faults > "$work/faults"
while read -r name file finder script; do
    case " $* " in
    '  ' | *" $name "*) ;;
    *) continue ;;
    esac
    cp "$file" "$work/whole"
    sed "$script" "$work/whole" > "$file"
    if cmp -s "$work/whole" "$file"; then
        result=$changed
        failed=$((failed + 1))
    else
        find "$finder" "$name" > "$work/$name.log" 2>&1 < /dev/null
        status=$?
        where=$(grep -m 1 '^test/.*: \[' "$work/$name.log" | sed -e 's/^[^[]*\[\([^]]\{1,\}\)\].*/\1/' -e 's/^[^[]*\[\] //' |
            cut -c 1-70)
        if [ $status -eq 200 ]; then
            result="the compiler: $(grep -m 1 -o 'error: .*' "$work/$name.log")"
            failed=$((failed + 1))
            grep -q 'static_assert\|static assertion' "$work/$name.log" && failed=$((failed - 1)) && passed=$((passed + 1))
        elif [ $status -ne 0 ]; then
            passed=$((passed + 1))
            result="$finder: ${where:-a crash}"
            [ $status -ne 124 ] || result="$finder: a wait without end"
        else
            failed=$((failed + 1))
            result="NOT FOUND by $finder"
        fi
    fi
    function=$(echo "$script" | sed -n 's/^\/[^/]*[ *.]\([a-z_0-9]*\)(.*\/,.*/\1/p')
    echo "| $name | ${function:-$(diff "$work/whole" "$file" | sed -n 's/^< *\(.\{1,60\}\).*/`\1`/p' | head -n 1)} | $result |"
    cp "$work/whole" "$file"
    rm -f "$work/$name" "$work/$name.o" "$work/$name.so"
done < "$work/faults"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
