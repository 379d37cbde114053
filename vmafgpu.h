/* vmafgpu.h - 0.1.0 - VMAF video quality in one C header, on CPUs, NVIDIA and AMD GPUs, bit for bit libvmaf 3.2.0's scores
 *
 * Do this in ONE file of your program, C99 or C++11 and later:
 *
 *     #define VMAFGPU_IMPLEMENTATION
 *     #include "vmafgpu.h"
 *
 * and include it without the define wherever else you need it. Keep models/model_embed.h beside it (the built-in models).
 * Link the C library's maths and threads: `cc program.c -lm -lpthread` (glibc before 2.34: and -ldl; Windows: nothing).
 * Nothing else has to be built; for a GPU `make blobs` makes the kernels, and the driver is looked up at run time.
 *
 * THE SHORTEST PROGRAM
 *
 *     vmafgpu_config cfg = {0};                      // in C++: = {}; zero means default in every field
 *     cfg.width = 1920; cfg.height = 1080;           // 8-bit 4:2:0, model vmaf_v0.6.1
 *     vmafgpu *v;
 *     if (vmafgpu_open(&v, &cfg) < 0) puts(vmafgpu_last_error(v));
 *     while (read_pair(ref_yuv, dist_yuv)) {         // yours
 *         vmafgpu_frame ref = {{ref_yuv}}, dist = {{dist_yuv}};
 *         if (vmafgpu_push(v, &ref, &dist) < 0) puts(vmafgpu_last_error(v));
 *     }
 *     vmafgpu_flush(v);
 *     double mean;
 *     if (vmafgpu_pool(v, vmafgpu_score_column(v, 0), VMAFGPU_MEAN, &mean) == VMAFGPU_OK) printf("VMAF %.2f\n", mean);
 *     vmafgpu_close(v);
 *
 * examples/ has one small program per use: minimal.c, encoder_loop.c (one pair at a time), stream.c (scores as they come),
 * device_frames.c (frames in GPU memory), embed_model.c (a model of your own), vmafgpu.c (the command-line tool).
 *
 * WHAT IT DOES
 *   - the models vmaf_v0.6.1, vmaf_v0.6.1neg, vmaf_4k_v0.6.1, vmaf_4k_v0.6.1neg and vmaf_b_v0.6.3; those of v1,
 *     vmaf_v1.0.16_3d0h, _5d0h, _1d5h_2160, _3d0h_2160, vmaf_v1.0.16_hfr_3d0h and so on, see MODELS OF V1; and any
 *     other model file of libvmaf (JSON) or embedded array that uses the features below; several models over one pass;
 *   - the features adm, vif and motion (libvmaf's integer ones), cambi (banding) and speed_chroma with all their
 *     options; per-frame values and pooling;
 *   - 8 to 16 bits, 4:0:0, 4:2:0, 4:2:2, 4:4:4, planar, NV12-like and P010-like, any pitch, 16x16 to 16384x16384;
 *   - clips whole or in segments with the same bits, single pairs without history, threads inside one frame;
 *   - on the CPU, on NVIDIA GPUs of compute capability 7.5 and up, or on AMD GPUs from gfx900 (Vega) to gfx1201 (RDNA 4),
 *     with frames in host, pinned or device memory: see GPU.
 * WHAT IT DOES NOT
 *   - no float features, no speed_temporal, PSNR or SSIM; no heatmap files of cambi;
 *   - no scaling, no colour conversion, no decoding: both frames of a pair have the size and format of the config;
 *   - it never prints, aborts, touches global state, the locale or the floating-point environment.
 *
 * FEATURES AND OPTIONS (libvmaf's names; default; range). An option that differs from its default adds _alias_value, or _alias
 * for a flag, to the column's name; numbers are rounded to six significant digits first, as in libvmaf.
 *   vif     integer_vif_scale0..3
 *           vif_enhn_gain_limit (egl) 100, 1..100 | vif_skip_scale0 (ssclz) false | debug false: adds numerators, denominators
 *   adm     integer_adm2, integer_aim, integer_adm3, integer_adm_scale0..3
 *           adm_enhn_gain_limit (egl) 100, 1..100 | adm_csf_mode (csf) 0, 0..3: Watson, Barten, two fitted tables
 *           adm_csf_scale (scf), adm_csf_diag_scale (scfd) 1, 0..50, for mode 1 | adm_norm_view_dist (nvd) 3, 0.75..24
 *           adm_ref_display_height (rdh) 1080, 1..4320; nvd * rdh >= 3240 | adm_noise_weight (nw) 0.03125, 0..1500
 *           adm_dlm_weight (dlmw) 0.5, 0..1 | adm_min_val (min) 0, 0..1 | adm_skip_scale0 (ssz), adm_skip_aim, debug false
 *   motion  VMAF_integer_feature_motion_sad_score, integer_motion2, integer_motion3; looks at the reference only
 *           motion_five_frame_window (mffw) false | motion_moving_average (mma) false | motion_force_zero (force_0) false
 *           motion_blend_factor (mbf) 1, 0..1 | motion_blend_offset (mbo) 40, 0..1000 | motion_fps_weight (mfw) 1, 0..5
 *           motion_max_val (mmxv) 10000, 0..10000 | debug false
 *   cambi   cambi; full_ref adds cambi_source, cambi_full_reference (never with options in the name); looks at the
 *           distorted luma, with full_ref at the reference's too
 *           cambi_max_val (cmxv) 1000, 0..1000 | cambi_high_res_speedup (hrs) 0: 1080, 1440 or 2160 | full_ref false
 *           cambi_vis_lum_threshold (vlt) 0, 0..300 cd/m2 | max_log_contrast (mlc) 2, 0..5
 *           window_size (ws) 65, 15..127 | cambi_topk (ctpk), topk 0.6, 0.0001..1 | tvi_threshold (tvit) 0.019, 0.0001..1
 *           cambi_eotf (ceot), eotf bt1886, or pq | enc_width (encw) 180..7680, enc_height (ench) 150..7680 and
 *           enc_bitdepth (encbd) 6..16: of the encode, where it is not the frame's | src_width (srcw) 320..7680,
 *           src_height (srch) 200..4320: of the source, for full_ref
 *           Needs 216 pixels in width or height, and a window of 65 pixels at most, which above 4K only the speedup has.
 *   speed_chroma   speed_chroma_u, speed_chroma_v, speed_chroma_uv; needs chroma planes of 80x80 after the prescale
 *           speed_kernelscale (ks) 1: one of libvmaf's list | speed_prescale (ps) 1, 0.1..4
 *           speed_prescale_method (psm) nearest, bilinear, bicubic or lanczos4 | speed_sigma_nn (snn) 0.29, 0.1..2
 *           speed_nn_floor (nnf) 0, 0..1 | speed_max_val (mxv) 1000, 0..1000 | speed_weight_var_mode (wvm) 0, 0..6
 *
 * MODELS OF V1 (libvmaf 3.2.0, June 2026) see banding and chroma besides detail and motion: give frames with data[1]
 * and data[2], else vmafgpu_push() says what is missing. One SVM, eight names: _3d0h is for 1080p at three picture
 * heights, _5d0h at five; _1d5h_2160 and _3d0h_2160 are for 4K at one and a half and at three (the last one scores
 * 0..110); hfr_ is for 50 frames per second and more. Ten bits are what they were trained on; eight are taken. Where a model's encode was
 * smaller than the frames: options = "cambi.enc_width=1280:cambi.enc_height=720:cambi.enc_bitdepth=8". The smallest
 * picture with 4:2:0 is 216x160 (_3d0h, _1d5h_2160), 266x266 (_5d0h), 318x318 (_3d0h_2160).
 *
 * GPU. The default backend, AUTO, uses a GPU where one can be used, NVIDIA's before AMD's, and is silent where not; CUDA
 * and HIP insist, and vmafgpu_open() then says why there is none. vmafgpu_backend_name(), _device_name() and
 * _backend_note() tell what computes, and why it is not the GPU.
 *   - It takes a driver and the kernels, no toolkit: an NVIDIA driver of 525 (2022) or later, or AMD's HIP runtime,
 *     libamdhip64 of ROCm 5.3 and later or amdhip64.dll. The first of these counts: gpu.kernels (in memory),
 *     gpu.kernels_path, compiled in (VMAFGPU_PTX_HEADER, VMAFGPU_HSACO_HEADER), vmafgpu_kernels.sm80.ptx and
 *     vmafgpu_kernels.ptx, or vmafgpu_kernels.hsaco, in the folder of the running program. NVIDIA's driver compiles
 *     them at the first open, for a second or so, and keeps the result on disk; AMD's are machine code, one for each
 *     gfx target, and the device's is taken.
 *   - frame.memory says where a frame is. HOST: it is copied before push returns. PINNED: the GPU fetches it. DEVICE (a
 *     CUdeviceptr, or what hipMalloc() gave, as data[0]): read in place if address and pitch are multiples of 16 bytes,
 *     rows of 4, and samples lie in the low bits; else the GPU makes a copy that is so. Chroma, where a feature looks at it,
 *     is in the same kind of memory and read as it is. Pinned and device frames stay
 *     borrowed until vmafgpu_reusable() counts their pair; vmafgpu_wait() waits for that, and vmafgpu_wait_on_stream()
 *     has a stream wait. gpu.stream says which of your streams fills device frames; else they are ready when they are
 *     pushed. Give gpu.frames what all frames are, and no memory is taken for other kinds.
 *   - push gathers gpu.batch pairs for one launch and has gpu.queue batches in flight; it waits only when the queue
 *     is full. Scores come when their batch is done: flush or vmafgpu_wait() sends a batch off before it is full.
 *     gpu.batch = 1 has the lowest latency; small pictures are many times faster with the default.
 *     vmafgpu_score_pair() sends off what gathers and waits for no other pair, but with a full queue for the oldest
 *     batch.
 *   - gpu.context is your CUcontext (default: the primary context of gpu.device, retained until close; HIP has none);
 *     any thread may call, whatever context or HIP device is current there, and finds its own current again; our
 *     calls leave no last error of their own in HIP. Several contexts share a GPU, or have one each. A HIP runtime that
 *     the program has loaded is the one that is used (gpu.driver_path decides otherwise), and it stays loaded: some
 *     versions crash when they are unloaded.
 *   - If the GPU fails, pairs from host and pinned memory go on on the CPU with the same bits, and the note says why;
 *     pairs in device memory end in VMAFGPU_ERROR_DEVICE, one by one, and what was scored before stays readable. But
 *     where an AMD GPU itself faults, as on a device frame that is smaller than the config says, AMD's runtime ends the
 *     process.
 *
 * SWITCHES, defined before the include
 *   VMAFGPU_IMPLEMENTATION         in one file
 *   VMAFGPU_STATIC                 with it: every function is private to that file
 *   VMAFGPU_API                    what stands before every public function, default extern (for DLL exports and the like)
 *   VMAFGPU_NO_THREADS             no threads of our own (pthread; on Windows Win32, Vista and later):
 *                                  config.threads > 1 then needs config.parallel_for
 *   VMAFGPU_NO_GPU                 no GPU backend, no look-up of drivers. Always so where pointers have 32 bits
 *   VMAFGPU_PTX_HEADER "file.h"    with VMAFGPU_IMPLEMENTATION: the kernels compiled in, vmafgpu_ptx.h of `make blobs`
 *   VMAFGPU_HSACO_HEADER "file.h"  the same for AMD, vmafgpu_hsaco.h; VMAFGPU_NO_GFX900, ... leaves one target out
 *   VMAFGPU_NO_SIMD                no vector code. Always so but with GCC and clang on x86-64 and AArch64
 *   VMAFGPU_SELF "file.h"          this file's name, by which it includes itself, default "vmafgpu.h"
 *   VMAFGPU_NO_JSON                no model reader
 *   VMAFGPU_NO_MODELS              no built-in models, models/model_embed.h is not included
 *   VMAFGPU_NO_VMAF_V0_6_1, ...    leaves one built-in model out; models/model_embed.h lists the names
 *   VMAFGPU_MODEL_HEADER "file.h"  where model_embed.h is, default "models/model_embed.h"
 *
 * THREADS. A context is used by one thread at a time; different contexts never meet. config.threads = n splits each frame over
 * the calling thread and n - 1 threads started at open (fewer where frames have no work for so many), or over your own pool
 * if config.parallel_for is set too. The default is 1 and starts none. Callbacks (allocator, log, on_score, parallel_for) must not throw or longjmp. A
 * GPU backend starts no thread either (the driver may); the GPU works while the calling thread goes on.
 *
 * INSTRUCTION SETS. The CPU's work is done in AVX-512, AVX2, NEON or plain C, whatever the processor and the operating system
 * can do, found out at open; vmafgpu_cpu_level() tells. config.cpumask switches levels off, a bit each as in libvmaf: 8 AVX2,
 * 16 AVX-512 (which takes a processor with VNNI: Cascade Lake, Zen 4 and later); on ARM 1 NEON. No bit changes a score.
 *
 * ONE REFERENCE, MANY DISTORTED FRAMES. Open a context for each distorted video, all alike and with config.together set to
 * their number, and give all of a frame to vmafgpu_push_many(). Each context has its own scores, columns and pooling.
 *
 * MEMORY. All memory is taken at open: the host's from config.allocator if set, page-locked and device memory from
 * the driver, one allocation each; vmafgpu_memory() and vmafgpu_device_memory() tell the sums, and an open that does
 * not fit says how much it needs. Only the score list grows, by doubling, in vmafgpu_push() (switch it off with
 * config.discard_scores), and the CPU's planes are taken when a GPU fails. vmafgpu_percentile() borrows a copy of one
 * column while it sorts. Frames in host memory are borrowed for the call that takes them, others until
 * vmafgpu_reusable() says so.
 *
 * ERRORS. Every function that can fail returns a result: 0 fine, above 0 a state (AGAIN, END), below 0 a failure, for which
 * vmafgpu_last_error() has a sentence that names the field, frame or option at fault. A failed call changed nothing.
 *
 * DETERMINISM: WHAT IS BIT-IDENTICAL TO WHAT
 *   - Features are integer sums per frame, the same on every machine, compiler, thread count, hook and GPU, in every
 *     version of this header. One text turns them into doubles, with a few calls of powf, pow, log10 and exp of the C
 *     library. Only speed_chroma is float throughout; the order of its operations is fixed, whatever the thread count
 *     and the backend. Its logarithms are the header's own; its tables call exp and log2 (with lanczos4 sin).
 *   - All feature values, model scores and pooled values equal, to the last bit of the double, those of libvmaf 3.2.0's plain C
 *     path (`vmaf --cpumask 255`) on the same C library. libvmaf's vector code itself differs from its C code in ADM at some
 *     widths below 533 and on hard synthetic edges; its CUDA code differs in ADM and motion everywhere.
 *   - With 32 or fewer pixels in width or height libvmaf's ADM reads outside its buffers. Ours is defined there (the same border
 *     rules) but has no libvmaf counterpart, nor has any model score; vif and motion have one down to 16. With 9, 11,
 *     13, 14 or 15 bits libvmaf's speed_chroma takes bytes of words for samples: ours has no counterpart there, nor has
 *     cambi's full_ref of 10-bit frames with a source larger than they are, where libvmaf mixes rows up.
 *   - Fused multiply-add and -funsafe-math-optimizations are off inside this header whatever flags you compile with (-O3,
 *     -march=native, gnu modes), by pragmas that give your own settings back at the end. -ffast-math is refused at compile
 *     time. What gets through all the same, and a rounding mode other than to nearest on the calling thread, makes open and
 *     push return VMAFGPU_ERROR_FLOAT instead of wrong scores. Flushing denormals to zero does no harm.
 *     32-bit x86 needs -msse2 -mfpmath=sse.
 *
 * ROOMS, in this order; search for the banner: >>settings >>arithmetic >>sums >>launch >>context >>memory >>text >>json
 * >>model reader >>models >>features >>threads >>cambi >>speed >>cpu >>kernels >>driver >>gpu >>vendors >>finish >>scores
 * >>open >>public >>levels
 *
 * LICENCE: BSD-2-Clause-Patent, see LICENSE. The figures of the models are Netflix's, under the same licence.
 */
#if !defined(VMAFGPU_H) && !defined(VMAFGPU_KERNELS)
#define VMAFGPU_H

#include <stddef.h>
#include <stdint.h>

#define VMAFGPU_VERSION_MAJOR 0
#define VMAFGPU_VERSION_MINOR 1
#define VMAFGPU_VERSION_PATCH 0
/* major * 10000 + minor * 100 + patch */
#define VMAFGPU_VERSION 100
#define VMAFGPU_VERSION_STRING "0.1.0"

/* VMAFGPU_STATIC makes every function private to the one file that defines VMAFGPU_IMPLEMENTATION. */
#ifndef VMAFGPU_API
#  ifdef VMAFGPU_STATIC
#    if defined(__GNUC__) || defined(__clang__)
#      define VMAFGPU_API static __attribute__((unused))
#    else
#      define VMAFGPU_API static
#    endif
#  else
#    define VMAFGPU_API extern
#  endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------
 * Results
 *
 * One table: name, number, sentence. Zero and above is not a failure; below zero is one, and
 * vmafgpu_last_error() then names the field, frame or file position at fault.
 * ------------------------------------------------------------------------------------------------ */
#define VMAFGPU_RESULTS(X) \
    X(VMAFGPU_OK,                 0, "success") \
    X(VMAFGPU_AGAIN,              1, "no score is ready yet: push another pair, or flush at the end of the clip") \
    X(VMAFGPU_END,                2, "every score of the clip has been delivered") \
    X(VMAFGPU_ERROR_ARGUMENT,    -1, "an argument or a config field is missing or out of range") \
    X(VMAFGPU_ERROR_MEMORY,      -2, "the allocator returned no memory") \
    X(VMAFGPU_ERROR_STATE,       -3, "the call does not fit the context's state") \
    X(VMAFGPU_ERROR_FRAME,       -4, "a frame holds samples that its bit depth does not allow") \
    X(VMAFGPU_ERROR_MODEL,       -5, "the model is unknown, malformed or uses something unsupported") \
    X(VMAFGPU_ERROR_FEATURE,     -6, "the feature, or an option of it, is unknown or out of range") \
    X(VMAFGPU_ERROR_NOT_FOUND,   -7, "there is no such column or no score for that frame") \
    X(VMAFGPU_ERROR_BACKEND,     -8, "the backend asked for cannot run here") \
    X(VMAFGPU_ERROR_SYSTEM,      -9, "the operating system refused a thread or a lock") \
    X(VMAFGPU_ERROR_FLOAT,      -10, "this build or the caller's floating-point mode does not follow IEEE 754: scores would be wrong") \
    X(VMAFGPU_ERROR_FULL,       -11, "the pair was not taken: fetch the waiting scores with vmafgpu_next() first") \
    X(VMAFGPU_ERROR_DEVICE,     -12, "the GPU failed while it held the pair, and the frames are in its memory")

typedef enum vmafgpu_result {
#define VMAFGPU_RESULT_ENUM_(name, number, sentence) name = number,
    VMAFGPU_RESULTS(VMAFGPU_RESULT_ENUM_)
#undef VMAFGPU_RESULT_ENUM_
    VMAFGPU_RESULT_FORCE_INT_ = 0x7fffffff
} vmafgpu_result;

/* ------------------------------------------------------------------------------------------------
 * Frames
 * ------------------------------------------------------------------------------------------------ */

/* How chroma is subsampled. The models of v0.6 look at luma only; those of v1 need chroma. */
typedef enum vmafgpu_chroma {
    VMAFGPU_420 = 0,
    VMAFGPU_400,
    VMAFGPU_422,
    VMAFGPU_444
} vmafgpu_chroma;

/* How planes are laid out and where a sample sits in its word. */
typedef enum vmafgpu_layout {
    VMAFGPU_PLANAR = 0,      /* Y, U, V planes, samples in the low bits (I420, I010, yuv422p12le, ...) */
    VMAFGPU_SEMIPLANAR,      /* Y, then interleaved UV, samples in the low bits (NV12, NV16, NV24)      */
    VMAFGPU_SEMIPLANAR_HIGH  /* the same with samples in the high bits of 16-bit words (P010, P012,
                                P016, P210, P410); the low bits must be zero                            */
} vmafgpu_layout;

/* The memory a frame is in. */
typedef enum vmafgpu_memory_kind {
    VMAFGPU_MEMORY_HOST = 0, /* any; it may be reused when the call that takes the frame returns */
    VMAFGPU_MEMORY_PINNED,   /* page-locked by the GPU's API and read by the GPU itself; see vmafgpu_reusable() */
    VMAFGPU_MEMORY_DEVICE    /* of the GPU that scores (CUdeviceptr), read in place; see vmafgpu_reusable() */
} vmafgpu_memory_kind;

/* One picture in the caller's memory, not written, and borrowed: in host memory for the duration of the call that
 * takes it, else until vmafgpu_reusable() says so.
 * data[0] is the first luma row. Planes 1 and 2 (plane 2 is unused when semi-planar) are read only for
 * features that look at chroma, speed_chroma in this version, of pairs that are scored, and may be NULL otherwise.
 * Only those chroma samples are read, and checked against the bit depth, that the feature needs; on a GPU the check is
 * part of the pair's result, not of the push.
 * pitch[i] is the distance from one row to the next in bytes; 0 means tightly packed (chroma of an odd width rounded
 * up); it may be negative (data[i] is then still the top row). 16-bit words are little-endian and need no alignment. */
typedef struct vmafgpu_frame {
    const void *data[3];
    ptrdiff_t   pitch[3];
    vmafgpu_memory_kind memory;    /* default: host */
} vmafgpu_frame;

/* ------------------------------------------------------------------------------------------------
 * Models
 * ------------------------------------------------------------------------------------------------ */

/* One support-vector regression with what surrounds it. The fields follow the keys of libvmaf's model
 * files; all pointers are borrowed. Made by vmafgpu_model_parse() or by examples/embed_model.c. */
typedef struct vmafgpu_svm {
    int                 feature_count;       /* 1..64                                                        */
    const char *const  *feature_names;       /* "VMAF_integer_feature_adm2_score", ...                       */
    const char *const  *feature_options;     /* per feature "adm_enhn_gain_limit=1:..." or ""                */
    const double       *slopes;              /* [1 + feature_count]; [0] belongs to the score                */
    const double       *intercepts;          /* [1 + feature_count]                                          */
    int                 rescale;             /* 1: norm_type "linear_rescale"; 0: "none"                     */
    double              gamma, rho;          /* of the radial basis function                                 */
    int                 sv_count;
    const double       *sv_coefs;            /* [sv_count]                                                   */
    const uint16_t     *sv_rows;             /* [sv_count]: row of sv_table; equal vectors share a row       */
    const double       *sv_table;            /* rows of feature_count numbers                                */
    int                 has_clip;            /* score_clip                                                   */
    double              clip_min, clip_max;
    int                 has_transform;       /* a score_transform object exists                              */
    int                 transform_enabled;   /* its "enabled" (absent: 0, as in vmaf_v0.6.1)                 */
    int                 has_p0, has_p1, has_p2;
    double              p0, p1, p2;
    int                 knot_count;          /* 0..10                                                        */
    const double       *knots;               /* x0 y0 x1 y1 ...                                              */
    int                 out_lte_in, out_gte_in;
    int                 has_chroma_correction;
    double              chroma_correction;
} vmafgpu_svm;

/* A model: one SVM, or (bootstrap) the main SVM followed by the collection. */
typedef struct vmafgpu_model {
    const char        *name;                 /* "vmaf_v0.6.1"                                                */
    int                svm_count;            /* 1, or 1 + size of the collection                             */
    const vmafgpu_svm *svms;
} vmafgpu_model;

/* ------------------------------------------------------------------------------------------------
 * Config
 *
 * Zero-initialise it (`vmafgpu_config cfg = {0};`, in C++ `vmafgpu_config cfg = {};`); zero means the
 * default in every field. Everything it points to is borrowed for the call of vmafgpu_open() only,
 * except models, the callbacks' user pointers, gpu.context and gpu.stream, which must live as long as the context.
 * ------------------------------------------------------------------------------------------------ */

/* Both functions or neither. alloc returns memory aligned for any type (as malloc does) or NULL. They are
 * called from vmafgpu_open(), _push(), _percentile(), _close() and the model reader, and after a GPU failed once from
 * whatever is called next, on the calling thread only. */
typedef struct vmafgpu_allocator {
    void *(*alloc)(size_t size, void *user);
    void  (*free)(void *pointer, void *user);
    void  *user;
} vmafgpu_allocator;

/* Asked to call task(arg, i) once for each i in 0..count-1, on any threads, in any order, also at the same
 * time, and to return when all have returned. `count` is config.threads; with 1 the hook is not needed and not called. */
typedef void vmafgpu_parallel_for(void *user, int count, void (*task)(void *arg, int index), void *arg);

typedef enum vmafgpu_log_level {
    VMAFGPU_LOG_ERROR = 0, /* the sentence of a failure, as vmafgpu_last_error() has it    */
    VMAFGPU_LOG_WARNING,   /* what was asked for is done, but may not be what was meant */
    VMAFGPU_LOG_INFO       /* what may be good to know: why no GPU is used */
} vmafgpu_log_level;

typedef enum vmafgpu_backend {
    VMAFGPU_BACKEND_AUTO = 0,   /* a GPU if there is one, kernels for it are found and it can do all features,
                                   NVIDIA's first, else the CPU; never fails for want of a GPU unless gpu.frames is VMAFGPU_MEMORY_DEVICE. Where
                                   gpu.frames says device, or a stream or context is given, they are CUDA's, and HIP
                                   is not tried: an address does not say whose it is. So name the backend */
    VMAFGPU_BACKEND_CPU,
    VMAFGPU_BACKEND_CUDA,       /* NVIDIA, or vmafgpu_open() returns VMAFGPU_ERROR_BACKEND and says why */
    VMAFGPU_BACKEND_HIP         /* AMD, likewise */
} vmafgpu_backend;

/* How a GPU is used. Zero means default in every field; the CPU ignores it all. */
typedef struct vmafgpu_gpu_config {
    int         device;         /* ordinal, default 0 */
    void       *context;        /* the caller's CUcontext, which must outlive this one; default: the device's primary
                                   context, retained from open to close. With a context `device` is not looked at.
                                   With HIP there are no contexts: it must be NULL */
    void       *stream;         /* the caller's CUstream or hipStream_t: frames in device memory are ready when what
                                   was put on it before the push is done. NULL: they are ready when they are pushed
                                   (for the default stream give CU_STREAM_LEGACY, or hipStreamLegacy where the
                                   runtime has it) */
    vmafgpu_memory_kind frames; /* where frames come from, so that no memory is taken for other cases. Default host:
                                   any kind is taken; pinned: pinned or device; device: device only */
    int         batch;          /* pairs per launch, 1..32; default by size: 2 at 4K, 8 at 1080p, 32 at 576x324, and
                                   twice that if `frames` is device; less where memory is short. A pair waits until its
                                   batch is full, or for flush or vmafgpu_wait(): 1 has the lowest latency */
    int         queue;          /* batches in flight, 1..8; default 2..4. Where a batch of one and a queue of two allow
                                   it, the defaults stay below 192 MB of device memory, 384 if `frames` is device */
    const void *kernels;        /* instead of looking for them: an image in memory (NVIDIA: PTX; machine code is taken,
                                   too, unchecked. AMD: a bundle of code objects, uncompressed, or a code object) */
    size_t      kernels_size;
    const char *kernels_path;   /* or in a file; default: compiled in (VMAFGPU_PTX_HEADER, VMAFGPU_HSACO_HEADER), else
                                   vmafgpu_kernels.sm80.ptx and vmafgpu_kernels.ptx, or vmafgpu_kernels.hsaco, in the
                                   folder of the running program */
    const char *driver_path;    /* instead of libcuda.so.1 / nvcuda.dll, libamdhip64.so.8 .. .5 / amdhip64_7.dll .. */
    int         arithmetic;     /* per-sample statistics of VIF in 1: double precision, 2: integers; the bits are the
                                   same. Default by the device's speed in either */
} vmafgpu_gpu_config;

/* A model to score with. Give `model`, or a built-in one by `version`. */
typedef struct vmafgpu_model_config {
    const char          *version;           /* built-in: "vmaf_v0.6.1" (default), "vmaf_v1.0.16_3d0h", ...; see vmafgpu_builtin_model() */
    const vmafgpu_model *model;             /* instead: parsed or embedded; must live as long as the context                        */
    const char          *name;              /* column name; default "vmaf"; must be unique among the models of a context            */
    int                  disable_clip;      /* 1: do not clip to the model's score_clip                                             */
    int                  enable_transform;  /* 1: apply the model's score_transform (vmaf_v0.6.1: the "phone" model)                */
    const char          *options;           /* feature options laid over the model's own, "adm.adm_enhn_gain_limit=1.2:motion.motion_fps_weight=2" */
} vmafgpu_model_config;

/* A feature to compute besides those that the models need. */
typedef struct vmafgpu_feature_config {
    const char *name;      /* "vif", "adm", "motion", "cambi" or "speed_chroma"                             */
    const char *options;   /* "vif_enhn_gain_limit=1:debug=true" or NULL; the names are libvmaf's, see the
                              manual on top; numbers pass through a float and "%g", as in libvmaf            */
} vmafgpu_feature_config;

struct vmafgpu_score;

typedef struct vmafgpu_config {
    int             width, height;        /* luma, 16..16384 each                                            */
    int             bit_depth;            /* 8..16; default 8                                                */
    int             bytes_per_sample;     /* 1 or 2; default 1 for 8 bits, else 2                            */
    vmafgpu_chroma  chroma;               /* default 4:2:0                                                   */
    vmafgpu_layout  layout;               /* default planar                                                  */

    const vmafgpu_model_config   *models; /* default: vmaf_v0.6.1 alone                                      */
    int                           model_count;   /* 0..16                                                    */
    int                           no_model;      /* 1: features only                                         */
    const vmafgpu_feature_config *features;
    int                           feature_count; /* 0..32                                                    */

    int             subsample;            /* N: score only frames whose index is divisible by N; default 1.
                                             Every pair must still be pushed: motion looks at all reference
                                             frames. The other distorted frames are not looked at            */
    int             discard_scores;       /* 1: do not keep scores after delivery: memory does not grow with
                                             the clip. Pooling still works, percentiles and
                                             vmafgpu_score_at() do not                                       */

    vmafgpu_backend backend;              /* default auto                                                    */
    vmafgpu_gpu_config gpu;
    int             threads;              /* 1..256 threads that share the work on a frame, the calling one among
                                             them; default 1: no thread is started                           */
    unsigned        cpumask;              /* instruction sets not to use, a bit each: 8 AVX2, 16 AVX-512, on ARM 1
                                             NEON; others do nothing. Scores don't depend on it              */
    int             together;             /* 1..16 distorted frames that vmafgpu_push_many() has computed in one go;
                                             default 1. Takes some memory per thread                         */
    vmafgpu_parallel_for *parallel_for;   /* has the caller's own threads run the parts instead              */
    void           *parallel_for_user;

    vmafgpu_allocator allocator;          /* both functions or neither; default (NULL): malloc and free      */

    /* Called on the thread inside a call of this library. Default: silence. */
    void          (*log)(void *user, vmafgpu_log_level level, const char *message);
    void           *log_user;

    /* Instead of polling vmafgpu_next(): called in frame order from inside vmafgpu_push(), _tail(), _next(),
     * _wait(), _reusable() and _flush(). Of the same context it may only ask what takes it as const (columns, names, config). */
    void          (*on_score)(void *user, const struct vmafgpu_score *score);
    void           *on_score_user;
} vmafgpu_config;

/* ------------------------------------------------------------------------------------------------
 * Scores
 *
 * A context has columns: the features in libvmaf's order of report (integer_adm2, integer_aim, ...),
 * then the models' outputs ("vmaf", ...). Each scored frame is a row.
 * ------------------------------------------------------------------------------------------------ */
typedef struct vmafgpu_score {
    int64_t       index;     /* of the frame: 0 for the first pair pushed                                    */
    double        score;     /* of the first model; NaN without a model                                      */
    const double *values;    /* one per column, vmafgpu_column_count() of them. Valid until vmafgpu_reset()
                                or vmafgpu_close(); with discard_scores, and from vmafgpu_score_pair(),
                                until the next call on the context                                           */
    vmafgpu_result result;   /* VMAFGPU_OK, or why the frame has no score; all values are NaN then           */
} vmafgpu_score;

typedef enum vmafgpu_pooling {
    VMAFGPU_MEAN = 0,
    VMAFGPU_HARMONIC_MEAN,   /* n / sum(1 / (s + 1)) - 1 */
    VMAFGPU_MIN,
    VMAFGPU_MAX
} vmafgpu_pooling;

typedef struct vmafgpu vmafgpu;

/* ------------------------------------------------------------------------------------------------
 * Functions
 *
 * Thread safety: calls on different contexts may run at the same time; calls on one context must not.
 * ------------------------------------------------------------------------------------------------ */

/* Opens a context. *context is set whatever the result, unless it is VMAFGPU_ERROR_MEMORY, where it may
 * be NULL: after a failure it serves vmafgpu_last_error() and must still be closed. All memory but the score
 * list is taken here. `config` may be forgotten afterwards. */
VMAFGPU_API vmafgpu_result vmafgpu_open(vmafgpu **context, const vmafgpu_config *config);

/* Gives everything back. NULL is allowed. */
VMAFGPU_API void vmafgpu_close(vmafgpu *context);

/* Forgets every frame and score, keeps the memory: the next pair is frame 0 of a new clip. */
VMAFGPU_API vmafgpu_result vmafgpu_reset(vmafgpu *context);

/* Scores the next pair of the clip. On failure nothing was taken: the index does not advance and the pair
 * can be corrected and pushed again. VMAFGPU_ERROR_FULL is possible with discard_scores and no on_score only, when 64
 * scores wait for vmafgpu_next() or are on their way.
 * A GPU takes the pair and returns; push waits only when its queue is full. If the GPU fails later, pairs whose
 * frames were in host or pinned memory are scored by the CPU with the same bits (vmafgpu_backend_note() says why),
 * and pairs in device memory fail one by one: vmafgpu_next() returns the failure in place of their score. Samples of
 * frames in device memory, and of those in pinned memory that the GPU copies as they are, that do not fit the bit
 * depth are found by the GPU, and the pair fails in the same way. A failed pair takes along those neighbours whose
 * motion needs it. */
VMAFGPU_API vmafgpu_result vmafgpu_push(vmafgpu *context, const vmafgpu_frame *reference, const vmafgpu_frame *distorted);

/* One reference against many: contexts[i] takes the pair of the reference and distorted[i], with the very scores that
 * vmafgpu_push(contexts[i], reference, &distorted[i]) gives. On the CPU, with contexts that are opened alike (size, format,
 * models, features, threads), what depends on the reference alone is computed once for each `config.together` of them. The
 * result is that of the first push that failed; the others took their pair all the same. */
VMAFGPU_API vmafgpu_result vmafgpu_push_many(vmafgpu *const *contexts, int count, const vmafgpu_frame *reference,
                                             const vmafgpu_frame *distorted);

/* For a clip that is scored in segments. vmafgpu_seed() gives, oldest first and before the first push, the
 * reference frames that precede the segment; vmafgpu_tail() gives, after the last push and before the flush,
 * the reference frame that follows it. With vmafgpu_seed_count() seeds (or as many as the clip has) and one
 * tail (unless the clip ends) the scores are the very bits of the clip scored whole: motion is the only
 * feature that looks at neighbours. (With motion_five_frame_window a segment that is the clip's first frame
 * alone needs two tails.) More seeds and tails than needed change nothing. */
VMAFGPU_API vmafgpu_result vmafgpu_seed(vmafgpu *context, const vmafgpu_frame *reference);
VMAFGPU_API vmafgpu_result vmafgpu_tail(vmafgpu *context, const vmafgpu_frame *reference);

/* How many frames before a segment its scores depend on: 1 for the models of v0.6; 0 without motion, 2 with
 * motion_moving_average, 3 with motion_five_frame_window, 4 with both. */
VMAFGPU_API int vmafgpu_seed_count(const vmafgpu *context);

/* Delivers the next score in frame order: VMAFGPU_OK, VMAFGPU_AGAIN or, after a flush, VMAFGPU_END. A frame's
 * motion depends on the following frame, so a score comes one push late (two in the first frames of the
 * five-frame window), and on a GPU when its batch is done; next never waits. A frame without a score takes its turn
 * too: the result is then its failure (below 0), score->index says whose. Scores that went to config.on_score are not
 * delivered again. */
VMAFGPU_API vmafgpu_result vmafgpu_next(vmafgpu *context, vmafgpu_score *score);

/* Ends the clip: waits for the GPU, and the last frame's score becomes ready. Then only reading, vmafgpu_reset() and
 * _close(). The result is that of the first frame that has no score, if there is one; the clip is ended all the
 * same. */
VMAFGPU_API vmafgpu_result vmafgpu_flush(vmafgpu *context);

/* Frames in pinned or device memory are borrowed beyond the call that takes them. With motion the latest one or two
 * references in pinned memory are kept until the pairs after them are done with, or until vmafgpu_wait() copies them. Those of the first
 * vmafgpu_reusable() pairs since open or reset may be overwritten or freed. vmafgpu_wait() starts what waits for a
 * full batch and returns when at least `pairs` pairs are done with (default for a negative number: all pushed so
 * far), their scores being ready but for motion. vmafgpu_wait_on_stream() makes the caller's CUstream or hipStream_t wait
 * for the same instead of the calling thread, for frames in device memory. Seeds and tails in pinned or device memory:
 * vmafgpu_wait(v, -1) covers them as well. */
VMAFGPU_API int64_t        vmafgpu_reusable(vmafgpu *context);
VMAFGPU_API vmafgpu_result vmafgpu_wait(vmafgpu *context, int64_t pairs);
VMAFGPU_API vmafgpu_result vmafgpu_wait_on_stream(vmafgpu *context, void *stream, int64_t pairs);

/* Scores one pair by itself, without touching the clip in progress and without allocating: the loop of an
 * encoder that tries candidates. `previous` is the reference frame before this one and gives motion as the
 * last frame of a clip has it; NULL means motion 0, as in a clip of one frame. (With motion_five_frame_window
 * motion is 0 in either case.) The result does not enter pooling. */
VMAFGPU_API vmafgpu_result vmafgpu_score_pair(vmafgpu *context, const vmafgpu_frame *previous,
                                              const vmafgpu_frame *reference, const vmafgpu_frame *distorted,
                                              vmafgpu_score *score);

/* The score of a frame that is ready (delivered or not), by its index. */
VMAFGPU_API vmafgpu_result vmafgpu_score_at(vmafgpu *context, int64_t index, vmafgpu_score *score);

/* How many scores are ready (delivered or not). With subsample N, frame N * i is the i-th. */
VMAFGPU_API int64_t vmafgpu_score_count(const vmafgpu *context);

/* One value for all frames that are ready and have a score. column: 0..vmafgpu_column_count()-1, see
 * vmafgpu_column_index(). The sums run in frame order, as in libvmaf. VMAFGPU_ERROR_NOT_FOUND when no frame is
 * ready. */
VMAFGPU_API vmafgpu_result vmafgpu_pool(vmafgpu *context, int column, vmafgpu_pooling method, double *value);

/* The p-th percentile, 0..100, linear between ranks (numpy's default); 50 is the median. */
VMAFGPU_API vmafgpu_result vmafgpu_percentile(vmafgpu *context, int column, double p, double *value);

/* Columns: how many, their names (valid until the context is closed; NULL when out of range), and the index
 * of a name, or -1. vmafgpu_score_column() is the column of model m's score, or -1; a bootstrap model's other
 * outputs (NAME_0001.., NAME_bagging, NAME_stddev, NAME_ci_p95_lo, NAME_ci_p95_hi) come after all models' scores. */
VMAFGPU_API int         vmafgpu_column_count(const vmafgpu *context);
VMAFGPU_API const char *vmafgpu_column_name(const vmafgpu *context, int column);
VMAFGPU_API int         vmafgpu_column_index(const vmafgpu *context, const char *name);
VMAFGPU_API int         vmafgpu_score_column(const vmafgpu *context, int model);

/* The config with every default filled in, except callbacks and allocator, where NULL is the default. `models` and `features`,
 * borrowed for the open only, are NULL. */
VMAFGPU_API const vmafgpu_config *vmafgpu_get_config(const vmafgpu *context);

/* What computes: "cpu", "cuda" or "hip". "cpu" also after a GPU failed. */
VMAFGPU_API const char *vmafgpu_backend_name(const vmafgpu *context);

/* What the CPU's work is done in: "avx512", "avx2", "neon" or "scalar". Also where a GPU computes: the CPU may have to go on. */
VMAFGPU_API const char *vmafgpu_cpu_level(const vmafgpu *context);

/* "NVIDIA H200"; "" without a GPU. */
VMAFGPU_API const char *vmafgpu_device_name(const vmafgpu *context);

/* Why no GPU is used where one was allowed, or no longer; else "". */
VMAFGPU_API const char *vmafgpu_backend_note(const vmafgpu *context);

/* Bytes of host memory that the context holds now, pinned memory included, and of device memory. Fixed from open on,
 * but for the score list, and for the CPU's planes after a GPU failed. */
VMAFGPU_API size_t vmafgpu_memory(const vmafgpu *context);
VMAFGPU_API size_t vmafgpu_device_memory(const vmafgpu *context);

/* The sentence for the last failure on this context, naming what was wrong; "" when there was none since it was opened or
 * reset. Overwritten by the next failure; after a failed open it stays the open's. With NULL: the sentence of VMAFGPU_ERROR_MEMORY. */
VMAFGPU_API const char *vmafgpu_last_error(const vmafgpu *context);

/* "VMAFGPU_ERROR_MEMORY", and its sentence. Never NULL. */
VMAFGPU_API const char *vmafgpu_result_name(vmafgpu_result result);
VMAFGPU_API const char *vmafgpu_result_string(vmafgpu_result result);

/* VMAFGPU_VERSION_STRING and VMAFGPU_VERSION of the implementation that was compiled. */
VMAFGPU_API const char *vmafgpu_version(void);
VMAFGPU_API int         vmafgpu_version_number(void);

/* The built-in model of that name, or NULL; and the i-th built-in model, or NULL past the last. */
VMAFGPU_API const vmafgpu_model *vmafgpu_builtin_model(const char *name);
VMAFGPU_API const vmafgpu_model *vmafgpu_builtin_model_at(int i);

/* Reads a model from the JSON text of libvmaf's model files, a single model or a bootstrap collection. The text
 * (size bytes, no terminator needed) may be forgotten afterwards; the model is one allocation from `allocator`
 * (NULL: malloc) and goes back with vmafgpu_model_free(). `name` becomes model->name (copied). On failure *model
 * is NULL and error (if not NULL) holds a sentence. Independent of the C locale. */
VMAFGPU_API vmafgpu_result vmafgpu_model_parse(vmafgpu_model **model, const char *name, const char *json, size_t size,
                                               const vmafgpu_allocator *allocator, char *error, size_t error_size);
VMAFGPU_API void vmafgpu_model_free(vmafgpu_model *model, const vmafgpu_allocator *allocator);

#ifdef __cplusplus
}
#endif

#endif /* VMAFGPU_H */

/* ================================================================================================
 * >>settings                                     what the implementation needs, and how it is compiled
 * ================================================================================================ */
#if (defined(VMAFGPU_IMPLEMENTATION) || defined(VMAFGPU_KERNELS)) && !defined(VMAFGPU_IMPLEMENTED_)
#define VMAFGPU_IMPLEMENTED_

#ifdef VMAFGPU_KERNELS

/* The kernels' own sources take >>arithmetic, >>sums and >>launch from here and nothing else; they say before the
 * include what a function and a table are on their device. */
#include <stdint.h>
#define VMAFGPU__UNUSED

#else

/* Reassociation, reciprocal division or flushed denormals change scores, and no pragma takes all of them back. */
#if defined(__FAST_MATH__) || defined(_M_FP_FAST)
#  error "vmafgpu.h cannot be compiled with -ffast-math, -Ofast or /fp:fast: scores would be wrong. Compile the one file that defines VMAFGPU_IMPLEMENTATION without it."
#endif

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if UINTPTR_MAX < 0xffffffffffffffffu && !defined(VMAFGPU_NO_GPU)
#  define VMAFGPU_NO_GPU       /* the kernels' launch structs hold pointers of 64 bits */
#endif
#if defined(_MSC_VER) && !defined(__clang__)
#  include <intrin.h>
#endif
#if !defined(VMAFGPU_NO_THREADS) && defined(_WIN32)
#  include <process.h>
/* As windows.h declares them, which may have been included or not, and may hide them from programs for old systems.
 * MinGW's leaves dllimport out here and there. */
#  ifdef __clang__
#    pragma clang diagnostic push
#    pragma clang diagnostic ignored "-Wdll-attribute-on-redeclaration"
#  endif
#  ifdef __cplusplus
extern "C" {
#  endif
struct _RTL_SRWLOCK;
struct _RTL_CONDITION_VARIABLE;
__declspec(dllimport) void __stdcall AcquireSRWLockExclusive(struct _RTL_SRWLOCK *);
__declspec(dllimport) void __stdcall ReleaseSRWLockExclusive(struct _RTL_SRWLOCK *);
__declspec(dllimport) int __stdcall SleepConditionVariableSRW(struct _RTL_CONDITION_VARIABLE *, struct _RTL_SRWLOCK *,
                                                              unsigned long, unsigned long);
__declspec(dllimport) void __stdcall WakeConditionVariable(struct _RTL_CONDITION_VARIABLE *);
__declspec(dllimport) void __stdcall WakeAllConditionVariable(struct _RTL_CONDITION_VARIABLE *);
__declspec(dllimport) unsigned long __stdcall WaitForSingleObject(void *, unsigned long);
__declspec(dllimport) int __stdcall CloseHandle(void *);
__declspec(dllimport) int __stdcall SwitchToThread(void);
#  ifdef __cplusplus
}
#  endif
#  ifdef __clang__
#    pragma clang diagnostic pop
#  endif
#elif !defined(VMAFGPU_NO_THREADS)
#  include <pthread.h>
#  include <sched.h>
#endif

/* Levels of vector code. VMAFGPU__NEON is compiled where the compiler's own target has it. */
#define VMAFGPU__AVX2   1
#define VMAFGPU__AVX512 2
#define VMAFGPU__NEON   3
#if (defined(__GNUC__) || defined(__clang__)) && !defined(VMAFGPU_NO_SIMD) && !defined(__CUDACC__)
#  if defined(__x86_64__)
#    define VMAFGPU__HAS_X86
#    include <cpuid.h>
#    include <immintrin.h>
#  elif defined(__aarch64__) && defined(__ARM_NEON) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#    define VMAFGPU__HAS_NEON
#    include <arm_neon.h>
#  endif
#endif
#ifndef VMAFGPU_SELF
#  define VMAFGPU_SELF "vmafgpu.h"
#endif

#if defined(FLT_EVAL_METHOD) && (FLT_EVAL_METHOD < 0 || FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 2)
#  error "vmafgpu.h needs float and double arithmetic in their own precision: on x86 compile with -msse2 -mfpmath=sse."
#endif

/* The reference rounds the product and the sum of a*b+c apart, so contraction to one fused operation is off from here
 * to the end of the implementation, where the caller's setting comes back; so are the parts of -ffast-math that may come
 * alone. GCC ignores the STDC pragma. With -ffp-contract=fast clang fuses in spite of its own pragma, but not where
 * exceptions count; only some targets can say so. */
#if defined(__clang__)
#  if defined(__x86_64__) || defined(__i386__)
#    pragma float_control(push)
#    pragma float_control(precise, on)
#    pragma float_control(except, on)
#  endif
#  pragma clang fp contract(off)
#elif defined(__GNUC__)
#  pragma GCC push_options
#  pragma GCC optimize("fp-contract=off", "no-unsafe-math-optimizations", "no-associative-math", "no-reciprocal-math")
#elif defined(_MSC_VER)
#  pragma fp_contract(off)
#endif

#if defined(__GNUC__) || defined(__clang__)
#  define VMAFGPU__UNUSED __attribute__((unused))
#  define VMAFGPU__FORMAT(f, a) __attribute__((format(printf, f, a)))
#  define VMAFGPU__RESTRICT __restrict__
#elif defined(_MSC_VER)
#  define VMAFGPU__UNUSED
#  define VMAFGPU__FORMAT(f, a)
#  define VMAFGPU__RESTRICT __restrict
#else
#  define VMAFGPU__UNUSED
#  define VMAFGPU__FORMAT(f, a)
#  define VMAFGPU__RESTRICT
#endif

#endif /* VMAFGPU_KERNELS */

/* ================================================================================================
 * >>arithmetic                                   what every backend computes per sample, written once
 * ================================================================================================
 * Integer unless a type says otherwise. `>>` of a negative number is arithmetic (floor), as on every compiler we know.
 */
#ifndef VMAFGPU__FN
#  define VMAFGPU__FN static inline VMAFGPU__UNUSED
#  define VMAFGPU__TABLE static const
#endif

enum {
    VMAFGPU__SCALES = 4,
    VMAFGPU__MAX_SIZE = 16384,
    VMAFGPU__MIN_SIZE = 16
};

/* Number of bits of v: 0 for 0. */
VMAFGPU__FN int vmafgpu__bit_length(uint32_t v) {
#if defined(VMAFGPU__BIT_LENGTH)
    return VMAFGPU__BIT_LENGTH(v);
#elif defined(__GNUC__) || defined(__clang__)
    return v ? 32 - __builtin_clz(v) : 0;
#else
    int n = 0;
    while (v) {
        v >>= 1;
        n++;
    }
    return n;
#endif
}

/* Smallest k with 2^k >= n, for n >= 1. */
VMAFGPU__FN int vmafgpu__ceil_log2(uint32_t n) {
    return vmafgpu__bit_length(n - 1);
}

/* Half of the unit that a right shift by `shift` drops; 0 when it drops nothing. */
VMAFGPU__FN int64_t vmafgpu__half(int shift) {
    return shift > 0 ? (int64_t)1 << (shift - 1) : 0;
}

/* Border rule of VIF and motion: reflect without repeating the edge sample. Also that of the wavelet's left and top. */
VMAFGPU__FN int vmafgpu__reflect(int k, int n) {
    return k < 0 ? -k : k >= n ? 2 * (n - 1) - k : k;
}

/* Border rule of ADM: left and top reflect, right and bottom repeat the edge sample first. A single row or column is
 * its own neighbour. */
VMAFGPU__FN int vmafgpu__reflect_repeat(int k, int n) {
    const int i = k < 0 ? -k : k >= n ? 2 * n - 1 - k : k;
    return i < n ? i : n - 1;
}

/* ---- VIF: four scales, separable filters of 17, 9, 5 and 3 taps that sum to 65536 ---- */

#define VMAFGPU__VIF_NOISE 131072            /* sigma_n^2 = 2, in units of 65536 per squared 8-bit grey level */
#define VMAFGPU__VIF_EPSILON (65536 * 1.0e-10)
#define VMAFGPU__VIF_LOG_NOISE 34816         /* 2048 * log2(131072) */

VMAFGPU__TABLE uint16_t vmafgpu__vif_taps[VMAFGPU__SCALES][17] = {
    { 489, 935, 1640, 2640, 3896, 5274, 6547, 7455, 7784, 7455, 6547, 5274, 3896, 2640, 1640, 935, 489 },
    { 1244, 3663, 7925, 12590, 14692, 12590, 7925, 3663, 1244, 0, 0, 0, 0, 0, 0, 0, 0 },
    { 3571, 16004, 26386, 16004, 3571, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
    { 10904, 43728, 10904, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
};

/* Taps on either side of the centre. */
VMAFGPU__FN int vmafgpu__vif_reach(int scale) {
    return 8 >> scale;
}

/* Rounding shifts of the vertical pass: of the means, and of the squares. */
VMAFGPU__FN int vmafgpu__vif_mean_shift(int scale, int bit_depth) {
    return scale ? 16 : bit_depth;
}
VMAFGPU__FN int vmafgpu__vif_square_shift(int scale, int bit_depth) {
    return scale ? 16 : 2 * (bit_depth - 8);
}

/* table[m - 32768] = 2048 * log2(m) for m in 32768..65535, rounded as the reference rounds: log2 to float first. That is
 * floor(2048 * log2(m) + 1/2 + 2^-10); the table is built from the places where it steps, which lie far enough from
 * integers for any libm. Made on the host; other devices get a copy. */
#ifndef VMAFGPU_KERNELS
static VMAFGPU__UNUSED void vmafgpu__log_table(uint16_t *table) {
    int m = 32768;
    for (int level = 30720; level <= 32768; level++) {
        const double step = exp2(((double)level + 1.0 - 0.5 - 0.0009765625) / 2048.0);
        while (m < 65536 && (double)m < step) {
            table[m - 32768] = (uint16_t)level;
            m++;
        }
    }
}
#endif

/* 2048 * log2(v) by table, for v >= 2^15; the bits below the leading sixteen are dropped. */
VMAFGPU__FN int vmafgpu__log2_2048(uint32_t v, const uint16_t *table) {
    const int k = vmafgpu__bit_length(v) - 16;
    return table[(v >> k) - 32768] + 2048 * k;
}

/* Products of 32-bit local means, in the unit of the variances. */
VMAFGPU__FN uint32_t vmafgpu__vif_mean_product(uint32_t a, uint32_t b) {
    return (uint32_t)(((uint64_t)a * b + 0x80000000u) >> 32);
}

/* A variance or covariance from the two weighted sums of squares or products and those of the means. May be negative. */
VMAFGPU__FN int32_t vmafgpu__vif_variance(uint64_t square_sum, uint32_t mean_a, uint32_t mean_b) {
    return (int32_t)((uint32_t)((square_sum + 32768) >> 16) - vmafgpu__vif_mean_product(mean_a, mean_b));
}

/* The gain g of the distortion channel and what it leaves unexplained, v, for s1 >= VMAFGPU__VIF_NOISE, s12 > 0, s2 > 0. */
VMAFGPU__FN void vmafgpu__vif_channel(int32_t s1, int32_t s2, int32_t s12, double *g, int32_t *v) {
    *g = (double)s12 / ((double)s1 + VMAFGPU__VIF_EPSILON);
    const int32_t rest = (int32_t)((double)s2 - *g * (double)s12);
    *v = rest > 0 ? rest : 0;
}

/* Numerator term of one sample, given log n1 where n1 = v + noise. */
VMAFGPU__FN int vmafgpu__vif_information(int32_t s1, uint32_t n1, int log_n1, double g, double gain_limit,
                                         const uint16_t *table) {
    const double limited = g < gain_limit ? g : gain_limit;
    const uint32_t n2 = (uint32_t)((int64_t)n1 + (int64_t)(limited * limited * (double)s1));
    return vmafgpu__log2_2048(n2, table) - log_n1;
}

/* ---- Motion: the difference of two frames is blurred, then summed by absolute value ---- */

VMAFGPU__TABLE int32_t vmafgpu__motion_taps[5] = { 3571, 16004, 26386, 16004, 3571 };

/* A tap sum of values y, |y| <= 65535, rounded and shifted right, given the tap sums of y >> 8 and of y & 255: each fits 32
 * bits, their whole would not. The shift is the bit depth down the columns, then 16 along the rows. */
VMAFGPU__FN int32_t vmafgpu__motion_round(int32_t high, int32_t low, int shift) {
    return (high + ((low + ((int32_t)1 << (shift - 1))) >> 8)) >> (shift - 8);
}

/* ---- ADM: four levels of a db2 wavelet, decoupling, contrast masking ---- */

VMAFGPU__TABLE int32_t vmafgpu__dwt_low[4] = { 15826, 27411, 7345, -4240 };
VMAFGPU__TABLE int32_t vmafgpu__dwt_high[4] = { -4240, -7345, 27411, -15826 };

/* Four samples through one filter. 32 bits do for the luma and, down the columns, for the low-pass band of scale 0. */
VMAFGPU__FN int32_t vmafgpu__dwt32(const int32_t *taps, int32_t a, int32_t b, int32_t c, int32_t d, int shift) {
    return (taps[0] * a + taps[1] * b + taps[2] * c + taps[3] * d + (int32_t)vmafgpu__half(shift)) >> shift;
}

VMAFGPU__FN int32_t vmafgpu__dwt64(const int32_t *taps, int32_t a, int32_t b, int32_t c, int32_t d, int shift) {
    const int64_t sum = (int64_t)taps[0] * a + (int64_t)taps[1] * b + (int64_t)taps[2] * c + (int64_t)taps[3] * d;
    return (int32_t)((sum + vmafgpu__half(shift)) >> shift);
}

VMAFGPU__FN int vmafgpu__dwt_vertical_shift(int scale, int bit_depth) {
    return scale == 0 ? bit_depth : scale == 1 ? 0 : 16;
}
VMAFGPU__FN int vmafgpu__dwt_horizontal_shift(int scale) {
    return scale & 1 ? 15 : 16;
}

enum { VMAFGPU__BANDS = 3 };   /* h, v, d */

/* What the sizes of a band decide. */
typedef struct vmafgpu__adm_geometry {
    int w, h;                 /* of the bands of this scale                                          */
    int left, top;            /* border left out of every sum, on each side                          */
    int mask_shift[VMAFGPU__BANDS];   /* per sample of the numerators                                */
    int mask_row_shift;       /* per row of the numerators                                           */
    int den_shift;            /* per sample of the denominator (scales 1..3)                         */
    int den_row_shift;        /* per row of the denominator                                          */
} vmafgpu__adm_geometry;

/* Width or height of the bands, given those of the frame. */
VMAFGPU__FN int vmafgpu__adm_size(int frame_size, int scale) {
    int n = frame_size;
    for (int s = 0; s <= scale; s++)
        n = (n + 1) / 2;
    return n;
}

/* A tenth of the size, as the reference rounds it. */
VMAFGPU__FN int vmafgpu__adm_border(int n) {
    return n < 5 ? 0 : (n - 5) / 10;
}

VMAFGPU__FN vmafgpu__adm_geometry vmafgpu__adm_geometry_of(int width, int height, int scale) {
    vmafgpu__adm_geometry g;
    g.w = vmafgpu__adm_size(width, scale);
    g.h = vmafgpu__adm_size(height, scale);
    g.left = vmafgpu__adm_border(g.w);
    g.top = vmafgpu__adm_border(g.h);
    const int region_w = g.w - 2 * g.left, region_h = g.h - 2 * g.top;
    const int log_w = vmafgpu__ceil_log2((uint32_t)g.w);
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        /* Negative only for bands of 8 columns at scale 0, where the reference is undefined. */
        const int shift = scale ? log_w : log_w - (band < 2 ? 4 : 3);
        g.mask_shift[band] = shift > 0 ? shift : 0;
    }
    g.mask_row_shift = vmafgpu__ceil_log2((uint32_t)g.h);
    if (scale) {
        g.den_shift = vmafgpu__ceil_log2((uint32_t)region_w);
        g.den_row_shift = vmafgpu__ceil_log2((uint32_t)region_h);
    } else {
        const int excess = vmafgpu__ceil_log2((uint32_t)region_w * (uint32_t)region_h) - 20;
        g.den_shift = 0;
        g.den_row_shift = excess > 0 ? excess : 0;
    }
    return g;
}

/* Whether the distorted coefficients (th, tv) point within one degree of the reference's (oh, ov). The comparison is on
 * float-rounded products, as in the reference. */
VMAFGPU__FN int vmafgpu__adm_same_angle(int32_t oh, int32_t ov, int32_t th, int32_t tv) {
    const double cos_1deg_squared = 33544212.0 / 33554432.0;
    const int64_t dot = (int64_t)oh * th + (int64_t)ov * tv;
    if (dot < 0)
        return 0;
    const double d = (double)(float)dot;
    const double o = (double)(float)((int64_t)oh * oh + (int64_t)ov * ov);
    const double t = (double)(float)((int64_t)th * th + (int64_t)tv * tv);
    return d * d >= cos_1deg_squared * o * t;
}

/* The part of t that is o scaled by a factor in 0..1 (before the gain): 0 when the signs differ. The sign of the result
 * is that of o. */
VMAFGPU__FN int32_t vmafgpu__adm_restore(int32_t o, int32_t t) {
    if (o == 0 || t == 0 || (o ^ t) < 0)
        return 0;
    const uint32_t u = (uint32_t)(o < 0 ? -o : o), magnitude = (uint32_t)(t < 0 ? -t : t);
    const int excess = vmafgpu__bit_length(u) - 15;
    const int shift = excess > 0 ? excess : 0;
    const uint32_t divisor = shift ? (u + (1u << (shift - 1))) >> shift : u;
    const int64_t reciprocal = (int64_t)((1u << 30) / divisor);
    const int64_t quotient = (reciprocal * magnitude + ((int64_t)1 << (14 + shift))) >> (15 + shift);
    const int64_t k = quotient < 32768 ? quotient : 32768;
    return (int32_t)((k * o + 16384) >> 15);
}

/* Applies the enhancement gain where the angle flag is set. */
VMAFGPU__FN int32_t vmafgpu__adm_enhance(int32_t r, int32_t o, int32_t t, double gain_limit) {
    const double gained = (double)r * gain_limit, limit = (double)t;
    return (int32_t)(o > 0 ? (gained < limit ? gained : limit) : (gained > limit ? gained : limit));
}

/* |v|; the most negative number stays as it is. */
VMAFGPU__FN int32_t vmafgpu__magnitude(int32_t v) {
    return v < 0 ? (int32_t)(0u - (uint32_t)v) : v;
}

/* One coefficient weighted by the contrast sensitivity: its magnitude, and what it adds to the masking threshold as one of
 * eight neighbours and, beyond that, as the centre; the latter two are summed modulo 2^32. */
typedef struct vmafgpu__adm_weighted {
    int32_t  signal;
    uint32_t side, centre;
} vmafgpu__adm_weighted;

VMAFGPU__FN vmafgpu__adm_weighted vmafgpu__adm_weigh(int scale, int band, uint32_t factor, int32_t value) {
    vmafgpu__adm_weighted out;
    int32_t side, centre;
    if (scale == 0) {
        const int32_t product = (int32_t)factor * value;
        const int32_t weighted = (int16_t)(band < 2 ? (product + 16384) >> 15 : (product + 65535) >> 17);
        const int32_t magnitude = vmafgpu__magnitude(weighted);
        side = (int16_t)((4369 * magnitude + 2048) >> 12);
        centre = (int16_t)((8738 * magnitude + 2048) >> 12);   /* wraps from 15360 on, as the reference does */
        out.signal = vmafgpu__magnitude(product);
    } else {
        /* The reference's rounding constant overflowed to -2^31; it is part of the definition now. */
        const int32_t magnitude = vmafgpu__magnitude((int32_t)(((int64_t)factor * value + 134217728) >> 28));
        side = (int32_t)((143165577 * (int64_t)magnitude - 2147483648LL) >> 32);
        centre = (int32_t)((286331153 * (int64_t)magnitude - 2147483648LL) >> 32);
        out.signal = magnitude;
    }
    out.side = (uint32_t)side;
    out.centre = (uint32_t)centre - (uint32_t)side;
    return out;
}

/* Cube of the masked signal, scaled down. `signal` is |product| at scale 0 and the weighted magnitude at scales 1..3. Strong
 * adm_csf_scale wraps the threshold and the square to 32 bits; so it does in the reference. */
VMAFGPU__FN int64_t vmafgpu__adm_masked_cube(int scale, int band, int32_t signal, uint32_t threshold, int shift) {
    const int threshold_shift = scale ? 0 : band < 2 ? 10 : 12;
    const int square_shift = scale || band == 2 ? 30 : 29;
    const int32_t x = (int32_t)((uint32_t)signal - (threshold << threshold_shift));
    if (x <= 0)
        return 0;
    const int64_t z = (int32_t)(((int64_t)x * x + vmafgpu__half(square_shift)) >> square_shift);
    return (z * x + vmafgpu__half(shift)) >> shift;
}

/* Cube of a reference coefficient, for the denominator. The rounding constant of the square is a whole unit. */
VMAFGPU__FN int64_t vmafgpu__adm_cube(int scale, int32_t o, int shift) {
    const int64_t magnitude = o < 0 ? -(int64_t)o : o;
    if (scale == 0)
        return magnitude * magnitude * magnitude;
    const int square_shift = scale == 2 ? 30 : 31;
    const int64_t z = (magnitude * magnitude + ((int64_t)1 << square_shift)) >> square_shift;
    return (z * magnitude + vmafgpu__half(shift)) >> shift;
}

/* ---- log2 of a double, the same on every backend: +, - and * only, none of them fused; within 0.51 ulp ---- */

enum { VMAFGPU__LOG2_ENTRIES = 64 };

/* Per interval of the significand, those below 1.37 from 1 up, then the upper ones halved: a short factor that brings
 * it to near 1, and minus that factor's logarithm as a sum, its first part in units of 2^-40. The interval around 1
 * has 1 and 0. */
VMAFGPU__TABLE double vmafgpu__log2_table[VMAFGPU__LOG2_ENTRIES][3] = {
    { 1.455078125, -0.5410966153494883, -3.564482218e-14 }, { 1.4375, -0.5235619560571649, 1.520621697e-13 },
    { 1.421875, -0.5077946401988811, 1.848297648e-13 }, { 1.40625, -0.49185309632957797, -9.674511591e-14 },
    { 1.390625, -0.4757334309661019, -2.958771073e-13 }, { 1.376953125, -0.46147944728636503, 2.091283729e-13 },
    { 1.361328125, -0.4450148458681724, -2.506863535e-13 }, { 1.34765625, -0.4304525516654394, -9.201476612e-14 },
    { 1.333984375, -0.41574176828999043, -1.000297100e-13 }, { 1.3203125, -0.4008794362825938, 4.094943282e-13 },
    { 1.306640625, -0.3858624006415994, 1.384645276e-13 }, { 1.29296875, -0.37068740680751944, 3.017396687e-13 },
    { 1.279296875, -0.35535109642478346, -2.916329807e-14 }, { 1.267578125, -0.34207466799944086, 3.023473248e-13 },
    { 1.255859375, -0.3286749273283931, 4.457781492e-13 }, { 1.2421875, -0.31288295528429444, -6.092125481e-14 },
    { 1.23046875, -0.2992080183876169, 3.380848357e-13 }, { 1.21875, -0.2854022188621457, -1.026683669e-13 },
    { 1.20703125, -0.2714630279042467, -1.278615870e-13 }, { 1.1953125, -0.2573878426928786, 2.268500032e-13 },
    { 1.185546875, -0.24555270625569392, 1.184199987e-14 }, { 1.173828125, -0.23122118071114528, -4.015537901e-14 },
    { 1.1640625, -0.21916852046251734, 3.557639335e-13 }, { 1.15234375, -0.20457114424880274, -4.008679479e-13 },
    { 1.142578125, -0.19229281447042013, -3.467453027e-13 }, { 1.1328125, -0.17990909001491673, -1.774033941e-14 },
    { 1.123046875, -0.1674181458320163, 2.787393602e-13 }, { 1.11328125, -0.1548181090520302, -7.382810116e-14 },
    { 1.103515625, -0.1421070573023826, -1.674561608e-13 }, { 1.09375, -0.12928301694500988, 4.342119598e-14 },
    { 1.083984375, -0.11634396123736224, -1.060744660e-13 }, { 1.076171875, -0.10590850857079204, -3.655774509e-13 },
    { 1.06640625, -0.09275714092018461, 3.321615847e-13 }, { 1.05859375, -0.08214904135365941, -2.121474084e-13 },
    { 1.048828125, -0.06877827798507496, -3.376407278e-13 }, { 1.041015625, -0.05799172275874298, -4.328729038e-13 },
    { 1.033203125, -0.04712391211432987, 3.041243393e-13 }, { 1.0234375, -0.033423001537812524, 3.622454576e-13 },
    { 1.015625, -0.022367813028722594, 2.680857593e-13 }, { 1.0078125, -0.011227255423364113, 1.099927471e-13 },
    { 1.0, 0.0, 0.0 }, { 0.984375, 0.02272007650026353, -1.800011105e-13 },
    { 0.96875, 0.04580368961342174, -2.969474195e-13 }, { 0.955078125, 0.06630934504755714, 2.091215567e-13 },
    { 0.94140625, 0.08711066376963572, 4.026599065e-13 }, { 0.927734375, 0.10821629678139288, 2.969260251e-13 },
    { 0.9140625, 0.1296352804165508, 4.466345292e-14 }, { 0.90234375, 0.14825095858395798, -1.552641331e-14 },
    { 0.888671875, 0.17027726491414796, -2.065789908e-13 }, { 0.876953125, 0.18942836525911844, -2.653787780e-13 },
    { 0.865234375, 0.20883711144506378, -8.209028020e-14 }, { 0.853515625, 0.22851053049907932, 3.223110043e-13 },
    { 0.841796875, 0.24845594091129897, -3.971029533e-13 }, { 0.83203125, 0.265290379774342, -1.802428793e-13 },
    { 0.8203125, 0.2857544823336866, 1.907530158e-13 }, { 0.810546875, 0.3030324737655974, 1.155080874e-13 },
    { 0.80078125, 0.32051990049421875, 3.352132292e-13 }, { 0.791015625, 0.338221902227815, 1.979185238e-13 },
    { 0.78125, 0.3561438102251486, 1.266771905e-13 }, { 0.771484375, 0.37429115693521453, 3.201970258e-13 },
    { 0.76171875, 0.3926696862499739, 4.154175792e-13 }, { 0.75390625, 0.4075429627318954, 2.419412132e-14 },
    { 0.744140625, 0.4263528125065932, 8.478351459e-14 }, { 0.736328125, 0.44157928673121205, 1.236682294e-13 }
};

/* Bits of a double and back; devices bring their own. */
#ifndef VMAFGPU__BITS_OF
VMAFGPU__FN uint64_t vmafgpu__bits_of(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

VMAFGPU__FN double vmafgpu__double_of(uint64_t bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
#  define VMAFGPU__BITS_OF(v) vmafgpu__bits_of(v)
#  define VMAFGPU__DOUBLE_OF(bits) vmafgpu__double_of(bits)
#endif

/* `table` is vmafgpu__log2_table or a copy of it. Negative numbers give a NaN, 0 gives minus infinity.
 *
 * v = 2^exponent * m, and m * factor = 1 + r with |r| < 0.0086. The products below are exact where both sides have been
 * cut to 26 bits, and so are the sums of what cutting has left. What is no positive number is sorted out at the end, so
 * that several logarithms may be on their way at once. */
VMAFGPU__FN double vmafgpu__log2(double v, const double (*table)[3]) {
    const uint64_t start = 0x3fe5e00000000000u, cut = ~(uint64_t)0 << 27, infinity = 0x7ff0000000000000u;
    const double whole = 1.4426950216293335, rest = 1.9259629911266175e-08;   /* their sum: 1 / ln(2) */
    const int is_small = v < 2.2250738585072014e-308;   /* less than 2^-1022 */
    const uint64_t given = VMAFGPU__BITS_OF(v);
    uint64_t bits = is_small ? VMAFGPU__BITS_OF(v * 18014398509481984.0) : given;   /* 2^54 */
    const uint64_t offset = bits - start;
    const double *entry = table[offset >> 46 & (VMAFGPU__LOG2_ENTRIES - 1)];
    const int exponent = (int)((int64_t)offset >> 52) - (is_small ? 54 : 0);
    bits -= offset & (uint64_t)0xfff << 52;

    const double m = VMAFGPU__DOUBLE_OF(bits), high = VMAFGPU__DOUBLE_OF(bits & cut), factor = entry[0];
    const double first = high * factor - 1, beside = (m - high) * factor;
    const double r = first + beside, lost = beside - (r - first);
    const double r_high = VMAFGPU__DOUBLE_OF(VMAFGPU__BITS_OF(r) & cut), r_low = r - r_high;

    double tail = 0.1602994489876626;   /* (-1)^(k + 1) / (k * ln(2)), k = 9 ... 2 */
    tail = tail * r - 0.18033688011112042;
    tail = tail * r + 0.2060992915555662;
    tail = tail * r - 0.2404491734814939;
    tail = tail * r + 0.28853900817779266;
    tail = tail * r - 0.36067376022224085;
    tail = tail * r + 0.4808983469629878;
    tail = tail * r - 0.7213475204444817;
    tail = tail * (r * r);

    const double base = exponent + entry[1], linear = r_high * whole;
    const double sum = base + linear, rounded_off = linear - (sum - base);
    const double value = sum + (rounded_off + (r_low * whole + (r * rest + (lost * whole + entry[2])) + tail));
    return v > 0 && given < infinity ? value
           : v == 0                  ? VMAFGPU__DOUBLE_OF(infinity | (uint64_t)1 << 63)
           : v < 0                   ? VMAFGPU__DOUBLE_OF(0x7ff8000000000000u)
                                     : v;
}

/* ---- SpEED ---- */

/* The weights of two entropies, from the variances. Where both variances enter, the sum is taken in double precision,
 * else in float. */
VMAFGPU__FN void vmafgpu__speed_weights(int mode, float reference, float distorted, const double (*table)[3], double *r,
                                        double *d) {
    const double own_r = (double)(1 + reference), own_d = (double)(1 + distorted);
    const double mean = 1 + (double)(reference + distorted) / 2.0;
    const double of_r = mode == 2 ? own_d : mode == 3 ? mean : own_r;
    const double of_d = mode == 0 || mode == 2   ? own_d
                        : mode == 1              ? own_r
                        : mode == 3 || mode == 4 ? mean
                        : mode == 5              ? 1 + (0.75 * (double)reference + 0.25 * (double)distorted)
                                                 : 1 + (0.25 * (double)reference + 0.75 * (double)distorted);
    *r = vmafgpu__log2(of_r, table);
    *d = vmafgpu__log2(of_d, table);
}

/* ================================================================================================
 * >>sums                                         what a backend delivers for a frame pair
 * ================================================================================================
 * A variant is a set of options that changes sums; options that act on sums later (weights, clips) make none.
 */
enum { VMAFGPU__MAX_VARIANTS = 8 };

typedef struct vmafgpu__vif_sums {
    int64_t numerator[VMAFGPU__MAX_VARIANTS];   /* sum of log2(n2 / n1), times 2048 */
    int64_t denominator;                        /* sum of log2(1 + s1 / noise), times 2048 */
    int64_t flat_noise;                         /* sum of s2 where s1 is below the noise */
    int64_t flat_count;                         /* number of those samples */
} vmafgpu__vif_sums;

typedef struct vmafgpu__adm_sums {
    int64_t denominator[VMAFGPU__BANDS];
    int64_t numerator[VMAFGPU__MAX_VARIANTS][VMAFGPU__BANDS];
    int64_t impairment[VMAFGPU__MAX_VARIANTS][VMAFGPU__BANDS];   /* of aim, the additive impairment measure */
} vmafgpu__adm_sums;

enum { VMAFGPU__CAMBI_SCALES = 5, VMAFGPU__CAMBI_CONTRASTS = 32 };

/* Per scale the sum of the largest c-values, in units of 2^-24, of which all are multiples: [0] of the distorted frame,
 * [1] of the reference. */
typedef struct vmafgpu__cambi_sums {
    int64_t top[2][VMAFGPU__CAMBI_SCALES];
} vmafgpu__cambi_sums;

/* Scores of the chroma planes. The only float product of a backend; the order of its operations is part of it. */
typedef struct vmafgpu__speed_sums {
    float   score[2];                           /* u, v */
    int32_t singular[2];                        /* no score: a covariance matrix has no inverse */
} vmafgpu__speed_sums;

typedef struct vmafgpu__sums {
    int64_t             motion[2];              /* against the previous frame, and the one before it */
    vmafgpu__vif_sums   vif[VMAFGPU__SCALES];
    vmafgpu__adm_sums   adm[VMAFGPU__SCALES];
    vmafgpu__cambi_sums cambi[VMAFGPU__MAX_VARIANTS];
    vmafgpu__speed_sums speed[VMAFGPU__MAX_VARIANTS];
} vmafgpu__sums;

/* What a backend is asked to compute; fixed at open. */
typedef struct vmafgpu__adm_variant {
    double   gain_limit;
    uint32_t factor[VMAFGPU__SCALES][2];        /* contrast sensitivity in fixed point: h and v, d */
} vmafgpu__adm_variant;

/* The picture that CAMBI looks at: the distorted frame as it was encoded, or the reference as it was before that. */
typedef struct vmafgpu__cambi_picture {
    int width, height;
    int window;                                 /* side of the window in which values are counted; odd */
    int mask_threshold;                         /* of 49 neighbours more than this must be flat */
} vmafgpu__cambi_picture;

typedef struct vmafgpu__cambi_variant {
    vmafgpu__cambi_picture picture[2];          /* distorted, reference */
    int    pictures;                            /* 2: the reference is looked at, too */
    int    halved;                              /* scale 0 has half the size already */
    int    softened;                            /* averages of 2x2 samples undo dither */
    int    contrasts;                           /* differences of 1..contrasts count */
    int    limit[VMAFGPU__CAMBI_CONTRASTS];     /* largest sample at which a difference of i + 1 is visible */
    int    floor;                               /* samples below are too dark, or 0 */
    int    base, bins;                          /* first value that is ever counted, and how many there are */
    double topk;                                /* fraction of a scale's c-values that is summed */
} vmafgpu__cambi_variant;

enum { VMAFGPU__SPEED_BLOCK = 5, VMAFGPU__SPEED_SHIFT = 4, VMAFGPU__SPEED_TAPS = 37, VMAFGPU__SPEED_LOCAL_TAPS = 9 };

typedef struct vmafgpu__speed_variant {
    int    width, height;                       /* of a chroma plane */
    int    scaled_width, scaled_height;         /* after the prescale */
    int    resampled, method;                   /* whether there is one, and which */
    int    columns, rows;                       /* of the plane after the low-pass: a sixteenth */
    int    blocks_across, blocks_down;
    int    reach, local_reach;                  /* taps on either side of the centre */
    float  taps[VMAFGPU__SPEED_TAPS];           /* of the low-pass */
    float  local_taps[VMAFGPU__SPEED_LOCAL_TAPS];  /* of the local mean */
    float  noise;                               /* sigma of the neural noise */
    float  base;                                /* entropy of noise alone */
    int    weighting;
} vmafgpu__speed_variant;

typedef struct vmafgpu__plan {
    int motion[2];                              /* which sums of motion are needed */
    int vif_variants, adm_variants;
    int cambi_variants, speed_variants;
    int vif_skips_scale_0;                      /* nobody wants its sums */
    double vif_gain_limit[VMAFGPU__MAX_VARIANTS];
    vmafgpu__adm_variant adm[VMAFGPU__MAX_VARIANTS];
    vmafgpu__cambi_variant cambi[VMAFGPU__MAX_VARIANTS];
    vmafgpu__speed_variant speed[VMAFGPU__MAX_VARIANTS];
} vmafgpu__plan;

/* ================================================================================================
 * >>launch                                       what the host tells a GPU kernel
 * ================================================================================================
 * Each kernel takes one of these structs by value. Pointers are device addresses; pitches are in bytes, counted from
 * the top row, and may be negative. A launch covers the pairs of a batch, which share everything but their frames and
 * sums.
 */
enum { VMAFGPU__MAX_BATCH = 32 };

/* Luma of one pair. Planes start at multiples of 16 bytes, pitches are multiples of 16, rows are whole 4-byte words,
 * samples lie in the low bits and fit the bit depth: one byte each at 8 bits, two beyond. What is not so is imported
 * into planes that are. */
typedef struct vmafgpu__gpu_pair {
    const void *reference, *distorted;      /* distorted NULL: only motion is wanted */
    const void *before[2];                  /* reference frames one and two before; NULL: there is none, or it is not
                                               wanted */
    int32_t     reference_pitch, distorted_pitch;
    int32_t     before_pitch[2];
} vmafgpu__gpu_pair;

/* Chroma of one pair, [reference, distorted][u, v], as the caller laid it out: first samples at any address, and pitches.
 * Bytes per sample, how far samples are apart and whether they lie in the high bits is the same for all. */
typedef struct vmafgpu__gpu_chroma {
    const void *plane[2][2];                /* NULL where only motion is wanted */
    int64_t     pitch[2][2];
} vmafgpu__gpu_chroma;

typedef struct vmafgpu__batch {
    vmafgpu__sums    *sums;                 /* [pairs], cleared before the first launch */
    int32_t           pairs;
    int32_t           width, height;        /* luma */
    int32_t           bit_depth;
    vmafgpu__gpu_pair pair[VMAFGPU__MAX_BATCH];
} vmafgpu__batch;

/* Grid, threads of a block and bytes of shared memory of a launch. */
typedef struct vmafgpu__shape { uint32_t grid[3], threads, shared; } vmafgpu__shape;

/* Planes to be read before the batch: to be written canonical, to be checked, or both. One block covers 8 rows. */
enum { VMAFGPU__MAX_IMPORTS = 2 * VMAFGPU__MAX_BATCH + 2, VMAFGPU__IMPORT_THREADS = 256, VMAFGPU__IMPORT_ROWS = 8 };

typedef struct vmafgpu__import_item {
    const void *source;
    void       *target;                     /* NULL: only check */
    int64_t     source_pitch;
    int32_t     source_bytes;               /* per sample */
    int32_t     shift;                      /* of samples that lie in the high bits */
    uint32_t    illegal;                    /* bits to set in illegal[pair] if a sample does not fit the bit depth; 0:
                                               no check */
    int32_t     pair;
} vmafgpu__import_item;

typedef struct vmafgpu__import_launch {
    uint32_t *illegal;                      /* [pairs] */
    int32_t   width, height, bit_depth;
    int32_t   target_pitch, target_bytes;
    int32_t   count;
    vmafgpu__import_item items[VMAFGPU__MAX_IMPORTS];
} vmafgpu__import_launch;

/* ---- motion ---- */

enum {
    VMAFGPU__MOTION_THREADS = 256,       /* plain form */
    VMAFGPU__MOTION_TILE_WIDTH = 128, VMAFGPU__MOTION_TILE_HEIGHT = 32,
    VMAFGPU__MOTION_STRIDE = VMAFGPU__MOTION_TILE_WIDTH + 8,
    VMAFGPU__MOTION_MATRIX_WARPS_8 = 8, VMAFGPU__MOTION_MATRIX_WARPS_12 = 4,   /* each has 8 rows */
    VMAFGPU__MOTION_MATRIX_WIDTH = 112,  /* columns of a tile that are summed; 128 are read */
    VMAFGPU__MOTION_MATRIX_MARGIN = 8    /* bytes that part the rows in shared memory */
};

typedef struct vmafgpu__motion_launch {
    vmafgpu__batch batch;
    const void    *fragments;            /* matrix form: tap matrices */
    int32_t both, only; /* whether both of pair.before are wanted (block z is 2 * pair + which), else the wanted one */
} vmafgpu__motion_launch;

/* ---- VIF ---- */

enum {
    VMAFGPU__VIF_PLAIN_THREADS = 256,
    VMAFGPU__VIF_TILE_WIDTH = 64,
    VMAFGPU__VIF_TILE_HEIGHT = 32,
    VMAFGPU__VIF_TILE_STRIDE = 84,       /* words from row to row in shared memory: 4 times an odd number */
    VMAFGPU__VIF_LOG_TABLE = 32768, /* bytes */
    /* Matrix form: warps of a block, as many as shared memory and registers allow; fewer where shared memory is
     * short. */
    VMAFGPU__VIF_WARPS_0_8 = 12,
    VMAFGPU__VIF_WARPS_0_16 = 8,
    VMAFGPU__VIF_WARPS = 11,
    VMAFGPU__VIF_VARIANCES = 3 * 1024,
    VMAFGPU__VIF_DIGITS = 36 * 256, /* matrix form: bytes of shared memory of a warp */
    VMAFGPU__VIF_INPUT_ROWS = 2 * 32,
    VMAFGPU__VIF_INPUT_MARGIN = 8,
    VMAFGPU__VIF_FRAGMENTS = 3 * 3 * 128, /* words of a scale's tap matrices */
    VMAFGPU__MOTION_FRAGMENTS = 5 * 128,
    VMAFGPU__VIF_ROUNDING = 32 /* bytes of shared memory, after the matrices */
};

/* A gain limit as the statistics without doubles compare and apply it. */
typedef struct vmafgpu__vif_gain {
    double   limit;
    uint64_t square;                     /* limit^2 in units of 2^-50, rounded down */
    uint32_t fixed;                      /* limit in units of 2^-24, rounded down */
    float    low;                        /* surely below the limit */
} vmafgpu__vif_gain;

/* One scale of one variant. */
typedef struct vmafgpu__vif_launch {
    vmafgpu__batch    batch;
    unsigned char    *scratch;           /* of the first pair; those of the others follow */
    uint64_t          scratch_size;      /* per pair */
    uint64_t input[2]; /* in the scratch: images of this scale, reference and distorted; not used at scale 0 */
    uint64_t          output[2];         /* in the scratch: images of the next scale; not used at scale 3 */
    int32_t           input_pitch, output_pitch;
    int32_t           width, height;     /* of this scale's images */
    const void       *log_table;
    const void       *fragments;         /* matrix form: tap matrices of this scale */
    uint32_t *illegal; /* [pairs]; scale 0 above 8 bits sets bit 0 (reference), bit 1 (distorted); NULL: no check */
    uint32_t          illegal_bits;      /* what must not be set in a word of two samples */
    vmafgpu__vif_gain gain;
    int32_t           mean_shift, square_shift;   /* of the vertical pass */
    int32_t           mean_half, square_half;     /* half of what they drop */
    int32_t           square_factor;              /* 2^(16 - square_shift) */
    int32_t           scale;
    int32_t variant, first; /* the first variant also makes what variants share, and the next scale's images */
    int32_t           images_only;       /* no sums */
    int32_t           strip_steps;       /* matrix form: 16 columns each; length of a warp's strip */
    int32_t           strips;            /* matrix form: side by side in an image */
} vmafgpu__vif_launch;

/* ---- ADM ---- */

/* Band columns of a tile: what a warp walks along. A tile has as many band rows as the warp has lanes, two of them
 * only for their neighbours. Wider tiles repeat less work at their sides, narrower ones are more in number and need
 * less shared memory; with 64 lanes a column of the tile takes twice the memory. Multiples of four; above 12 columns
 * the kernels carry more sums. */
enum {
    VMAFGPU__ADM_THREADS = 128,          /* of a block; each warp has its own tile */
    VMAFGPU__ADM_ROW_THREADS = 256,      /* of a block of the row kernel */
    VMAFGPU__ADM_ROW_SUMS = 9,           /* of a row: numerator, impairment, denominator, three bands each */
    VMAFGPU__ADM_WIDTH_0_8 = 28, VMAFGPU__ADM_WIDTH_0_16 = 12, VMAFGPU__ADM_WIDTH_1 = 12, VMAFGPU__ADM_WIDTH_2 = 4,
    VMAFGPU__ADM_WIDTH_3 = 4,
    VMAFGPU__ADM_WIDTH_0_8_WAVE64 = 12   /* instead of 28 with 64 lanes */
};

/* The tiles of a scale. Those with pixels inside the border come first: they take four times as long as the others,
 * which only pass the low-pass band on. */
typedef struct vmafgpu__adm_tiles {
    int32_t x, y;                        /* band position of the first tile; may be negative */
    int32_t columns, rows;
    int32_t inner_x, inner_y;            /* in tiles: the rectangle that comes first */
    int32_t inner_columns, inner_rows;
    int32_t count;                       /* of tiles to do: all, or those inside only */
} vmafgpu__adm_tiles;

/* What 64-bit multiplications start from. As literals they would cost an addition of their zero half at each use. */
typedef struct vmafgpu__adm_addends {
    int64_t  vertical, horizontal;       /* half units of the wavelet's shifts at scales 2 and 3, and 1 to 3 */
    uint64_t square[2],
        den_square; /* of the masked square (at scale 0 one for h and v, one for d), and the denominator's */
    uint64_t weight, side;               /* scales 1 to 3: of the weighted value, and its shares of the threshold */
} vmafgpu__adm_addends;

/* Constants of the fast form; both forms use the addends of the wavelet. The pairs are for the bands h and v, and
 * for d. */
typedef struct vmafgpu__adm_fast {
    float    gain;                       /* the gain limit, an integer */
    uint32_t whole_gain;
    uint32_t gain_reach;                 /* the largest number that times the gain limit fits 32 bits */
    float    factor[2];                  /* scale 0: contrast sensitivity in units of the weighted value */
    uint32_t factor_bias[2];             /* scale 0: minus factor times the bits of 2^23 as a float */
    float    plain_limit;                /* scale 0: squared length of the coefficients up to which floats are exact */
    float    upper;                      /* scale 0: 2^23 + 2^15 */
    uint32_t mask[2];                    /* the bits that the shift per sample drops, in both halves of the word */
    uint32_t half[2];                    /* half the unit of that shift */
    uint32_t den_mask, den_half;
    vmafgpu__adm_addends addends;
} vmafgpu__adm_fast;

/* One scale of one variant. */
typedef struct vmafgpu__adm_launch {
    vmafgpu__batch        batch;
    unsigned char        *scratch;       /* of the first pair; those of the others follow */
    uint64_t              scratch_size;  /* per pair */
    uint64_t input[2]; /* in the scratch: low-pass band of the scale before, reference and distorted */
    uint64_t              output[2];     /* in the scratch: low-pass band of this scale */
    uint64_t              row_sums;      /* in the scratch: [VMAFGPU__ADM_ROW_SUMS][h] of this scale */
    double                gain_limit;
    int32_t               first;         /* the first variant also makes denominators and low-pass bands */
    int32_t               input_pitch, output_pitch;
    int32_t               input_width, input_height;
    uint32_t              factor[2];
    vmafgpu__adm_geometry geometry;
    vmafgpu__adm_tiles    tiles;
    vmafgpu__adm_fast     fast;
} vmafgpu__adm_launch;

/* The row sums of all scales of one variant. */
typedef struct vmafgpu__adm_rows_launch {
    vmafgpu__batch batch;
    unsigned char *scratch;
    uint64_t       scratch_size;
    uint64_t       row_sums[VMAFGPU__SCALES];
    int32_t        rows[VMAFGPU__SCALES];
    int32_t        row_shift[VMAFGPU__SCALES], den_row_shift[VMAFGPU__SCALES];
    int32_t        variant, first;
} vmafgpu__adm_rows_launch;

/* ---- CAMBI ---- */

enum {
    VMAFGPU__CAMBI_PREPARE_THREADS = 256,
    VMAFGPU__CAMBI_TILE_WIDTH = 128, VMAFGPU__CAMBI_TILE_HEIGHT = 32,   /* of the picture */
    VMAFGPU__CAMBI_TILE_MARGIN = 8, VMAFGPU__CAMBI_TILE_REACH = 3,      /* columns on either side; rows */
    VMAFGPU__CAMBI_SHRINK_THREADS = 512,
    VMAFGPU__CAMBI_SHRINK_TILE = 64,     /* side, at scale 1; an eighth of it at scale 4 */
    VMAFGPU__CAMBI_SHRINK_SIDE = 88,     /* with what is around it */
    VMAFGPU__CAMBI_COUNT_WIDTH = 64,     /* columns of a strip */
    VMAFGPU__CAMBI_COUNT_ROWS = 32,      /* at most, of a block */
    VMAFGPU__CAMBI_COUNT_THREADS = VMAFGPU__CAMBI_COUNT_WIDTH,
    VMAFGPU__CAMBI_COUNT_SHARED = 32 * 1024,
    VMAFGPU__CAMBI_COUNT_HEAD = 16,      /* bytes of shared memory before the histograms */
    VMAFGPU__CAMBI_RANGE_OF_FOUR = 172,  /* with four contrasts: codes that are looked at in one go... */
    VMAFGPU__CAMBI_CELL_OF_FOUR = 180,   /* ...and bytes of their histogram */
    VMAFGPU__CAMBI_NARROW = 42,          /* largest window where three cells of two columns fit a byte */
    VMAFGPU__CAMBI_SELECT_THREADS = 256,
    VMAFGPU__CAMBI_SELECT_ROWS = 4,      /* of a block */
    VMAFGPU__CAMBI_SELECT_PASSES = 3,
    VMAFGPU__CAMBI_SELECT_BITS = 9,      /* that a pass finds */
    VMAFGPU__CAMBI_SELECT_BINS = 512,
    VMAFGPU__CAMBI_ORDER_THREADS = 1024,
    VMAFGPU__CAMBI_ORDER_RUN = 8,        /* values of a thread at a time */
    VMAFGPU__CAMBI_ORDER_SMALL = 1024,   /* values of which one thread makes an end */
    VMAFGPU__CAMBI_ORDER_HEAD = 256      /* bytes of shared memory, for the warps */
};

/* One scale. Samples are words of 16 bits, the highest of which marks the sample; a row's last pair of words is whole.
 * C-values are floats, [height][width]: only those of marked samples in the launch's range are there. */
typedef struct vmafgpu__cambi_plane {
    uint64_t samples, values;            /* in the scratch */
    int64_t  top;                        /* how many of the largest c-values are summed */
    int32_t  width, height, pitch;
    int32_t  rows, strips;               /* of a block of the count, and how many blocks lie side by side */
    int32_t  first_block, first_part;    /* blocks of the count and of the selection */
} vmafgpu__cambi_plane;

/* One picture of one variant; all its launches. */
typedef struct vmafgpu__cambi_launch {
    vmafgpu__batch  batch;
    unsigned char  *scratch;             /* of the first pair; those of the others follow */
    uint64_t        scratch_size;        /* per pair */
    uint64_t        found;               /* in the scratch: [scale] how many c-values are above 0, 64 bits */
    uint64_t        histograms;          /* in the scratch: [scale][pass][bin], 32 bits */
    uint32_t        cleared;             /* bytes from `found` on, a multiple of 16 */
    uint32_t        prepare_columns, prepare_blocks;
    const int32_t  *source_column, *source_row;   /* where samples come from; NULL: from the same place */
    const uint32_t *reciprocal;          /* floats */
    const uint8_t  *weights;             /* [code][contrast] */
    int32_t         variant, image;      /* 0: distorted, 1: reference */
    int32_t         width, height;       /* of the picture */
    int32_t         up, half, down;      /* shifts to 10 bits */
    int32_t         softened, halved, mask_threshold;
    int32_t         base;                /* code 0 */
    int32_t         low, centres;        /* codes whose c-values can be above 0 */
    int32_t         contrasts, reach;    /* of the window */
    int32_t         range;               /* codes that are looked at in one go */
    int32_t         cell;                /* bytes of their histogram: four times an odd number */
    int32_t         pass;                /* of the selection */
    vmafgpu__cambi_plane scale[VMAFGPU__CAMBI_SCALES];
} vmafgpu__cambi_launch;

/* ---- SpEED ---- */

/* One variant: planes of a sixteenth, planes without the local mean and their means, covariances, eigenvalues and
 * solution, entropies, score. */
enum {
    VMAFGPU__SPEED_LOW_THREADS = 128, VMAFGPU__SPEED_LOW_COLUMNS = 128,  /* columns of a block at most */
    VMAFGPU__SPEED_WIDE_REACH = 4,
    VMAFGPU__SPEED_CHECK_THREADS = 256,
    VMAFGPU__SPEED_FLAT_THREADS = 256,
    VMAFGPU__SPEED_FLAT_BAND = 20480,        /* bytes of shared memory for a band of rows, unless one row takes more */
    VMAFGPU__SPEED_FLAT_AT_ONCE = 32,        /* samples; so many are read beyond a row */
    VMAFGPU__SPEED_COVARIANCE_THREADS = 128,
    VMAFGPU__SPEED_DISTANCES = 42,           /* of two places in a block, the other one below or right; none */
    VMAFGPU__SPEED_CHUNK = 1024,             /* columns that are summed before they are added up, at most */
    VMAFGPU__SPEED_MATRIX_THREADS = 320,     /* 5 groups of 64 columns, 5 rows each */
    VMAFGPU__SPEED_MATRIX_SHARED = 17408,    /* bytes */
    VMAFGPU__SPEED_QR_STEPS = 500,
    VMAFGPU__SPEED_ENTROPY_BLOCKS = 64, VMAFGPU__SPEED_ENTROPY_THREADS = 320,   /* 5 for each block of the plane */
    VMAFGPU__SPEED_ENTROPY_SHARED = 28672,   /* bytes */
    VMAFGPU__SPEED_SCORE_THREADS = 256
};

/* Places in a pair's scratch, in floats; each thing is there for four planes, u and v of the reference and of the
 * distorted frame in turn, that far apart. */
typedef struct vmafgpu__speed_part { uint32_t first, next; } vmafgpu__speed_part;

typedef struct vmafgpu__speed_scratch {
    uint64_t size;                          /* in bytes */
    vmafgpu__speed_part low, flat, means;
    vmafgpu__speed_part sums;               /* doubles, for each distance and each place */
    vmafgpu__speed_part eigenvalues, q, r;  /* behind the eigenvalues: whether one is not positive; behind q: whether
                                               one of r's diagonal is 0 */
    vmafgpu__speed_part variance, entropy;
} vmafgpu__speed_scratch;

/* Where the samples are, and how the prescale and the low-pass read them. */
typedef struct vmafgpu__speed_low_launch {
    float                 *scratch;         /* of the first pair */
    vmafgpu__speed_scratch layout;
    uint32_t              *illegal;         /* [pairs] */
    const uint64_t        *columns, *rows;  /* per sample after the prescale `sources` entries: index, and the bits of
                                               a float above; NULL: there is no prescale */
    int32_t sources, has_weights;           /* has_weights: the weights do not sum to 1 */
    int32_t width, height;                  /* of the plane */
    int32_t scaled_width, scaled_height;
    int32_t low_columns, block_columns, reach;
    int32_t bytes, step, shift;             /* of a sample; from one to the next */
    uint32_t mask;                          /* bits of a word that are not 0 in an illegal one */
    float   unit;
    float   taps[VMAFGPU__SPEED_TAPS];
    vmafgpu__gpu_chroma chroma[VMAFGPU__MAX_BATCH];
} vmafgpu__speed_low_launch;

/* Whether a plane's low-pass is the usual one, and its rows may be read eight samples at a time. */
VMAFGPU__FN int vmafgpu__speed_is_wide(const vmafgpu__speed_low_launch *launch, const void *data, int64_t pitch) {
    const uint64_t step = (uint64_t)launch->step, start = (uint64_t)(uintptr_t)data / step * step;
    return !launch->columns && launch->reach == VMAFGPU__SPEED_WIDE_REACH &&
           (start | (uint64_t)pitch) % (step == 1 ? 8 : 16) == 0 && (uintptr_t)data % (uintptr_t)launch->bytes == 0;
}

/* All that comes later. */
typedef struct vmafgpu__speed_launch {
    float                 *scratch;
    vmafgpu__speed_scratch layout;
    vmafgpu__sums         *sums;            /* [pairs] */
    uint32_t pairs;                         /* bit set: the pair has a distorted frame */
    int32_t  variant;
    int32_t  columns, rows, blocks_across, blocks_down;
    int32_t  band_rows;                     /* that flat makes and sums at a time */
    int32_t  chunk_columns;                 /* that covariance sums at a time */
    int32_t  local_reach;
    float    local_taps[VMAFGPU__SPEED_LOCAL_TAPS];
    float    noise, base;
    int32_t  weighting;
    const void *log_table;                  /* vmafgpu__log2_table */
} vmafgpu__speed_launch;

#ifndef VMAFGPU_KERNELS

/* ================================================================================================
 * >>context                                      the types of the engine
 * ================================================================================================ */
enum {
    VMAFGPU__MAX_MODELS = 16,
    VMAFGPU__MAX_FEATURE_CONFIGS = 32,
    VMAFGPU__MAX_EXTRACTORS = 64,
    VMAFGPU__MAX_OPTIONS = 20,
    VMAFGPU__MAX_THREADS = 256,
    VMAFGPU__MAX_DISTORTED = 16,       /* of vmafgpu_push_many() at once */
    VMAFGPU__MAX_QUEUE = 8,            /* of batches on a GPU */
    VMAFGPU__NAME_SIZE = 256,
    VMAFGPU__ERROR_SIZE = 512,
    VMAFGPU__FIRST_CHUNK_ROWS = 64,    /* rows of the score list come in chunks, each twice the one before */
    VMAFGPU__MAX_CHUNKS = 32
};

typedef enum vmafgpu__kind {
    VMAFGPU__ADM = 0, VMAFGPU__VIF, VMAFGPU__MOTION, VMAFGPU__CAMBI, VMAFGPU__SPEED, VMAFGPU__KINDS
} vmafgpu__kind;

/* The temporal part of one motion extractor: takes the SAD scores in frame order, gives motion2 and motion3. Positions
 * count from the first frame known, seeds included. */
typedef struct vmafgpu__motion {
    int64_t count;                     /* SAD scores taken */
    int64_t emitted;                   /* positions given */
    double  sad[8];                    /* the latest, by position modulo 8 */
    double  previous;                  /* motion3 of the position before, without the moving average */
} vmafgpu__motion;

/* One extractor: a kind of feature with its options. */
typedef struct vmafgpu__extractor {
    vmafgpu__kind   kind;
    double          option[VMAFGPU__MAX_OPTIONS];
    char            suffix[VMAFGPU__NAME_SIZE];
    int             columns;           /* written when a frame's sums arrive: their first column... */
    int             late_columns;      /* ...and those that wait for the next frame */
    int             variant;           /* of the backend's sums */
    float           csf[VMAFGPU__SCALES][2];   /* contrast sensitivity of ADM: h and v, d */
    vmafgpu__motion motion;
} vmafgpu__extractor;

typedef struct vmafgpu__model_use {
    const vmafgpu_model *model;
    int  disable_clip, enable_transform;
    char name[VMAFGPU__NAME_SIZE];
    int *inputs;                       /* per SVM and feature the column it reads */
    int  input_count;
    int  column;                       /* of the score */
    int  more_columns;                 /* first of a bootstrap model's other outputs */
} vmafgpu__model_use;

/* Luma as the kernels read it: 16-bit samples in the low bits, rows padded. */
typedef struct vmafgpu__plane {
    uint16_t *data;
    ptrdiff_t stride;                  /* in samples */
} vmafgpu__plane;

typedef struct vmafgpu__job {
    const vmafgpu_frame *reference;
    const vmafgpu_frame *distorted;    /* NULL: only motion is wanted */
    const vmafgpu_frame *previous;     /* instead of the history, which then stays as it is */
    int detached;                      /* the history stays as it is, and there is none without `previous` */
    int history;                       /* how many frames before this one the backend has seen, 0..2 */
    int canonical[2];                  /* whether reference and distorted are checked already: bytes at 8 bits, else
                                          words with samples in the low bits */
} vmafgpu__job;

/* What collect() does when the sums are not there yet: looks only when it is likely to be worth it, looks, waits. */
typedef enum vmafgpu__patience { VMAFGPU__GLANCE, VMAFGPU__LOOK, VMAFGPU__WAIT } vmafgpu__patience;

/* What every backend implements. submit() takes a pair, or says what is wrong with it and takes nothing (VMAFGPU_AGAIN:
 * what it has taken before must be collected first, which is possible at once); collect()
 * gives the sums of the oldest pair submitted and not collected, or its failure; unless it waits it may say
 * VMAFGPU_AGAIN. single() does one detached job at once, whatever is on its way. */
typedef struct vmafgpu__backend_table {
    const char *name;
    vmafgpu_result (*open)(vmafgpu *v);
    vmafgpu_result (*submit)(vmafgpu *v, const vmafgpu__job *job);
    vmafgpu_result (*collect)(vmafgpu *v, vmafgpu__patience patience, vmafgpu__sums *sums);
    vmafgpu_result (*single)(vmafgpu *v, const vmafgpu__job *job, vmafgpu__sums *sums);
    void           (*reset)(vmafgpu *v);
    void           (*close)(vmafgpu *v);
} vmafgpu__backend_table;

typedef struct vmafgpu__cpu vmafgpu__cpu;
typedef struct vmafgpu__gpu vmafgpu__gpu;
typedef struct vmafgpu__threads vmafgpu__threads;
typedef struct vmafgpu__cambi vmafgpu__cambi;
typedef struct vmafgpu__speed vmafgpu__speed;

typedef struct vmafgpu__totals { double sum, inverse_sum, min, max; } vmafgpu__totals;

struct vmafgpu {
    vmafgpu_config     config;
    int                is_open;
    size_t             memory;
    char               error[VMAFGPU__ERROR_SIZE];
    char               subject[48];                 /* what is being taken, for sentences: "frame 7" */
    char               note[VMAFGPU__ERROR_SIZE];   /* why there is no GPU */

    vmafgpu__extractor extractors[VMAFGPU__MAX_EXTRACTORS];
    int                extractor_count;
    vmafgpu__model_use models[VMAFGPU__MAX_MODELS];
    int                model_count;
    int                column_count;
    char             (*names)[VMAFGPU__NAME_SIZE];
    double            *model_scratch;
    int                seed_count;

    vmafgpu__plan      plan;
    const vmafgpu__backend_table *backend;
    vmafgpu__cpu      *cpu;
    vmafgpu__gpu      *gpu;
    vmafgpu__threads  *threads;
    vmafgpu__cambi    *cambi;
    vmafgpu__speed    *speed;

    int64_t            seeded;                      /* frames given before the first pair */
    int64_t            pushed;                      /* pairs */
    int64_t            tailed;                      /* frames given after the last pair */
    int                flushed;
    int64_t            collected;                   /* of all these, those whose sums the backend has given */
    int64_t            failed_position;             /* the last of them that failed instead */
    vmafgpu_result     failed_result;
    char               failure[VMAFGPU__ERROR_SIZE];/* its sentence */
    int64_t            first_failed_frame;          /* index of the first frame without a score, or -1; why it has none */
    vmafgpu_result     first_failed_result;
    char               first_failure[VMAFGPU__ERROR_SIZE];
    int64_t            emitted;                     /* seeds and pairs whose every column is known */
    int64_t            delivered;                   /* rows given by next() */
    double            *chunks[VMAFGPU__MAX_CHUNKS]; /* with discard_scores only the first, used as a ring */
    double            *pair_row;                    /* of vmafgpu_score_pair() */
    vmafgpu__totals   *totals;                      /* per column */
    int64_t            pooled;                      /* rows in the totals */
};

/* ================================================================================================
 * >>memory                                       allocation, errors, log
 * ================================================================================================ */
static void *vmafgpu__memory_take(const vmafgpu_allocator *allocator, size_t size) {
    return allocator && allocator->alloc && allocator->free ? allocator->alloc(size, allocator->user) : malloc(size);
}

static void vmafgpu__memory_give(const vmafgpu_allocator *allocator, void *pointer) {
    if (!pointer)
        return;
    if (allocator && allocator->alloc && allocator->free)
        allocator->free(pointer, allocator->user);
    else
        free(pointer);
}

/* Every allocation is aligned to a cache line and remembers what to free and how much it counts. */
typedef struct vmafgpu__allocation { void *start; size_t size; } vmafgpu__allocation;

enum { VMAFGPU__ALIGNMENT = 64 };

static void *vmafgpu__take(vmafgpu *v, size_t size) {
    const size_t extra = sizeof(vmafgpu__allocation) + VMAFGPU__ALIGNMENT;
    const vmafgpu_allocator *allocator = &v->config.allocator;
    const int is_callers = allocator->alloc && allocator->free;
    /* The C library knows which memory the system has cleared already. */
    void *start = size >= SIZE_MAX - extra ? NULL
                  : is_callers             ? allocator->alloc(size + extra, allocator->user)
                                           : calloc(1, size + extra);
    if (!start)
        return NULL;
    const uintptr_t end = (uintptr_t)start + sizeof(vmafgpu__allocation);
    const uintptr_t pad = (VMAFGPU__ALIGNMENT - end % VMAFGPU__ALIGNMENT) % VMAFGPU__ALIGNMENT;
    unsigned char *aligned = (unsigned char *)start + sizeof(vmafgpu__allocation) + pad;
    vmafgpu__allocation block;
    block.start = start;
    block.size = size + extra;
    memcpy(aligned - sizeof block, &block, sizeof block);
    if (is_callers)
        memset(aligned, 0, size);
    v->memory += block.size;
    return aligned;
}

static void vmafgpu__give(vmafgpu *v, void *pointer) {
    vmafgpu__allocation block;
    if (!pointer)
        return;
    memcpy(&block, (unsigned char *)pointer - sizeof block, sizeof block);
    v->memory -= block.size;
    vmafgpu__memory_give(&v->config.allocator, block.start);
}

enum { VMAFGPU__CHUNK = 64 };   /* inner loops run over this many columns; lines are padded to a multiple */

/* Luma in the form that the CPU works on: bytes at 8 bits, else words of 16 bits with the sample in the low ones, at any
 * address. A row may be read, whatever is there, up to the next multiple of CHUNK columns. In the caller's memory
 * the next row's samples are there, and of the last rows there are copies. */
typedef struct vmafgpu__view {
    const uint8_t *data;                   /* of row 0; NULL: no frame */
    ptrdiff_t      pitch;                  /* in bytes, as all here */
    const uint8_t *edge;                   /* copies of edge_count rows from edge_first on */
    ptrdiff_t      edge_pitch;
    int            edge_first, edge_count;
} vmafgpu__view;

/* Word x of a row, which may be at an odd address. */
static inline uint16_t vmafgpu__word(const uint8_t *row, int x) {
    uint16_t word;
    memcpy(&word, row + 2 * x, sizeof word);
    return word;
}

static inline const void *vmafgpu__view_row(const vmafgpu__view *view, int y) {
    const int at = y - view->edge_first;
    return at >= 0 && at < view->edge_count ? view->edge + at * view->edge_pitch : view->data + y * view->pitch;
}

/* Hands out pieces of one allocation, or only counts them while `base` is NULL. */
typedef struct vmafgpu__carver { unsigned char *base; size_t used; } vmafgpu__carver;

static void *vmafgpu__carve(vmafgpu__carver *c, size_t size) {
    const size_t at = c->used;
    c->used += (size + VMAFGPU__ALIGNMENT - 1) / VMAFGPU__ALIGNMENT * VMAFGPU__ALIGNMENT;
    return c->base ? c->base + at : NULL;
}

static size_t vmafgpu__padded(int w) {
    return ((size_t)w + VMAFGPU__CHUNK - 1) / VMAFGPU__CHUNK * VMAFGPU__CHUNK;
}

static vmafgpu__plane vmafgpu__carve_plane(vmafgpu__carver *c, int w, int h) {
    vmafgpu__plane p;
    p.stride = (ptrdiff_t)vmafgpu__padded(w);
    p.data = (uint16_t *)vmafgpu__carve(c, (size_t)p.stride * (size_t)h * sizeof *p.data);
    return p;
}

static void vmafgpu__log(const vmafgpu *v, vmafgpu_log_level level, const char *message) {
    if (v->config.log)
        v->config.log(v->config.log_user, level, message);
}

/* Remembers the sentence, logs it and returns the code. */
VMAFGPU__FORMAT(3, 4)
static vmafgpu_result vmafgpu__fail(vmafgpu *v, vmafgpu_result result, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(v->error, sizeof v->error, format, args);
    va_end(args);
    vmafgpu__log(v, VMAFGPU_LOG_ERROR, v->error);
    return result;
}

static vmafgpu_result vmafgpu__fail_memory(vmafgpu *v, const char *what, size_t size) {
    return vmafgpu__fail(v, VMAFGPU_ERROR_MEMORY, "no memory for %s (%llu bytes)", what, (unsigned long long)size);
}

/* ================================================================================================
 * >>text                                         numbers and sentences
 * ================================================================================================
 * Numbers read and print the same whatever the C locale of the program is, and that locale is not touched.
 */
#define VMAFGPU__TOKEN 128 /* bytes of the longest number or word, with its terminator */

/* snprintf that may be given no room at all. */
VMAFGPU__FORMAT(3, 4)
static void vmafgpu__sentence(char *out, size_t size, const char *format, ...) {
    va_list list;

    if (out == NULL || size == 0)
        return;
    va_start(list, format);
    if (vsnprintf(out, size, format, list) < 0)
        out[0] = '\0';
    va_end(list);
}

/* Whether a stands before b: rising, NaN last. */
static int vmafgpu__before(double a, double b) {
    return a < b || (a == a && b != b);
}

/* Moves numbers[at] down the heap of `count` numbers whose largest is the first. */
static void vmafgpu__sift(double *numbers, size_t at, size_t count) {
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count)
            return;
        if (child + 1 < count && vmafgpu__before(numbers[child], numbers[child + 1]))
            child++;
        if (!vmafgpu__before(numbers[at], numbers[child]))
            return;
        const double number = numbers[at];
        numbers[at] = numbers[child];
        numbers[child] = number;
        at = child;
    }
}

/* Sorts in place; the C library's qsort may allocate. */
static void vmafgpu__sort(double *numbers, size_t count) {
    for (size_t i = count / 2; i > 0; i--)
        vmafgpu__sift(numbers, i - 1, count);
    for (size_t end = count; end > 1; end--) {
        const double largest = numbers[0];
        numbers[0] = numbers[end - 1];
        numbers[end - 1] = largest;
        vmafgpu__sift(numbers, 0, end - 1);
    }
}

static int vmafgpu__text_equal(const char *begin, const char *end, const char *word) {
    size_t size = strlen(word);

    return (size_t)(end - begin) == size && memcmp(begin, word, size) == 0;
}

static int vmafgpu__is_digit(char c) {
    return c >= '0' && c <= '9';
}

static const char *vmafgpu__skip_digits(const char *at, const char *end) {
    while (at < end && vmafgpu__is_digit(*at))
        at++;
    return at;
}

/* Copies the number that begins here; NULL when there is none or it is too long for the token. */
static const char *vmafgpu__copy_number(const char *begin, const char *end, char token[VMAFGPU__TOKEN]) {
    const char *whole = begin;
    const char *at;
    size_t size;
    int digits;

    if (whole < end && (*whole == '-' || *whole == '+'))
        whole++;
    at = vmafgpu__skip_digits(whole, end);
    digits = at > whole;
    if (at < end && *at == '.') {
        const char *fraction = vmafgpu__skip_digits(at + 1, end);

        if (digits || fraction > at + 1) {
            digits = 1;
            at = fraction;
        }
    }
    if (!digits)
        return NULL;
    if (at < end && (*at == 'e' || *at == 'E')) {
        const char *exponent = at + 1;

        if (exponent < end && (*exponent == '-' || *exponent == '+'))
            exponent++;
        if (exponent < end && vmafgpu__is_digit(*exponent))
            at = vmafgpu__skip_digits(exponent, end);
    }
    size = (size_t)(at - begin);
    if (size >= VMAFGPU__TOKEN)
        return NULL;
    memcpy(token, begin, size);
    token[size] = '\0';
    return at;
}

/* The token with the decimal point of the current locale, which may be several bytes long. */
static void vmafgpu__localise(const char *token, char *out, size_t size) {
    char half[32];
    size_t point_size, used = 0;

    (void)snprintf(half, sizeof half, "%.1f", 0.5); /* "0", the point, "5" */
    point_size = strlen(half);
    point_size = point_size > 2 ? point_size - 2 : 0;
    for (; *token != '\0' && used + point_size + 1 < size; token++) {
        if (*token == '.') {
            memcpy(out + used, half + 1, point_size);
            used += point_size;
        } else {
            out[used++] = *token;
        }
    }
    out[used] = '\0';
}

static double vmafgpu__convert_number(const char *text, int single, char **stop) {
    return single ? (double)strtof(text, stop) : strtod(text, stop);
}

/* strtod() or strtof() read up to a point that is not their locale's, so the locale is asked only then. */
static const char *vmafgpu__parse_rounded(const char *begin, const char *end, int single, double *value) {
    char token[VMAFGPU__TOKEN];
    char local[VMAFGPU__TOKEN + 32];
    char *stop = NULL;
    const char *behind = vmafgpu__copy_number(begin, end, token);

    if (behind == NULL)
        return NULL;
    *value = vmafgpu__convert_number(token, single, &stop);
    if (*stop != '\0') {
        vmafgpu__localise(token, local, sizeof local);
        *value = vmafgpu__convert_number(local, single, &stop);
        if (*stop != '\0')
            return NULL;
    }
    return fabs(*value) <= DBL_MAX ? behind : NULL;
}

/* The first character behind the decimal number at `begin`; NULL when there is none, or it is longer than 127
 * characters or too large for a double. */
static const char *vmafgpu__parse_number(const char *begin, const char *end, double *value) {
    return vmafgpu__parse_rounded(begin, end, 0, value);
}

/* The same, rounded once to a float, as libvmaf reads the numbers of feature options. */
static const char *vmafgpu__parse_float(const char *begin, const char *end, double *value) {
    return vmafgpu__parse_rounded(begin, end, 1, value);
}

/* "%g" with a point. */
static void vmafgpu__print_number(char out[40], double value) {
    static const char plain[] = "0123456789+-einfa";
    char text[40];
    const char *at = text;
    size_t used = 0;

    (void)snprintf(text, sizeof text, "%g", value);
    while (*at != '\0') {
        if (strchr(plain, *at) != NULL) {
            out[used++] = *at++;
            continue;
        }
        out[used++] = '.';
        while (*at != '\0' && strchr(plain, *at) == NULL)
            at++;
    }
    out[used] = '\0';
}

#define VMAFGPU__FEATURE_LIMIT 64 /* as in libvmaf */
#define VMAFGPU__KNOT_LIMIT 10    /* as in libvmaf */
#define VMAFGPU__SVM_LIMIT 10000  /* column names count with four digits */

/* Corrected chroma needs to know which feature guides and which is guided. -1: none; -2: more than one. */
static int vmafgpu__feature_containing(const vmafgpu_svm *svm, const char *part) {
    int i, found = -1;

    for (i = 0; i < svm->feature_count; i++) {
        if (strstr(svm->feature_names[i], part) != NULL)
            found = found == -1 ? i : -2;
    }
    return found;
}

#ifndef VMAFGPU_NO_JSON

/* ================================================================================================
 * >>json                                         a reader of JSON text
 * ================================================================================================
 * A reader of JSON text in memory. Nothing is copied: a value is the pointer to its first character, and reading
 * goes from pointer to pointer. The whole text is checked once before anything in it is believed. */

#define VMAFGPU__JSON_DEPTH 32
#define VMAFGPU__JSON_SIZE ((size_t)64 << 20) /* keeps every count in an int and every size in a size_t */

typedef struct vmafgpu__json {
    const char *name; /* of the model, for sentences */
    int part;         /* of a collection; -1: not in one */
    const char *begin, *end;
    char *error;
    size_t error_size;
    vmafgpu_result result;
} vmafgpu__json;

/* An array or object that is being walked. After the walk `at` is behind it, or NULL after a failure. */
typedef struct vmafgpu__json_list {
    const char *at;
    const char *key, *value;
    int count;
    char close;
} vmafgpu__json_list;

static const char *vmafgpu__json_fail(vmafgpu__json *json, const char *at, const char *format, ...)
    VMAFGPU__FORMAT(3, 4);

/* Keeps the first failure and returns NULL. */
static const char *vmafgpu__json_fail(vmafgpu__json *json, const char *at, const char *format, ...) {
    char what[200];
    char part[32] = "";
    va_list list;

    if (json->result != VMAFGPU_OK)
        return NULL;
    json->result = VMAFGPU_ERROR_MODEL;
    va_start(list, format);
    (void)vsnprintf(what, sizeof what, format, list);
    va_end(list);
    if (json->part >= 0)
        (void)snprintf(part, sizeof part, ", part %d", json->part);
    vmafgpu__sentence(json->error, json->error_size, "model '%.80s'%s: %s (byte %lu)", json->name, part, what,
                      (unsigned long)(at - json->begin));
    return NULL;
}

static const char *vmafgpu__json_space(const vmafgpu__json *json, const char *at) {
    while (at < json->end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

static int vmafgpu__hex_digit(char c) {
    if (vmafgpu__is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The 16 bits of "\uXXXX", or -1. */
static long vmafgpu__json_unit(const char *at, const char *end) {
    long unit = 0;
    int i;

    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    for (i = 2; i < 6; i++) {
        int digit = vmafgpu__hex_digit(at[i]);

        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

/* Reads the escape sequence at `at`: its character, and as a result its size, or 0 when it is none. */
static int vmafgpu__json_escape(const char *at, const char *end, unsigned long *character) {
    static const char names[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    const char *found;
    long high, low;

    if (end - at < 2 || at[1] == '\0')
        return 0;
    found = strchr(names, at[1]);
    if (found != NULL) {
        *character = (unsigned char)meanings[found - names];
        return 2;
    }
    high = vmafgpu__json_unit(at, end);
    if (high < 0 || (high >= 0xdc00 && high <= 0xdfff))
        return 0;
    *character = (unsigned long)high;
    if (high < 0xd800 || high > 0xdbff)
        return 6;
    low = vmafgpu__json_unit(at + 6, end);
    if (low < 0xdc00 || low > 0xdfff)
        return 0;
    *character = 0x10000ul + (((unsigned long)high - 0xd800ul) << 10) + ((unsigned long)low - 0xdc00ul);
    return 12;
}

static const char *vmafgpu__json_string(vmafgpu__json *json, const char *begin) {
    const char *at = begin + 1;

    while (at < json->end && *at != '"') {
        unsigned long character;
        int size = 1;

        if ((unsigned char)*at < 0x20)
            return vmafgpu__json_fail(json, at, "a string holds a raw control character");
        if (*at == '\\')
            size = vmafgpu__json_escape(at, json->end, &character);
        if (size == 0)
            return vmafgpu__json_fail(json, at, "a string holds a bad escape sequence");
        at += size;
    }
    return at < json->end ? at + 1 : vmafgpu__json_fail(json, begin, "a string does not end");
}

/* One character of a checked string as 1 to 4 bytes of UTF-8; 0 at the closing quote, which is not passed. */
static int vmafgpu__json_char(const vmafgpu__json *json, const char **at, char out[4]) {
    unsigned long character = 0;
    int size, i;

    if (**at == '"')
        return 0;
    if (**at != '\\') {
        out[0] = *(*at)++;
        return 1;
    }
    *at += vmafgpu__json_escape(*at, json->end, &character);
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    size = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (i = size - 1; i > 0; i--) {
        out[i] = (char)(unsigned char)(0x80 | (character & 0x3f));
        character >>= 6;
    }
    out[0] = (char)(unsigned char)(((0xf00 >> size) & 0xff) | (int)character);
    return size;
}

/* Whether a checked string says `word`. */
static int vmafgpu__json_says(const vmafgpu__json *json, const char *string, const char *word) {
    const char *at = string + 1;
    char bytes[4];
    int size;

    while ((size = vmafgpu__json_char(json, &at, bytes)) > 0) {
        if (strncmp(bytes, word, (size_t)size) != 0 || bytes[0] == '\0')
            return 0;
        word += size;
    }
    return *word == '\0';
}

/* Whether two checked strings say the same. */
static int vmafgpu__json_same(const vmafgpu__json *json, const char *first, const char *second) {
    char a[4], b[4];
    int size;

    first++;
    second++;
    do {
        size = vmafgpu__json_char(json, &first, a);
        if (vmafgpu__json_char(json, &second, b) != size || memcmp(a, b, (size_t)size) != 0)
            return 0;
    } while (size > 0);
    return 1;
}

static const char *vmafgpu__json_number(vmafgpu__json *json, const char *begin, int single, double *value) {
    const char *behind = vmafgpu__parse_rounded(begin, json->end, single, value);
    const char *whole, *point;

    if (behind == NULL)
        return vmafgpu__json_fail(json, begin, "no value, or a number that is too long or too large");
    whole = begin + (*begin == '-');
    point = vmafgpu__skip_digits(whole, behind);
    if (point == whole || (*whole == '0' && point > whole + 1) ||
        (point < behind && *point == '.' && (point + 1 == behind || !vmafgpu__is_digit(point[1])))) {
        return vmafgpu__json_fail(json, begin, "a number is not written as JSON asks");
    }
    return behind;
}

static void vmafgpu__json_walk(vmafgpu__json_list *list, const char *at) {
    list->at = at + 1;
    list->key = list->value = NULL;
    list->count = 0;
    list->close = *at == '{' ? '}' : ']';
}

/* Steps to the next item: 1 with its key (objects) and value, and the caller moves list->at behind that value;
 * 0 at the end and after a failure. */
static int vmafgpu__json_next(vmafgpu__json *json, vmafgpu__json_list *list) {
    const char *at = list->at == NULL ? NULL : vmafgpu__json_space(json, list->at);

    list->at = NULL;
    if (at == NULL)
        return 0;
    if (at < json->end && *at == list->close) {
        list->at = at + 1;
        return 0;
    }
    if (list->count > 0) {
        if (at == json->end || *at != ',') {
            vmafgpu__json_fail(json, at, "expected ',' or '%c'", list->close);
            return 0;
        }
        at = vmafgpu__json_space(json, at + 1);
    }
    if (list->close == '}') {
        if (at == json->end || *at != '"') {
            vmafgpu__json_fail(json, at, "expected a key in quotes");
            return 0;
        }
        list->key = at;
        at = vmafgpu__json_string(json, at);
        if (at == NULL)
            return 0;
        at = vmafgpu__json_space(json, at);
        if (at == json->end || *at != ':') {
            vmafgpu__json_fail(json, at, "expected ':'");
            return 0;
        }
        at = vmafgpu__json_space(json, at + 1);
    }
    if (at == json->end) {
        vmafgpu__json_fail(json, at, "the text ends too early");
        return 0;
    }
    list->value = at;
    list->count++;
    return 1;
}

/* Passes over a value of any type; this is what checks the text. */
static const char *vmafgpu__json_skip(vmafgpu__json *json, const char *at, int depth) {
    static const char *const words[3] = {"true", "false", "null"};
    double number;
    int i;

    if (*at == '"')
        return vmafgpu__json_string(json, at);
    if (*at == '{' || *at == '[') {
        vmafgpu__json_list list;

        if (depth >= VMAFGPU__JSON_DEPTH)
            return vmafgpu__json_fail(json, at, "values are nested deeper than %d", VMAFGPU__JSON_DEPTH);
        vmafgpu__json_walk(&list, at);
        while (vmafgpu__json_next(json, &list))
            list.at = vmafgpu__json_skip(json, list.value, depth + 1);
        return list.at;
    }
    for (i = 0; i < 3; i++) {
        size_t size = strlen(words[i]);

        if ((size_t)(json->end - at) >= size && memcmp(at, words[i], size) == 0)
            return at + size;
    }
    return vmafgpu__json_number(json, at, 0, &number);
}

/* Finds the values of known keys in an object; NULL for those that are absent or null. Returns the end of the object
 * or NULL. */
static const char *vmafgpu__json_find(vmafgpu__json *json, const char *at, const char *const *keys, int count,
                                      const char **values) {
    vmafgpu__json_list list;
    int i;

    for (i = 0; i < count; i++)
        values[i] = NULL;
    vmafgpu__json_walk(&list, at);
    while (vmafgpu__json_next(json, &list)) {
        for (i = 0; i < count && !vmafgpu__json_says(json, list.key, keys[i]); i++) {
        }
        if (i < count && values[i] != NULL)
            return vmafgpu__json_fail(json, list.key, "key '%s' is there twice", keys[i]);
        if (i < count)
            values[i] = list.value;
        list.at = vmafgpu__json_skip(json, list.value, 1);
    }
    for (i = 0; i < count; i++) {
        if (values[i] != NULL && *values[i] == 'n')
            values[i] = NULL;
    }
    return list.at;
}

/* Reads an array of at most `limit` numbers; the result is their count, or -1. */
static int vmafgpu__json_numbers(vmafgpu__json *json, const char *at, const char *key, double *out, int limit) {
    vmafgpu__json_list list;

    if (*at != '[') {
        vmafgpu__json_fail(json, at, "key '%s' must be an array of numbers", key);
        return -1;
    }
    vmafgpu__json_walk(&list, at);
    while (vmafgpu__json_next(json, &list)) {
        if (*list.value != '-' && !vmafgpu__is_digit(*list.value)) {
            vmafgpu__json_fail(json, list.value, "key '%s' must be an array of numbers", key);
            return -1;
        }
        if (list.count > limit) {
            vmafgpu__json_fail(json, list.value, "key '%s' has more than %d numbers", key, limit);
            return -1;
        }
        list.at = vmafgpu__json_number(json, list.value, 0, &out[list.count - 1]);
    }
    return list.at == NULL ? -1 : list.count;
}

/* ================================================================================================
 * >>model reader                                 from JSON to a model
 * ================================================================================================
 * The model is built three times by the same code: first nothing is written and bytes and support vectors are
 * counted; then equal support vectors are found in a temporary pool, which tells how many rows there are; then the
 * one block of memory is filled. */

/* The block. Without a base it only counts. */
typedef struct vmafgpu__arena {
    char *base;
    size_t used;
} vmafgpu__arena;

/* Different support vectors, found by hash. Without rows it only counts. */
typedef struct vmafgpu__pool {
    double *rows;
    uint16_t *slots; /* row + 1; 0: free */
    size_t slot_count;
    int width, count, capacity;
} vmafgpu__pool;

typedef struct vmafgpu__builder {
    vmafgpu__json json;
    vmafgpu__arena arena;
    vmafgpu__pool pool;
    const char *root;   /* the outermost object */
    const char *single; /* the model_dict of a file that is not a collection */
    int parts;
} vmafgpu__builder;

#define VMAFGPU__ROW_LIMIT 65535

static void *vmafgpu__arena_take(vmafgpu__arena *arena, size_t size) {
    size_t at = (arena->used + 15) & ~(size_t)15;

    arena->used = at + size;
    return arena->base == NULL ? NULL : arena->base + at;
}

static void vmafgpu__arena_put(vmafgpu__arena *arena, const char *bytes, size_t size) {
    if (arena->base != NULL)
        memcpy(arena->base + arena->used, bytes, size);
    arena->used += size;
}

/* Where the next bytes that are put will be. */
static const char *vmafgpu__arena_here(const vmafgpu__arena *arena) {
    return arena->base == NULL ? NULL : arena->base + arena->used;
}

static const double *vmafgpu__arena_numbers(vmafgpu__arena *arena, const double *numbers, int count) {
    size_t size = (size_t)count * sizeof *numbers;
    double *copy = (double *)vmafgpu__arena_take(arena, size);

    if (copy != NULL)
        memcpy(copy, numbers, size);
    return copy;
}

static size_t vmafgpu__pool_slot(const vmafgpu__pool *pool, const double *row) {
    uint64_t hash = 0;
    int i;

    for (i = 0; i < pool->width; i++) {
        uint64_t bits;

        memcpy(&bits, &row[i], sizeof bits);
        hash = (hash ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return (size_t)(hash ^ (hash >> 32)) & (pool->slot_count - 1);
}

/* The number of the row with these figures, which is added when it is new; -1 when the pool is full. */
static int vmafgpu__pool_row(vmafgpu__pool *pool, const double *row) {
    size_t slot, size = (size_t)pool->width * sizeof *row;

    if (pool->rows == NULL) {
        pool->count++;
        return 0;
    }
    for (slot = vmafgpu__pool_slot(pool, row); pool->slots[slot] != 0; slot = (slot + 1) & (pool->slot_count - 1)) {
        int found = pool->slots[slot] - 1;

        if (memcmp(pool->rows + (size_t)found * (size_t)pool->width, row, size) == 0)
            return found;
    }
    if (pool->count == pool->capacity)
        return -1;
    memcpy(pool->rows + (size_t)pool->count * (size_t)pool->width, row, size);
    pool->slots[slot] = (uint16_t)(pool->count + 1);
    return pool->count++;
}

/* Turns the counting pool into a real one. */
static int vmafgpu__pool_open(vmafgpu__pool *pool, const vmafgpu_allocator *allocator) {
    size_t rows_size;

    pool->capacity = pool->count < VMAFGPU__ROW_LIMIT ? pool->count : VMAFGPU__ROW_LIMIT;
    pool->count = 0;
    pool->slot_count = 16;
    while (pool->slot_count < (size_t)pool->capacity * 2)
        pool->slot_count *= 2;
    rows_size = (size_t)pool->capacity * (size_t)pool->width * sizeof(double);
    pool->rows = (double *)vmafgpu__memory_take(allocator, rows_size + pool->slot_count * sizeof(uint16_t));
    if (pool->rows == NULL)
        return 0;
    pool->slots = (uint16_t *)(void *)((char *)pool->rows + rows_size);
    memset(pool->slots, 0, pool->slot_count * sizeof(uint16_t));
    return 1;
}

/* Puts the characters of a checked string, without a terminator. Those in `forbidden`, and zeros, are refused. */
static int vmafgpu__put_string(vmafgpu__builder *b, const char *string, const char *key, const char *forbidden) {
    const char *at = string + 1;
    char bytes[4];
    int size;

    while ((size = vmafgpu__json_char(&b->json, &at, bytes)) > 0) {
        if (strchr(forbidden, bytes[0]) != NULL) { /* finds a zero too */
            vmafgpu__json_fail(&b->json, at, "key '%s' holds a character that cannot be used there", key);
            return 0;
        }
        vmafgpu__arena_put(&b->arena, bytes, (size_t)size);
    }
    return 1;
}

static int vmafgpu__read_names(vmafgpu__builder *b, const char *at, vmafgpu_svm *svm) {
    static const char key[] = "feature_names";
    vmafgpu__json_list list;
    const char **names;

    if (*at != '[') {
        vmafgpu__json_fail(&b->json, at, "key '%s' must be an array of strings", key);
        return 0;
    }
    /* room for as many as are allowed is simpler than counting first, and costs half a kilobyte */
    names = (const char **)vmafgpu__arena_take(&b->arena, VMAFGPU__FEATURE_LIMIT * sizeof *names);
    vmafgpu__json_walk(&list, at);
    while (vmafgpu__json_next(&b->json, &list)) {
        if (*list.value != '"') {
            vmafgpu__json_fail(&b->json, list.value, "key '%s' must be an array of strings", key);
            return 0;
        }
        if (list.count > VMAFGPU__FEATURE_LIMIT) {
            vmafgpu__json_fail(&b->json, list.value, "more than %d features", VMAFGPU__FEATURE_LIMIT);
            return 0;
        }
        if (names != NULL)
            names[list.count - 1] = vmafgpu__arena_here(&b->arena);
        if (!vmafgpu__put_string(b, list.value, key, ""))
            return 0;
        vmafgpu__arena_put(&b->arena, "", 1);
        list.at = vmafgpu__json_string(&b->json, list.value);
    }
    if (list.at != NULL && list.count == 0) {
        vmafgpu__json_fail(&b->json, at, "key '%s' is empty", key);
        return 0;
    }
    svm->feature_count = list.count;
    svm->feature_names = names;
    return list.at != NULL;
}

/* One option as "name=value": numbers as libvmaf normalises them, booleans and strings as they are. */
static int vmafgpu__put_option(vmafgpu__builder *b, const vmafgpu__json_list *item) {
    static const char key[] = "feature_opts_dicts";
    const char *value = item->value;
    char text[40];
    double number;

    if (item->key[1] == '"') {
        vmafgpu__json_fail(&b->json, item->key, "key '%s' has an option without a name", key);
        return 0;
    }
    if (item->count > 1)
        vmafgpu__arena_put(&b->arena, ":", 1);
    if (!vmafgpu__put_string(b, item->key, key, ":="))
        return 0;
    vmafgpu__arena_put(&b->arena, "=", 1);
    if (*value == '"')
        return vmafgpu__put_string(b, value, key, ":");
    if (*value == 't' || *value == 'f') {
        vmafgpu__arena_put(&b->arena, value, *value == 't' ? 4 : 5);
        return 1;
    }
    if (*value != '-' && !vmafgpu__is_digit(*value)) {
        vmafgpu__json_fail(&b->json, value, "key '%s' must hold numbers, strings, true or false", key);
        return 0;
    }
    if (vmafgpu__json_number(&b->json, value, 1, &number) == NULL)
        return 0;
    vmafgpu__print_number(text, number);
    vmafgpu__arena_put(&b->arena, text, strlen(text));
    return 1;
}

static const char *vmafgpu__put_options(vmafgpu__builder *b, const char *at) {
    const char *names[VMAFGPU__FEATURE_LIMIT];
    vmafgpu__json_list list;
    int i;

    if (*at != '{')
        return vmafgpu__json_fail(&b->json, at, "key 'feature_opts_dicts' must be an array of objects");
    vmafgpu__json_walk(&list, at);
    while (vmafgpu__json_next(&b->json, &list)) {
        if (list.count > VMAFGPU__FEATURE_LIMIT)
            return vmafgpu__json_fail(&b->json, list.key, "more than %d options of a feature", VMAFGPU__FEATURE_LIMIT);
        for (i = 0; i < list.count - 1; i++) {
            if (vmafgpu__json_same(&b->json, names[i], list.key))
                return vmafgpu__json_fail(&b->json, list.key, "an option of a feature is there twice");
        }
        names[list.count - 1] = list.key;
        if (!vmafgpu__put_option(b, &list))
            return NULL;
        list.at = vmafgpu__json_skip(&b->json, list.value, 1);
    }
    return list.at;
}

static int vmafgpu__read_options(vmafgpu__builder *b, const char *at, vmafgpu_svm *svm) {
    const char **options =
        (const char **)vmafgpu__arena_take(&b->arena, (size_t)svm->feature_count * sizeof *options);
    vmafgpu__json_list list;
    int i;

    svm->feature_options = options;
    if (at == NULL) {
        for (i = 0; i < svm->feature_count && options != NULL; i++)
            options[i] = "";
        return 1;
    }
    if (*at != '[') {
        vmafgpu__json_fail(&b->json, at, "key 'feature_opts_dicts' must be an array of objects");
        return 0;
    }
    vmafgpu__json_walk(&list, at);
    while (vmafgpu__json_next(&b->json, &list) && list.count <= svm->feature_count) {
        if (options != NULL)
            options[list.count - 1] = vmafgpu__arena_here(&b->arena);
        list.at = vmafgpu__put_options(b, list.value);
        vmafgpu__arena_put(&b->arena, "", 1);
    }
    if (b->json.result == VMAFGPU_OK && list.count != svm->feature_count) {
        vmafgpu__json_fail(&b->json, at, "key 'feature_opts_dicts' must have one object per feature, that is %d",
                           svm->feature_count);
    }
    return b->json.result == VMAFGPU_OK;
}

/* The figures of the linear rescaling; neutral ones when the file has none, which is allowed without rescaling. */
static const double *vmafgpu__read_scale(vmafgpu__builder *b, const char *at, const char *key, double neutral,
                                         const vmafgpu_svm *svm) {
    double numbers[1 + VMAFGPU__FEATURE_LIMIT];
    int i, count = 1 + svm->feature_count;

    if (at != NULL) {
        int found = vmafgpu__json_numbers(&b->json, at, key, numbers, count);

        if (found >= 0 && found != count) {
            vmafgpu__json_fail(&b->json, at, "key '%s' has %d numbers where %d features need %d", key, found,
                               svm->feature_count, count);
        }
        if (found != count)
            return NULL;
    } else {
        for (i = 0; i < count; i++)
            numbers[i] = neutral;
    }
    return vmafgpu__arena_numbers(&b->arena, numbers, count);
}

static int vmafgpu__read_clip(vmafgpu__builder *b, const char *at, vmafgpu_svm *svm) {
    double limits[2];
    int count;

    if (at == NULL)
        return 1;
    count = vmafgpu__json_numbers(&b->json, at, "score_clip", limits, 2);
    if (count != 2) {
        vmafgpu__json_fail(&b->json, at, "key 'score_clip' must hold two numbers");
        return 0;
    }
    svm->has_clip = 1;
    svm->clip_min = limits[0];
    svm->clip_max = limits[1];
    return 1;
}

static int vmafgpu__read_knots(vmafgpu__builder *b, const char *at, vmafgpu_svm *svm) {
    double knots[2 * VMAFGPU__KNOT_LIMIT];
    vmafgpu__json_list list;

    if (at == NULL)
        return 1;
    if (*at != '[') {
        vmafgpu__json_fail(&b->json, at, "key 'knots' must be an array of pairs of numbers");
        return 0;
    }
    vmafgpu__json_walk(&list, at);
    while (vmafgpu__json_next(&b->json, &list)) {
        if (list.count > VMAFGPU__KNOT_LIMIT) {
            vmafgpu__json_fail(&b->json, list.value, "key 'knots' has more than %d pairs", VMAFGPU__KNOT_LIMIT);
            return 0;
        }
        if (vmafgpu__json_numbers(&b->json, list.value, "knots", &knots[2 * (list.count - 1)], 2) != 2) {
            vmafgpu__json_fail(&b->json, list.value, "key 'knots' must be an array of pairs of numbers");
            return 0;
        }
        list.at = vmafgpu__json_skip(&b->json, list.value, 1);
    }
    svm->knot_count = list.count;
    svm->knots = vmafgpu__arena_numbers(&b->arena, knots, 2 * list.count);
    return list.at != NULL;
}

static int vmafgpu__read_transform(vmafgpu__builder *b, const char *at, vmafgpu_svm *svm) {
    static const char *const keys[] = {"p0", "p1", "p2", "out_lte_in", "out_gte_in", "enabled", "knots"};
    const char *values[7];
    double p[3] = {0, 0, 0};
    int flags[2] = {0, 0};
    int i;

    if (at == NULL)
        return 1;
    if (*at != '{') {
        vmafgpu__json_fail(&b->json, at, "key 'score_transform' must be an object");
        return 0;
    }
    if (vmafgpu__json_find(&b->json, at, keys, 7, values) == NULL)
        return 0;
    for (i = 0; i < 3; i++) {
        if (values[i] != NULL && *values[i] != '-' && !vmafgpu__is_digit(*values[i])) {
            vmafgpu__json_fail(&b->json, values[i], "key '%s' must be a number or null", keys[i]);
            return 0;
        }
        if (values[i] != NULL && vmafgpu__json_number(&b->json, values[i], 0, &p[i]) == NULL)
            return 0;
    }
    for (i = 0; i < 2; i++) { /* strings in libvmaf's files, unlike "enabled" */
        const char *value = values[3 + i];

        if (value != NULL && *value != '"') {
            vmafgpu__json_fail(&b->json, value, "key '%s' must be the string \"true\" or \"false\"", keys[3 + i]);
            return 0;
        }
        flags[i] = value != NULL && vmafgpu__json_says(&b->json, value, "true");
    }
    if (values[5] != NULL && *values[5] != 't' && *values[5] != 'f') {
        vmafgpu__json_fail(&b->json, values[5], "key 'enabled' must be true or false");
        return 0;
    }
    svm->has_transform = 1;
    svm->transform_enabled = values[5] != NULL && *values[5] == 't';
    svm->has_p0 = values[0] != NULL;
    svm->has_p1 = values[1] != NULL;
    svm->has_p2 = values[2] != NULL;
    svm->p0 = p[0];
    svm->p1 = p[1];
    svm->p2 = p[2];
    svm->out_lte_in = flags[0];
    svm->out_gte_in = flags[1];
    return vmafgpu__read_knots(b, values[6], svm);
}

/* The next word of the current line of the text inside a checked string: its length, 0 at the end of the line, -1 when
 * it does not fit. */
static int vmafgpu__svm_word(const vmafgpu__json *json, const char **at, char word[VMAFGPU__TOKEN]) {
    int length = 0;

    for (;;) {
        const char *behind = *at;
        char bytes[4];
        int size = vmafgpu__json_char(json, &behind, bytes);
        int blank = size == 1 && (bytes[0] == ' ' || bytes[0] == '\t' || bytes[0] == '\r');

        if (size == 0 || bytes[0] == '\n' || (blank && length > 0))
            break;
        *at = behind;
        if (blank)
            continue;
        if (length + size >= VMAFGPU__TOKEN)
            return -1;
        memcpy(word + length, bytes, (size_t)size);
        length += size;
    }
    word[length] = '\0';
    return length;
}

/* Passes over the end of the line; 0 when the text ends here. */
static int vmafgpu__svm_line(const vmafgpu__json *json, const char **at) {
    char bytes[4];

    return vmafgpu__json_char(json, at, bytes) > 0;
}

/* A word that is a number from its first to its last character. */
static int vmafgpu__svm_number(const char *begin, const char *end, double *value) {
    return vmafgpu__parse_number(begin, end, value) == end && end > begin;
}

enum {
    VMAFGPU__SVM_TYPE,
    VMAFGPU__SVM_KERNEL,
    VMAFGPU__SVM_GAMMA,
    VMAFGPU__SVM_CLASSES,
    VMAFGPU__SVM_TOTAL,
    VMAFGPU__SVM_RHO,
    VMAFGPU__SVM_NEEDED, /* those above */
    VMAFGPU__SVM_LABEL = 10,
    VMAFGPU__SVM_WORDS = 12
};

/* The header of libsvm's text. Returns the first support vector's line or NULL. */
static const char *vmafgpu__read_svm_header(vmafgpu__json *json, const char *at, vmafgpu_svm *svm) {
    static const char *const words[VMAFGPU__SVM_WORDS] = {"svm_type", "kernel_type", "gamma", "nr_class",
                                                          "total_sv", "rho",         "degree", "coef0",
                                                          "probA",    "probB",       "label",  "nr_sv"};
    double numbers[VMAFGPU__SVM_WORDS];
    char word[VMAFGPU__TOKEN];
    int i, k, length, seen = 0;

    for (;;) {
        length = vmafgpu__svm_word(json, &at, word);
        if (length == 0 && vmafgpu__svm_line(json, &at))
            continue;
        if (length == 0)
            return vmafgpu__json_fail(json, at, "key 'model' has no support vectors");
        if (length == 2 && strcmp(word, "SV") == 0)
            break;
        for (i = 0; i < VMAFGPU__SVM_WORDS && (length < 0 || strcmp(word, words[i]) != 0); i++) {
        }
        if (i == VMAFGPU__SVM_WORDS)
            return vmafgpu__json_fail(json, at, "key 'model' has an unknown word in its header");
        seen |= 1 << i;
        for (k = 0; k < (i < VMAFGPU__SVM_LABEL ? 1 : 2); k++) { /* label and nr_sv have one number per class */
            length = vmafgpu__svm_word(json, &at, word);
            if (i == VMAFGPU__SVM_TYPE && (length < 0 || (strcmp(word, "nu_svr") && strcmp(word, "epsilon_svr"))))
                return vmafgpu__json_fail(json, at, "key 'model': svm_type must be nu_svr or epsilon_svr");
            if (i == VMAFGPU__SVM_KERNEL && (length < 0 || strcmp(word, "rbf")))
                return vmafgpu__json_fail(json, at, "key 'model': kernel_type must be rbf");
            if (i >= VMAFGPU__SVM_GAMMA &&
                (length < 0 || !vmafgpu__svm_number(word, word + length, &numbers[i]))) {
                return vmafgpu__json_fail(json, at, "key 'model': %s needs a number", words[i]);
            }
        }
    }
    for (i = 0; i < VMAFGPU__SVM_NEEDED; i++) {
        if (!(seen & (1 << i)))
            return vmafgpu__json_fail(json, at, "key 'model': %s is missing", words[i]);
    }
    if (numbers[VMAFGPU__SVM_CLASSES] < 2 || numbers[VMAFGPU__SVM_CLASSES] > 2)
        return vmafgpu__json_fail(json, at, "key 'model': nr_class must be 2");
    /* a support vector takes two characters at least, so the text bounds the count before anything believes it */
    if (!(numbers[VMAFGPU__SVM_TOTAL] >= 1) || numbers[VMAFGPU__SVM_TOTAL] > (double)(json->end - at))
        return vmafgpu__json_fail(json, at, "key 'model': total_sv does not fit the text");
    svm->gamma = numbers[VMAFGPU__SVM_GAMMA];
    svm->rho = numbers[VMAFGPU__SVM_RHO];
    svm->sv_count = (int)numbers[VMAFGPU__SVM_TOTAL];
    if ((double)svm->sv_count < numbers[VMAFGPU__SVM_TOTAL])
        return vmafgpu__json_fail(json, at, "key 'model': total_sv must be a whole number");
    return at;
}

/* "coefficient index:value index:value ...", indices from 1 ascending, those left out are 0. */
static int vmafgpu__read_vector(vmafgpu__builder *b, const char **at, const vmafgpu_svm *svm, int number,
                                double *coefficient, double *row) {
    char word[VMAFGPU__TOKEN];
    int i, length, last = 0;

    length = vmafgpu__svm_word(&b->json, at, word);
    if (length <= 0 || !vmafgpu__svm_number(word, word + length, coefficient)) {
        vmafgpu__json_fail(&b->json, *at, "key 'model': support vector %d of %d has no coefficient", number,
                           svm->sv_count);
        return 0;
    }
    for (i = 0; i < svm->feature_count; i++)
        row[i] = 0;
    while ((length = vmafgpu__svm_word(&b->json, at, word)) != 0) {
        const char *colon = length < 0 ? NULL : strchr(word, ':');
        double index;

        if (colon == NULL || !vmafgpu__svm_number(word, colon, &index) || !(index > last) ||
            index > svm->feature_count || index > floor(index)) {
            vmafgpu__json_fail(&b->json, *at, "key 'model': support vector %d needs ascending indices from 1 to %d",
                               number, svm->feature_count);
            return 0;
        }
        last = (int)index;
        if (!vmafgpu__svm_number(colon + 1, word + length, &row[last - 1])) {
            vmafgpu__json_fail(&b->json, *at, "key 'model': support vector %d has a bad number", number);
            return 0;
        }
    }
    return 1;
}

static int vmafgpu__read_svm(vmafgpu__builder *b, const char *at, vmafgpu_svm *svm) {
    double row[VMAFGPU__FEATURE_LIMIT];
    double coefficient = 0;
    double *coefs;
    uint16_t *rows;
    int i, k;

    if (*at != '"') {
        vmafgpu__json_fail(&b->json, at, "key 'model' must be a string");
        return 0;
    }
    at = vmafgpu__read_svm_header(&b->json, at + 1, svm);
    if (at == NULL)
        return 0;
    coefs = (double *)vmafgpu__arena_take(&b->arena, (size_t)svm->sv_count * sizeof *coefs);
    rows = (uint16_t *)vmafgpu__arena_take(&b->arena, (size_t)svm->sv_count * sizeof *rows);
    svm->sv_coefs = coefs;
    svm->sv_rows = rows;
    for (i = 0; i < svm->sv_count; i++) {
        if (!vmafgpu__svm_line(&b->json, &at)) {
            vmafgpu__json_fail(&b->json, at, "key 'model' has %d support vectors where total_sv is %d", i,
                               svm->sv_count);
            return 0;
        }
        if (!vmafgpu__read_vector(b, &at, svm, i + 1, &coefficient, row))
            return 0;
        k = vmafgpu__pool_row(&b->pool, row);
        if (k < 0) {
            vmafgpu__json_fail(&b->json, at, "more than %d different support vectors", VMAFGPU__ROW_LIMIT);
            return 0;
        }
        if (coefs != NULL) {
            coefs[i] = coefficient;
            rows[i] = (uint16_t)k;
        }
    }
    return 1;
}

/* The value must be one of the words; its position in the list, or -1. */
static int vmafgpu__read_word(vmafgpu__json *json, const char *at, const char *key, const char *const *words,
                              int count) {
    char list[120] = "";
    size_t used = 0;
    int i;

    for (i = 0; i < count && *at == '"'; i++) {
        if (vmafgpu__json_says(json, at, words[i]))
            return i;
    }
    for (i = 0; i < count && used < sizeof list; i++) {
        vmafgpu__sentence(list + used, sizeof list - used, i > 0 ? " or \"%s\"" : "\"%s\"", words[i]);
        used += strlen(list + used);
    }
    vmafgpu__json_fail(json, at, "key '%s' must be %s", key, list);
    return -1;
}

static int vmafgpu__read_chroma(vmafgpu__builder *b, const char *at, vmafgpu_svm *svm) {
    static const char key[] = "chroma_correction_parameter";

    if (at == NULL)
        return 1;
    if (*at != '-' && !vmafgpu__is_digit(*at)) {
        vmafgpu__json_fail(&b->json, at, "key '%s' must be a number", key);
        return 0;
    }
    svm->has_chroma_correction = 1;
    if (vmafgpu__json_number(&b->json, at, 0, &svm->chroma_correction) == NULL)
        return 0;
    if (svm->feature_names != NULL && (vmafgpu__feature_containing(svm, "adm3") < 0 ||
                                       vmafgpu__feature_containing(svm, "speed_chroma") < 0)) {
        vmafgpu__json_fail(&b->json, at, "key '%s' needs one adm3 and one speed_chroma feature", key);
        return 0;
    }
    return 1;
}

/* One model_dict. */
static int vmafgpu__read_dict(vmafgpu__builder *b, const char *at, vmafgpu_svm *svm) {
    static const char *const keys[] = {"model_type",      "norm_type",          "feature_names", "model",
                                       "slopes",          "intercepts",         "score_clip",    "score_transform",
                                       "chroma_correction_parameter", "feature_opts_dicts"};
    static const char *const types[] = {"BOOTSTRAP_LIBSVMNUSVR", "RESIDUEBOOTSTRAP_LIBSVMNUSVR", "LIBSVMNUSVR"};
    static const char *const norms[] = {"none", "linear_rescale"};
    const char *values[10];
    vmafgpu__json *json = &b->json;
    int i, type;

    memset(svm, 0, sizeof *svm);
    if (*at != '{') {
        vmafgpu__json_fail(json, at, "key 'model_dict' must be an object");
        return 0;
    }
    if (vmafgpu__json_find(json, at, keys, 10, values) == NULL)
        return 0;
    svm->rescale = 1;
    if (values[1] != NULL)
        svm->rescale = vmafgpu__read_word(json, values[1], keys[1], norms, 2);
    for (i = 0; i < (svm->rescale ? 6 : 4); i++) { /* slopes and intercepts only mean something with rescaling */
        if (values[i] == NULL) {
            vmafgpu__json_fail(json, at, "key '%s' is missing", keys[i]);
            return 0;
        }
    }
    type = vmafgpu__read_word(json, values[0], keys[0], types, json->part < 0 ? 3 : 2);
    if (type < 0 || svm->rescale < 0 || !vmafgpu__read_names(b, values[2], svm))
        return 0;
    if (b->pool.width != 0 && b->pool.width != svm->feature_count) {
        vmafgpu__json_fail(json, values[2], "%d features where the parts before have %d", svm->feature_count,
                           b->pool.width);
        return 0;
    }
    b->pool.width = svm->feature_count;
    svm->slopes = vmafgpu__read_scale(b, values[4], keys[4], 1, svm);
    svm->intercepts = vmafgpu__read_scale(b, values[5], keys[5], 0, svm);
    return json->result == VMAFGPU_OK && vmafgpu__read_options(b, values[9], svm) &&
           vmafgpu__read_clip(b, values[6], svm) && vmafgpu__read_transform(b, values[7], svm) &&
           vmafgpu__read_chroma(b, values[8], svm) && vmafgpu__read_svm(b, values[3], svm);
}

/* Moves to the next part of a collection, whose keys count "0", "1", ... among any others. */
static const char *vmafgpu__next_part(vmafgpu__json *json, vmafgpu__json_list *list, int part) {
    char key[16];

    (void)snprintf(key, sizeof key, "%d", part);
    while (vmafgpu__json_next(json, list)) {
        list->at = vmafgpu__json_skip(json, list->value, 1);
        if (list->at != NULL && vmafgpu__json_says(json, list->key, key))
            return list->value;
    }
    return NULL;
}

/* Checks the whole text and finds out what it holds. */
static int vmafgpu__read_root(vmafgpu__builder *b) {
    static const char *const keys[] = {"model_dict", "0"};
    vmafgpu__json *json = &b->json;
    vmafgpu__json_list list;
    const char *values[2];
    const char *end;

    b->root = vmafgpu__json_space(json, json->begin);
    if (b->root == json->end || *b->root != '{') {
        vmafgpu__json_fail(json, b->root, "the text is not a JSON object");
        return 0;
    }
    end = vmafgpu__json_find(json, b->root, keys, 2, values);
    if (end == NULL)
        return 0;
    end = vmafgpu__json_space(json, end);
    if (end != json->end) {
        vmafgpu__json_fail(json, end, "something follows the JSON object");
        return 0;
    }
    b->single = values[0];
    b->parts = 1;
    if (b->single != NULL)
        return 1;
    vmafgpu__json_walk(&list, b->root);
    for (b->parts = 0; vmafgpu__next_part(json, &list, b->parts) != NULL; b->parts++) {
    }
    if (b->parts == 0) {
        vmafgpu__json_fail(json, b->root, "key 'model_dict' is missing");
    } else if (b->parts == 1 || b->parts > VMAFGPU__SVM_LIMIT) {
        vmafgpu__json_fail(json, b->root, "a collection must have 2 to %d parts", VMAFGPU__SVM_LIMIT);
    }
    return json->result == VMAFGPU_OK;
}

static int vmafgpu__read_part(vmafgpu__builder *b, const char *at, vmafgpu_svm *svm) {
    static const char *const keys[] = {"model_dict"};
    const char *dict = NULL;

    if (*at != '{') {
        vmafgpu__json_fail(&b->json, at, "a part of a collection must be an object");
        return 0;
    }
    if (vmafgpu__json_find(&b->json, at, keys, 1, &dict) == NULL)
        return 0;
    if (dict == NULL) {
        vmafgpu__json_fail(&b->json, at, "key 'model_dict' is missing");
        return 0;
    }
    return vmafgpu__read_dict(b, dict, svm);
}

/* One of the three times. The result, behind the first byte of the block, exists in the last one only. */
static int vmafgpu__build(vmafgpu__builder *b) {
    vmafgpu_model *model;
    vmafgpu_svm *svms;
    vmafgpu_svm svm;
    vmafgpu__json_list list;
    const double *table;
    const char *name;
    int i;

    b->arena.used = 0;
    model = (vmafgpu_model *)vmafgpu__arena_take(&b->arena, sizeof *model);
    svms = (vmafgpu_svm *)vmafgpu__arena_take(&b->arena, (size_t)b->parts * sizeof *svms);
    name = vmafgpu__arena_here(&b->arena);
    vmafgpu__arena_put(&b->arena, b->json.name, strlen(b->json.name) + 1);
    vmafgpu__json_walk(&list, b->root);
    for (i = 0; i < b->parts; i++) {
        int ok;

        if (b->single != NULL) {
            ok = vmafgpu__read_dict(b, b->single, &svm);
        } else {
            const char *part = vmafgpu__next_part(&b->json, &list, i);

            b->json.part = i;
            ok = part != NULL && vmafgpu__read_part(b, part, &svm);
        }
        if (!ok)
            return 0;
        if (svms != NULL)
            svms[i] = svm;
    }
    if (b->pool.rows == NULL)
        return 1;
    table = vmafgpu__arena_numbers(&b->arena, b->pool.rows, b->pool.count * b->pool.width);
    if (model != NULL) {
        for (i = 0; i < b->parts; i++)
            svms[i].sv_table = table;
        model->name = name;
        model->svm_count = b->parts;
        model->svms = svms;
    }
    return 1;
}

static vmafgpu_result vmafgpu__build_all(vmafgpu__builder *b, const vmafgpu_allocator *allocator) {
    int ready;

    if (!vmafgpu__read_root(b) || !vmafgpu__build(b))
        return b->json.result;
    ready = vmafgpu__pool_open(&b->pool, allocator);
    if (ready && !vmafgpu__build(b))
        return b->json.result;
    if (ready)
        b->arena.base = (char *)vmafgpu__memory_take(allocator, b->arena.used);
    if (b->arena.base == NULL) {
        vmafgpu__sentence(b->json.error, b->json.error_size, "model '%.80s': no memory", b->json.name);
        return VMAFGPU_ERROR_MEMORY;
    }
    (void)vmafgpu__build(b); /* has just succeeded on the same text; only the chroma features are looked at now */
    return b->json.result;
}

VMAFGPU_API vmafgpu_result vmafgpu_model_parse(vmafgpu_model **model, const char *name, const char *json, size_t size,
                                               const vmafgpu_allocator *allocator, char *error, size_t error_size) {
    vmafgpu__builder b;
    vmafgpu_result result;

    vmafgpu__sentence(error, error_size, "%s", "");
    if (model != NULL)
        *model = NULL;
    if (model == NULL || name == NULL || json == NULL) {
        vmafgpu__sentence(error, error_size, "vmafgpu_model_parse: model, name and json must not be NULL");
        return VMAFGPU_ERROR_ARGUMENT;
    }
    if (allocator != NULL && (allocator->alloc == NULL) != (allocator->free == NULL)) {
        vmafgpu__sentence(error, error_size, "model '%.80s': the allocator has one function where it needs both", name);
        return VMAFGPU_ERROR_ARGUMENT;
    }
    if (size > VMAFGPU__JSON_SIZE || strlen(name) > VMAFGPU__JSON_SIZE) {
        vmafgpu__sentence(error, error_size, "model '%.80s': the text is longer than 64 MiB", name);
        return VMAFGPU_ERROR_MODEL;
    }
    memset(&b, 0, sizeof b);
    b.json.name = name;
    b.json.part = -1;
    b.json.begin = json;
    b.json.end = json + size;
    b.json.error = error;
    b.json.error_size = error_size;
    b.json.result = VMAFGPU_OK;
    result = vmafgpu__build_all(&b, allocator);
    vmafgpu__memory_give(allocator, b.pool.rows);
    if (result == VMAFGPU_OK) {
        *model = (vmafgpu_model *)(void *)b.arena.base;
    } else {
        vmafgpu__memory_give(allocator, b.arena.base);
    }
    return result;
}

VMAFGPU_API void vmafgpu_model_free(vmafgpu_model *model, const vmafgpu_allocator *allocator) {
    vmafgpu__memory_give(allocator, model);
}

#else /* VMAFGPU_NO_JSON */

VMAFGPU_API vmafgpu_result vmafgpu_model_parse(vmafgpu_model **model, const char *name, const char *json, size_t size,
                                               const vmafgpu_allocator *allocator, char *error, size_t error_size) {
    (void)name;
    (void)json;
    (void)size;
    (void)allocator;
    if (model != NULL)
        *model = NULL;
    vmafgpu__sentence(error, error_size, "this build has no reader of models (VMAFGPU_NO_JSON)");
    return VMAFGPU_ERROR_MODEL;
}

VMAFGPU_API void vmafgpu_model_free(vmafgpu_model *model, const vmafgpu_allocator *allocator) {
    (void)model; /* there can be none */
    (void)allocator;
}

#endif /* VMAFGPU_NO_JSON */

/* ================================================================================================
 * >>models                                       built-in models and prediction
 * ================================================================================================
 * Built-in models and prediction. The order of operations is libvmaf's, so that the last bit is, too. */

#ifndef VMAFGPU_NO_MODELS

#  ifndef VMAFGPU_MODEL_HEADER
#    define VMAFGPU_MODEL_HEADER "models/model_embed.h"
#  endif
#  include VMAFGPU_MODEL_HEADER

VMAFGPU_API const vmafgpu_model *vmafgpu_builtin_model_at(int i) {
    int k;

    for (k = 0; k <= i; k++) { /* an entry without a name ends the table */
        if (vmafgpu__embedded_models[k].name == NULL)
            return NULL;
    }
    return i < 0 ? NULL : &vmafgpu__embedded_models[i];
}

#else

VMAFGPU_API const vmafgpu_model *vmafgpu_builtin_model_at(int i) {
    (void)i;
    return NULL;
}

#endif

VMAFGPU_API const vmafgpu_model *vmafgpu_builtin_model(const char *name) {
    const vmafgpu_model *model = NULL;
    int i;

    for (i = 0; name != NULL && (model = vmafgpu_builtin_model_at(i)) != NULL; i++) {
        if (strcmp(model->name, name) == 0)
            break;
    }
    return model;
}

/* What is wrong with one SVM of a struct that a caller may have made; NULL when nothing is. */
static const char *vmafgpu__svm_fault(const vmafgpu_svm *svm) {
    int i;

    if (svm->feature_count < 1 || svm->feature_count > VMAFGPU__FEATURE_LIMIT)
        return "feature_count must be 1 to 64";
    if (svm->feature_names == NULL || svm->feature_options == NULL)
        return "feature_names and feature_options must not be NULL";
    for (i = 0; i < svm->feature_count; i++) {
        if (svm->feature_names[i] == NULL || svm->feature_options[i] == NULL)
            return "feature_names and feature_options must not hold NULL";
    }
    if (svm->slopes == NULL || svm->intercepts == NULL)
        return "slopes and intercepts must not be NULL";
    if (svm->sv_count < 1 || svm->sv_coefs == NULL || svm->sv_rows == NULL || svm->sv_table == NULL)
        return "sv_count must be positive and sv_coefs, sv_rows and sv_table must not be NULL";
    if (svm->knot_count < 0 || svm->knot_count > VMAFGPU__KNOT_LIMIT || (svm->knot_count > 0 && svm->knots == NULL))
        return "knot_count must be 0 to 10, and knots not NULL";
    if (svm->has_chroma_correction && (vmafgpu__feature_containing(svm, "adm3") < 0 ||
                                       vmafgpu__feature_containing(svm, "speed_chroma") < 0)) {
        return "chroma_correction needs one adm3 and one speed_chroma feature";
    }
    return NULL;
}

static int vmafgpu__model_check(const vmafgpu_model *m, char *error, size_t size) {
    int i;

    if (m == NULL || m->name == NULL || m->svms == NULL) {
        vmafgpu__sentence(error, size, "a model, its name or its svms are NULL");
        return 0;
    }
    if (m->svm_count < 1 || m->svm_count > VMAFGPU__SVM_LIMIT) {
        vmafgpu__sentence(error, size, "model '%.80s': svm_count must be 1 to %d", m->name, VMAFGPU__SVM_LIMIT);
        return 0;
    }
    for (i = 0; i < m->svm_count; i++) {
        const char *fault = vmafgpu__svm_fault(&m->svms[i]);

        if (fault != NULL) {
            vmafgpu__sentence(error, size, "model '%.80s', svm %d: %s", m->name, i, fault);
            return 0;
        }
    }
    return 1;
}

/* What a collection reports besides the scores of its parts, in this order. */
enum { VMAFGPU__BAGGING, VMAFGPU__STDDEV, VMAFGPU__CI_LOW, VMAFGPU__CI_HIGH, VMAFGPU__COLLECTION_OUTPUTS };

static int vmafgpu__model_outputs(const vmafgpu_model *m) {
    return m->svm_count == 1 ? 1 : m->svm_count + VMAFGPU__COLLECTION_OUTPUTS;
}

static void vmafgpu__model_output_name(const vmafgpu_model *m, int output, const char *name, char *out,
                                                       size_t size) {
    static const char *const suffixes[VMAFGPU__COLLECTION_OUTPUTS] = {"_bagging", "_stddev", "_ci_p95_lo",
                                                                      "_ci_p95_hi"};

    if (output == 0) {
        vmafgpu__sentence(out, size, "%s", name);
    } else if (output < m->svm_count) {
        vmafgpu__sentence(out, size, "%s_%04d", name, output);
    } else if (output < vmafgpu__model_outputs(m)) {
        vmafgpu__sentence(out, size, "%s%s", name, suffixes[output - m->svm_count]);
    } else {
        vmafgpu__sentence(out, size, "%s", "");
    }
}

/* Doubles that vmafgpu__model_predict() needs: a feature vector and the raw scores of a collection. */
static size_t vmafgpu__model_scratch(const vmafgpu_model *m) {
    int i, most = 0;

    for (i = 0; i < m->svm_count; i++)
        most = m->svms[i].feature_count > most ? m->svms[i].feature_count : most;
    return (size_t)most + (size_t)(m->svm_count - 1);
}

/* Where chroma is untouched (exactly 0), its feature follows from luma's adm3. Both are taken back from their
 * normalised values, as libvmaf does, not from the features. */
static void vmafgpu__correct_chroma(const vmafgpu_svm *svm, double *x) {
    int guide = vmafgpu__feature_containing(svm, "adm3");
    int chroma = vmafgpu__feature_containing(svm, "speed_chroma");
    double adm3, value;

    if (guide < 0 || chroma < 0)
        return;
    adm3 = x[guide];
    value = x[chroma];
    if (svm->rescale) {
        adm3 = (adm3 - svm->intercepts[1 + guide]) / svm->slopes[1 + guide];
        value = (value - svm->intercepts[1 + chroma]) / svm->slopes[1 + chroma];
    }
    if (value < 0.0 || value > 0.0 || value != value)
        return;
    value = (-svm->chroma_correction * adm3) + svm->chroma_correction;
    x[chroma] = svm->rescale ? svm->slopes[1 + chroma] * value + svm->intercepts[1 + chroma] : value;
}

/* The score before transform and clip. x: room for the feature vector. */
static double vmafgpu__svm_score(const vmafgpu_svm *svm, const double *row, const int *columns, double *x) {
    double sum = 0;
    int i, k;

    for (i = 0; i < svm->feature_count; i++) {
        x[i] = row[columns[i]];
        if (svm->rescale)
            x[i] = svm->slopes[1 + i] * x[i] + svm->intercepts[1 + i];
    }
    if (svm->has_chroma_correction) {
        if (fabs(svm->chroma_correction) <= 0.0) {
            return NAN; /* libvmaf then gives no score at all */
        }
        vmafgpu__correct_chroma(svm, x);
    }
    for (k = 0; k < svm->sv_count; k++) {
        const double *vector = svm->sv_table + (size_t)svm->sv_rows[k] * (size_t)svm->feature_count;
        double distance = 0;

        for (i = 0; i < svm->feature_count; i++) {
            double d = x[i] - vector[i];

            distance += d * d;
        }
        sum += svm->sv_coefs[k] * exp(-svm->gamma * distance);
    }
    sum -= svm->rho;
    return svm->rescale ? (sum - svm->intercepts[0]) / svm->slopes[0] : sum;
}

/* Piecewise linear through the knots, whose outer segments go on to both sides. At a bad pair of knots what was found
 * so far stays, as in libvmaf. */
static double vmafgpu__bend(const vmafgpu_svm *svm, double x) {
    double y = 0;
    int i, segments = svm->knot_count - 1;

    if (segments < 1)
        return x;
    for (i = 0; i < segments; i++) {
        const double *k = svm->knots + 2 * i;
        double x1 = k[0], y1 = k[1], x2 = k[2], y2 = k[3];
        int inside = x1 <= x && x <= x2;

        if (!(x1 < x2 && y1 <= y2))
            break;
        if (!inside && !(i == 0 && x < x1) && !(i == segments - 1 && x > x2))
            continue;
        if (y1 >= y2) {
            y = y1;
        } else if (fabs(x1) <= 0.0) {
            y = (y2 - y1) / x2 * x + y1;
        } else {
            double slope = (y2 - y1) / (x2 - x1);

            y = slope * x + (y1 - x1 * slope);
        }
    }
    return y;
}

/* Transform and clip. */
static double vmafgpu__svm_finish(const vmafgpu_svm *svm, int disable_clip, int enable_transform, double score) {
    if (svm->has_transform && (svm->transform_enabled || enable_transform)) {
        double y = score;

        if (svm->has_p0 || svm->has_p1 || svm->has_p2) {
            y = 0.;
            y += svm->has_p0 ? svm->p0 : 0.;
            if (svm->has_p1)
                y += svm->p1 * score;
            if (svm->has_p2)
                y += svm->p2 * score * score;
        }
        y = vmafgpu__bend(svm, y);
        if (svm->out_lte_in)
            y = y > score ? score : y;
        if (svm->out_gte_in)
            y = y < score ? score : y;
        score = y;
    }
    if (svm->has_clip && !disable_clip) {
        score = score < svm->clip_min ? svm->clip_min : score;
        score = score > svm->clip_max ? svm->clip_max : score;
    }
    return score;
}

/* Of sorted scores, linear between ranks. */
static double vmafgpu__sorted_percentile(const double *scores, int count, double percent) {
    double rank = percent * (double)(count - 1) / 100.;
    int low = (int)floor(rank), high = (int)ceil(rank);

    return low == high ? scores[low] : scores[low] * ((double)high - rank) + scores[high] * (rank - (double)low);
}

/* The four figures of a collection from its raw scores, which are sorted on the way. */
static void vmafgpu__bootstrap(const vmafgpu_svm *svm, int disable_clip, int enable_transform, double *raw, int count,
                               double *out) {
    const double delta = 0.01;
    double sum = 0., mean, deviation, above, below;
    int i;

    for (i = 0; i < count; i++)
        sum += raw[i];
    mean = sum / (double)count;
    sum = 0.;
    for (i = 0; i < count; i++)
        sum += (raw[i] - mean) * (raw[i] - mean);
    deviation = sqrt(sum / (double)count);
    vmafgpu__sort(raw, (size_t)count);
    above = vmafgpu__svm_finish(svm, disable_clip, enable_transform, mean + delta);
    below = vmafgpu__svm_finish(svm, disable_clip, enable_transform, mean - delta);
    out[VMAFGPU__BAGGING] = vmafgpu__svm_finish(svm, disable_clip, enable_transform, mean);
    out[VMAFGPU__STDDEV] = deviation * ((above - below) / (2.0 * delta)); /* as wide as the transform makes it */
    out[VMAFGPU__CI_LOW] = vmafgpu__svm_finish(svm, disable_clip, enable_transform,
                                               vmafgpu__sorted_percentile(raw, count, 2.5));
    out[VMAFGPU__CI_HIGH] = vmafgpu__svm_finish(svm, disable_clip, enable_transform,
                                                vmafgpu__sorted_percentile(raw, count, 97.5));
}

/* Predicts one frame. columns: for each SVM in order, where in `row` its features are. scratch: room for
 * vmafgpu__model_scratch(m) doubles; out: vmafgpu__model_outputs(m) doubles. */
static void vmafgpu__model_predict(const vmafgpu_model *m, int disable_clip, int enable_transform,
                                                   const double *row, const int *columns, double *scratch,
                                                   double *out) {
    double *x = scratch + (m->svm_count - 1);
    int i;

    for (i = 0; i < m->svm_count; i++) {
        double raw = vmafgpu__svm_score(&m->svms[i], row, columns, x);

        out[i] = vmafgpu__svm_finish(&m->svms[i], disable_clip, enable_transform, raw);
        if (i > 0)
            scratch[i - 1] = raw;
        columns += m->svms[i].feature_count;
    }
    if (m->svm_count > 1)
        vmafgpu__bootstrap(&m->svms[1], disable_clip, enable_transform, scratch, m->svm_count - 1, out + m->svm_count);
}

/* ================================================================================================
 * >>features                                     extractors: options, columns, names
 * ================================================================================================ */
typedef enum vmafgpu__option_type {
    VMAFGPU__REAL = 0, VMAFGPU__INTEGER, VMAFGPU__FLAG, VMAFGPU__WORD, VMAFGPU__REFUSED
} vmafgpu__option_type;

typedef struct vmafgpu__option {
    const char          *name, *alias;    /* no alias: not part of column names */
    vmafgpu__option_type type;
    double               standard, min, max;   /* of a word its place among `words` */
    const char          *words;           /* that are allowed, with commas between; or why the option is refused */
} vmafgpu__option;

typedef struct vmafgpu__column {
    const char *name;                     /* as reports print it */
    const char *model_name;               /* as model files name it, if otherwise */
    int         debug;                    /* only with the option debug, or the like */
    int         late;                     /* needs the following frame */
    int         bare;                     /* the options never enter the name */
} vmafgpu__column;

/* The options of each kind, in the alphabetical order in which they enter names. */
enum {
    VMAFGPU__ADM_CSF_DIAG_SCALE, VMAFGPU__ADM_CSF_MODE, VMAFGPU__ADM_CSF_SCALE, VMAFGPU__ADM_DLM_WEIGHT,
    VMAFGPU__ADM_GAIN_LIMIT, VMAFGPU__ADM_MIN_VAL, VMAFGPU__ADM_NOISE_WEIGHT, VMAFGPU__ADM_VIEW_DIST,
    VMAFGPU__ADM_DISPLAY_HEIGHT, VMAFGPU__ADM_SKIP_AIM, VMAFGPU__ADM_SKIP_SCALE0, VMAFGPU__ADM_DEBUG
};
enum { VMAFGPU__VIF_DEBUG, VMAFGPU__VIF_GAIN_LIMIT, VMAFGPU__VIF_SKIP_SCALE0 };
enum {
    VMAFGPU__MOTION_DEBUG, VMAFGPU__MOTION_BLEND_FACTOR, VMAFGPU__MOTION_BLEND_OFFSET, VMAFGPU__MOTION_FIVE_FRAME,
    VMAFGPU__MOTION_FORCE_ZERO, VMAFGPU__MOTION_FPS_WEIGHT, VMAFGPU__MOTION_MAX_VAL, VMAFGPU__MOTION_AVERAGE
};

enum {
    VMAFGPU__CAMBI_EOTF, VMAFGPU__CAMBI_SPEEDUP, VMAFGPU__CAMBI_MAX_VAL, VMAFGPU__CAMBI_TOPK,
    VMAFGPU__CAMBI_VISIBLE_LUMINANCE, VMAFGPU__CAMBI_ENC_BIT_DEPTH, VMAFGPU__CAMBI_ENC_HEIGHT,
    VMAFGPU__CAMBI_ENC_WIDTH, VMAFGPU__CAMBI_OLD_EOTF, VMAFGPU__CAMBI_FULL_REF, VMAFGPU__CAMBI_HEATMAPS,
    VMAFGPU__CAMBI_LOG_CONTRAST, VMAFGPU__CAMBI_SRC_HEIGHT, VMAFGPU__CAMBI_SRC_WIDTH, VMAFGPU__CAMBI_OLD_TOPK,
    VMAFGPU__CAMBI_VISIBILITY, VMAFGPU__CAMBI_WINDOW
};
enum {
    VMAFGPU__SPEED_KERNELSCALE, VMAFGPU__SPEED_MAX_VAL, VMAFGPU__SPEED_NOISE_FLOOR, VMAFGPU__SPEED_PRESCALE,
    VMAFGPU__SPEED_METHOD, VMAFGPU__SPEED_NOISE, VMAFGPU__SPEED_WEIGHTING
};

static const vmafgpu__option vmafgpu__adm_options[] = {
    { "adm_csf_diag_scale", "scfd", VMAFGPU__REAL, 1, 0, 50, NULL },
    { "adm_csf_mode", "csf", VMAFGPU__INTEGER, 0, 0, 3, NULL },
    { "adm_csf_scale", "scf", VMAFGPU__REAL, 1, 0, 50, NULL },
    { "adm_dlm_weight", "dlmw", VMAFGPU__REAL, 0.5, 0, 1, NULL },
    { "adm_enhn_gain_limit", "egl", VMAFGPU__REAL, 100, 1, 100, NULL },
    { "adm_min_val", "min", VMAFGPU__REAL, 0, 0, 1, NULL },
    { "adm_noise_weight", "nw", VMAFGPU__REAL, 0.03125, 0, 1500, NULL },
    { "adm_norm_view_dist", "nvd", VMAFGPU__REAL, 3, 0.75, 24, NULL },
    { "adm_ref_display_height", "rdh", VMAFGPU__INTEGER, 1080, 1, 4320, NULL },
    { "adm_skip_aim", NULL, VMAFGPU__FLAG, 0, 0, 1, NULL },
    { "adm_skip_scale0", "ssz", VMAFGPU__FLAG, 0, 0, 1, NULL },
    { "debug", NULL, VMAFGPU__FLAG, 0, 0, 1, NULL },
    { NULL, NULL, VMAFGPU__FLAG, 0, 0, 0, NULL }
};
static const vmafgpu__option vmafgpu__vif_options[] = {
    { "debug", NULL, VMAFGPU__FLAG, 0, 0, 1, NULL },
    { "vif_enhn_gain_limit", "egl", VMAFGPU__REAL, 100, 1, 100, NULL },
    { "vif_skip_scale0", "ssclz", VMAFGPU__FLAG, 0, 0, 1, NULL },
    { NULL, NULL, VMAFGPU__FLAG, 0, 0, 0, NULL }
};
static const vmafgpu__option vmafgpu__motion_options[] = {
    { "debug", NULL, VMAFGPU__FLAG, 0, 0, 1, NULL },
    { "motion_blend_factor", "mbf", VMAFGPU__REAL, 1, 0, 1, NULL },
    { "motion_blend_offset", "mbo", VMAFGPU__REAL, 40, 0, 1000, NULL },
    { "motion_five_frame_window", "mffw", VMAFGPU__FLAG, 0, 0, 1, NULL },
    { "motion_force_zero", "force_0", VMAFGPU__FLAG, 0, 0, 1, NULL },
    { "motion_fps_weight", "mfw", VMAFGPU__REAL, 1, 0, 5, NULL },
    { "motion_max_val", "mmxv", VMAFGPU__REAL, 10000, 0, 10000, NULL },
    { "motion_moving_average", "mma", VMAFGPU__FLAG, 0, 0, 1, NULL },
    { NULL, NULL, VMAFGPU__FLAG, 0, 0, 0, NULL }
};
static const vmafgpu__option vmafgpu__cambi_options[] = {
    { "cambi_eotf", "ceot", VMAFGPU__WORD, 0, 0, 0, "bt1886,pq" },
    { "cambi_high_res_speedup", "hrs", VMAFGPU__INTEGER, 0, 0, 2160, NULL },
    { "cambi_max_val", "cmxv", VMAFGPU__REAL, 1000, 0, 1000, NULL },
    { "cambi_topk", "ctpk", VMAFGPU__REAL, 0.6, 0.0001, 1, NULL },
    { "cambi_vis_lum_threshold", "vlt", VMAFGPU__REAL, 0, 0, 300, NULL },
    { "enc_bitdepth", "encbd", VMAFGPU__INTEGER, 0, 6, 16, NULL },
    { "enc_height", "ench", VMAFGPU__INTEGER, 0, 150, 7680, NULL },
    { "enc_width", "encw", VMAFGPU__INTEGER, 0, 180, 7680, NULL },
    { "eotf", "eotf", VMAFGPU__WORD, 0, 0, 0, "bt1886,pq" },
    { "full_ref", NULL, VMAFGPU__FLAG, 0, 0, 1, NULL },
    { "heatmaps_path", NULL, VMAFGPU__REFUSED, 0, 0, 0, "no files are written" },
    { "max_log_contrast", "mlc", VMAFGPU__INTEGER, 2, 0, 5, NULL },
    { "src_height", "srch", VMAFGPU__INTEGER, 0, 200, 4320, NULL },
    { "src_width", "srcw", VMAFGPU__INTEGER, 0, 320, 7680, NULL },
    { "topk", "topk", VMAFGPU__REAL, 0.6, 0.0001, 1, NULL },
    { "tvi_threshold", "tvit", VMAFGPU__REAL, 0.019, 0.0001, 1, NULL },
    { "window_size", "ws", VMAFGPU__INTEGER, 65, 15, 127, NULL },
    { NULL, NULL, VMAFGPU__FLAG, 0, 0, 0, NULL }
};
static const vmafgpu__option vmafgpu__speed_options[] = {
    { "speed_kernelscale", "ks", VMAFGPU__REAL, 1, 0.1, 4, NULL },
    { "speed_max_val", "mxv", VMAFGPU__REAL, 1000, 0, 1000, NULL },
    { "speed_nn_floor", "nnf", VMAFGPU__REAL, 0, 0, 1, NULL },
    { "speed_prescale", "ps", VMAFGPU__REAL, 1, 0.1, 4, NULL },
    { "speed_prescale_method", "psm", VMAFGPU__WORD, 0, 0, 0, "nearest,bilinear,bicubic,lanczos4" },
    { "speed_sigma_nn", "snn", VMAFGPU__REAL, 0.29, 0.1, 2, NULL },
    { "speed_weight_var_mode", "wvm", VMAFGPU__INTEGER, 0, 0, 6, NULL },
    { NULL, NULL, VMAFGPU__FLAG, 0, 0, 0, NULL }
};

static const vmafgpu__column vmafgpu__adm_columns[] = {
    { "integer_adm2", "VMAF_integer_feature_adm2_score", 0, 0, 0 },
    { "integer_aim", "VMAF_integer_feature_aim_score", 0, 0, 0 },
    { "integer_adm3", "VMAF_integer_feature_adm3_score", 0, 0, 0 },
    { "integer_adm_scale0", NULL, 0, 0, 0 }, { "integer_adm_scale1", NULL, 0, 0, 0 },
    { "integer_adm_scale2", NULL, 0, 0, 0 }, { "integer_adm_scale3", NULL, 0, 0, 0 },
    { "integer_adm", NULL, 1, 0, 0 }, { "integer_adm_num", NULL, 1, 0, 0 }, { "integer_adm_den", NULL, 1, 0, 0 },
    { "integer_adm_num_scale0", NULL, 1, 0, 0 }, { "integer_adm_den_scale0", NULL, 1, 0, 0 },
    { "integer_adm_num_scale1", NULL, 1, 0, 0 }, { "integer_adm_den_scale1", NULL, 1, 0, 0 },
    { "integer_adm_num_scale2", NULL, 1, 0, 0 }, { "integer_adm_den_scale2", NULL, 1, 0, 0 },
    { "integer_adm_num_scale3", NULL, 1, 0, 0 }, { "integer_adm_den_scale3", NULL, 1, 0, 0 },
    { NULL, NULL, 0, 0, 0 }
};
static const vmafgpu__column vmafgpu__vif_columns[] = {
    { "integer_vif_scale0", "VMAF_integer_feature_vif_scale0_score", 0, 0, 0 },
    { "integer_vif_scale1", "VMAF_integer_feature_vif_scale1_score", 0, 0, 0 },
    { "integer_vif_scale2", "VMAF_integer_feature_vif_scale2_score", 0, 0, 0 },
    { "integer_vif_scale3", "VMAF_integer_feature_vif_scale3_score", 0, 0, 0 },
    { "integer_vif", NULL, 1, 0, 0 }, { "integer_vif_num", NULL, 1, 0, 0 }, { "integer_vif_den", NULL, 1, 0, 0 },
    { "integer_vif_num_scale0", NULL, 1, 0, 0 }, { "integer_vif_den_scale0", NULL, 1, 0, 0 },
    { "integer_vif_num_scale1", NULL, 1, 0, 0 }, { "integer_vif_den_scale1", NULL, 1, 0, 0 },
    { "integer_vif_num_scale2", NULL, 1, 0, 0 }, { "integer_vif_den_scale2", NULL, 1, 0, 0 },
    { "integer_vif_num_scale3", NULL, 1, 0, 0 }, { "integer_vif_den_scale3", NULL, 1, 0, 0 },
    { NULL, NULL, 0, 0, 0 }
};
static const vmafgpu__column vmafgpu__motion_columns[] = {
    { "VMAF_integer_feature_motion_sad_score", NULL, 0, 0, 0 },
    { "integer_motion", "VMAF_integer_feature_motion_score", 1, 0, 0 },
    { "integer_motion2", "VMAF_integer_feature_motion2_score", 0, 1, 0 },
    { "integer_motion3", "VMAF_integer_feature_motion3_score", 0, 1, 0 },
    { NULL, NULL, 0, 0, 0 }
};
static const vmafgpu__column vmafgpu__cambi_columns[] = {
    { "cambi", "Cambi_feature_cambi_score", 0, 0, 0 },
    { "cambi_source", NULL, 1, 0, 1 },
    { "cambi_full_reference", NULL, 1, 0, 1 },
    { NULL, NULL, 0, 0, 0 }
};
static const vmafgpu__column vmafgpu__speed_columns[] = {
    { "speed_chroma_u", "Speed_chroma_feature_speed_chroma_u_score", 0, 0, 0 },
    { "speed_chroma_v", "Speed_chroma_feature_speed_chroma_v_score", 0, 0, 0 },
    { "speed_chroma_uv", "Speed_chroma_feature_speed_chroma_uv_score", 0, 0, 0 },
    { NULL, NULL, 0, 0, 0 }
};

typedef struct vmafgpu__feature {
    const char            *name;
    const vmafgpu__option *options;
    int                    debug_option;
    const vmafgpu__column *columns;
} vmafgpu__feature;

static const vmafgpu__feature vmafgpu__features[VMAFGPU__KINDS] = {
    { "adm", vmafgpu__adm_options, VMAFGPU__ADM_DEBUG, vmafgpu__adm_columns },
    { "vif", vmafgpu__vif_options, VMAFGPU__VIF_DEBUG, vmafgpu__vif_columns },
    { "motion", vmafgpu__motion_options, VMAFGPU__MOTION_DEBUG, vmafgpu__motion_columns },
    { "cambi", vmafgpu__cambi_options, VMAFGPU__CAMBI_FULL_REF, vmafgpu__cambi_columns },
    { "speed_chroma", vmafgpu__speed_options, 0, vmafgpu__speed_columns }
};
static const char vmafgpu__feature_list[] = "adm, vif, motion, cambi or speed_chroma";

static int vmafgpu__has_column(const vmafgpu__extractor *e, const vmafgpu__column *column) {
    return !column->debug || e->option[vmafgpu__features[e->kind].debug_option] != 0;
}

/* Reads the value of an option: it passes through a float and six digits, as in libvmaf. */
static int vmafgpu__parse_option(const char *value, const char *end, double *number) {
    char text[40];
    if (vmafgpu__parse_float(value, end, number) != end)
        return 0;
    vmafgpu__print_number(text, *number);
    return vmafgpu__parse_number(text, text + strlen(text), number) != NULL;
}

/* One option as it is written, "name=value" or "feature.name=value". */
typedef struct vmafgpu__setting {
    const char *feature, *feature_end;    /* empty without a feature */
    const char *name, *name_end, *value, *end;
} vmafgpu__setting;

/* How much of begin..end a sentence shows. */
static int vmafgpu__shown(const char *begin, const char *end) {
    return (int)(end - begin < 80 ? end - begin : 80);
}

/* Takes the next of the settings that colons part off *text. */
static vmafgpu_result vmafgpu__next_setting(vmafgpu *v, const char **text, int with_feature, vmafgpu__setting *out) {
    const char *begin = *text;
    out->end = begin + strcspn(begin, ":");
    out->name = out->feature = out->feature_end = out->name_end = out->value = begin;
    while (out->name_end < out->end && *out->name_end != '=')
        out->name_end++;
    if (out->name_end == out->end)
        return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE, "option '%.*s' must look like name=value",
                             vmafgpu__shown(begin, out->end), begin);
    out->value = out->name_end + 1;
    if (with_feature) {
        while (out->feature_end < out->name_end && *out->feature_end != '.')
            out->feature_end++;
        out->name = out->feature_end < out->name_end ? out->feature_end + 1 : out->feature_end;
    }
    *text = *out->end ? out->end + 1 : out->end;
    return VMAFGPU_OK;
}

/* The place of a word in a list with commas between; -1: it is not there. */
static int vmafgpu__find_word(const char *words, const char *begin, const char *end) {
    for (int i = 0;; i++) {
        const char *comma = words + strcspn(words, ",");
        if (comma - words == end - begin && !strncmp(words, begin, (size_t)(end - begin)))
            return i;
        if (!*comma)
            return -1;
        words = comma + 1;
    }
}

static const char *vmafgpu__nth_word(const char *words, int n, int *length) {
    while (n-- > 0)
        words += strcspn(words, ",") + 1;
    *length = (int)strcspn(words, ",");
    return words;
}

static vmafgpu_result vmafgpu__set_option(vmafgpu *v, vmafgpu__extractor *e, const vmafgpu__setting *setting) {
    const vmafgpu__feature *feature = &vmafgpu__features[e->kind];
    const char *value = setting->value, *end = setting->end;
    const int shown = vmafgpu__shown(value, end);
    int i = 0;
    while (feature->options[i].name && !vmafgpu__text_equal(setting->name, setting->name_end, feature->options[i].name))
        i++;
    const vmafgpu__option *option = &feature->options[i];
    if (!option->name)
        return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE, "feature '%s' has no option '%.*s'", feature->name,
                             vmafgpu__shown(setting->name, setting->name_end), setting->name);
    double number = 0;
    if (option->type == VMAFGPU__FLAG) {
        if (vmafgpu__text_equal(value, end, "true"))
            number = 1;
        else if (!vmafgpu__text_equal(value, end, "false"))
            return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE,
                                 "option '%s' of feature '%s' must be true or false, not '%.*s'", option->name,
                                 feature->name, shown, value);
    } else if (option->type == VMAFGPU__REFUSED) {
        return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE, "option '%s' of feature '%s' is not supported: %s", option->name,
                             feature->name, option->words);
    } else if (option->type == VMAFGPU__WORD) {
        number = vmafgpu__find_word(option->words, value, end);
        if (number < 0)
            return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE, "option '%s' of feature '%s' must be one of %s, not '%.*s'",
                                 option->name, feature->name, option->words, shown, value);
    } else {
        if (!vmafgpu__parse_option(value, end, &number))
            return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE, "option '%s' of feature '%s' must be a number, not '%.*s'",
                                 option->name, feature->name, shown, value);
        if (option->type == VMAFGPU__INTEGER && number > -1e9 && number < 1e9)
            number = (double)(int)number;
        if (!(number >= option->min && number <= option->max))
            return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE,
                                 "option '%s' of feature '%s' must be from %.6g to %.6g, not '%.*s'", option->name,
                                 feature->name, option->min, option->max, shown, value);
    }
    e->option[i] = number;
    return VMAFGPU_OK;
}

/* Applies "name=value:...", or of "feature.name=value:..." what is meant for the extractor's feature. */
static vmafgpu_result vmafgpu__set_options(vmafgpu *v, vmafgpu__extractor *e, const char *text, int with_feature) {
    while (text && *text) {
        vmafgpu__setting setting;
        vmafgpu_result result = vmafgpu__next_setting(v, &text, with_feature, &setting);
        if (result == VMAFGPU_OK && (!with_feature || vmafgpu__text_equal(setting.feature, setting.feature_end,
                                                                          vmafgpu__features[e->kind].name)))
            result = vmafgpu__set_option(v, e, &setting);
        if (result != VMAFGPU_OK)
            return result;
    }
    return VMAFGPU_OK;
}

static void vmafgpu__extractor_init(vmafgpu__extractor *e, vmafgpu__kind kind) {
    memset(e, 0, sizeof *e);
    e->kind = kind;
    for (int i = 0; vmafgpu__features[kind].options[i].name; i++)
        e->option[i] = vmafgpu__features[kind].options[i].standard;
}

/* Overlay options must each name a feature and option that exist, even if the model does not use that feature. */
static vmafgpu_result vmafgpu__check_overlay(vmafgpu *v, const char *text) {
    while (text && *text) {
        const char *begin = text;
        vmafgpu__setting setting;
        vmafgpu__extractor e;
        int kind = 0;
        vmafgpu_result result = vmafgpu__next_setting(v, &text, 1, &setting);
        if (result != VMAFGPU_OK)
            return result;
        while (kind < VMAFGPU__KINDS &&
               !vmafgpu__text_equal(setting.feature, setting.feature_end, vmafgpu__features[kind].name))
            kind++;
        if (kind == VMAFGPU__KINDS || setting.feature_end == setting.name_end)
            return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE,
                                 "model option '%.*s' must look like feature.option=value, the feature being %s",
                                 vmafgpu__shown(begin, setting.end), begin, vmafgpu__feature_list);
        vmafgpu__extractor_init(&e, (vmafgpu__kind)kind);
        result = vmafgpu__set_option(v, &e, &setting);
        if (result != VMAFGPU_OK)
            return result;
    }
    return VMAFGPU_OK;
}

/* "_egl_1_..." from the options that differ from their defaults. */
static void vmafgpu__extractor_suffix(vmafgpu__extractor *e) {
    const vmafgpu__option *options = vmafgpu__features[e->kind].options;
    size_t used = 0;
    for (int i = 0; options[i].name; i++) {
        char number[48] = "";
        int length;
        if (!options[i].alias || e->option[i] == options[i].standard)
            continue;
        if (options[i].type == VMAFGPU__INTEGER)
            snprintf(number, sizeof number, "_%d", (int)e->option[i]);
        else if (options[i].type == VMAFGPU__REAL) {
            number[0] = '_';
            vmafgpu__print_number(number + 1, e->option[i]);
        } else if (options[i].type == VMAFGPU__WORD) {
            const char *word = vmafgpu__nth_word(options[i].words, (int)e->option[i], &length);
            snprintf(number, sizeof number, "_%.*s", length, word);
        }
        vmafgpu__sentence(e->suffix + used, sizeof e->suffix - used, "_%s%s", options[i].alias, number);
        used += strlen(e->suffix + used);
    }
}

/* Adds an extractor, or finds the one of the same name: as in libvmaf the first one's unnamed options then hold. */
static vmafgpu_result vmafgpu__add_extractor(vmafgpu *v, const vmafgpu__extractor *wanted, int *index) {
    for (int i = 0; i < v->extractor_count; i++)
        if (v->extractors[i].kind == wanted->kind && !strcmp(v->extractors[i].suffix, wanted->suffix)) {
            *index = i;
            return VMAFGPU_OK;
        }
    if (v->extractor_count == VMAFGPU__MAX_EXTRACTORS)
        return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE, "more than %d features with different options were asked for",
                             (int)VMAFGPU__MAX_EXTRACTORS);
    v->extractors[v->extractor_count] = *wanted;
    *index = v->extractor_count++;
    return VMAFGPU_OK;
}

/* The place of a variant among `count` of them, behind which it is added if it is new. what: different things that there
 * are too many of, for the sentence. */
static vmafgpu_result vmafgpu__find_variant(vmafgpu *v, void *list, int *count, const void *variant, size_t size,
                                            const char *what, int *index) {
    unsigned char *at = (unsigned char *)list;
    int k = 0;
    while (k < *count && memcmp(at + (size_t)k * size, variant, size))
        k++;
    if (k == VMAFGPU__MAX_VARIANTS)
        return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE, "more than %d different %s in one context",
                             (int)VMAFGPU__MAX_VARIANTS, what);
    memcpy(at + (size_t)k * size, variant, size);
    *count = k == *count ? k + 1 : *count;
    *index = k;
    return VMAFGPU_OK;
}

/* ================================================================================================
 * >>threads                                      a frame's work in parts
 * ================================================================================================ */
typedef void vmafgpu__task(void *arg, int index);

#ifndef VMAFGPU_NO_THREADS
/* ---- what the system gives: locks, signals to wait for with a lock in hand, threads; and atomics ---- */

#ifdef _WIN32
/* An SRWLOCK and a CONDITION_VARIABLE: a pointer each, NULL at first, and nothing to give back. */
typedef struct vmafgpu__lock { void *state; } vmafgpu__lock;
typedef struct vmafgpu__signal { void *state; } vmafgpu__signal;
typedef void *vmafgpu__thread;
#  define VMAFGPU__THREAD_MAIN unsigned __stdcall

static int vmafgpu__lock_open(vmafgpu__lock *l) {
    l->state = NULL;
    return 1;
}
static void vmafgpu__lock_close(vmafgpu__lock *l) { (void)l; }
static void vmafgpu__lock_take(vmafgpu__lock *l) { AcquireSRWLockExclusive((struct _RTL_SRWLOCK *)(void *)l); }
static void vmafgpu__lock_give(vmafgpu__lock *l) { ReleaseSRWLockExclusive((struct _RTL_SRWLOCK *)(void *)l); }

static int vmafgpu__signal_open(vmafgpu__signal *s) {
    s->state = NULL;
    return 1;
}
static void vmafgpu__signal_close(vmafgpu__signal *s) { (void)s; }
static void vmafgpu__signal_one(vmafgpu__signal *s) {
    WakeConditionVariable((struct _RTL_CONDITION_VARIABLE *)(void *)s);
}
static void vmafgpu__signal_all(vmafgpu__signal *s) {
    WakeAllConditionVariable((struct _RTL_CONDITION_VARIABLE *)(void *)s);
}
static void vmafgpu__signal_wait(vmafgpu__signal *s, vmafgpu__lock *l) {
    SleepConditionVariableSRW((struct _RTL_CONDITION_VARIABLE *)(void *)s, (struct _RTL_SRWLOCK *)(void *)l,
                              0xffffffffu /* without end */, 0);
}

/* Through the C library, which has something to set up in a thread that calls it. */
static int vmafgpu__thread_start(vmafgpu__thread *t, unsigned (__stdcall *run)(void *), void *arg) {
    const uintptr_t handle = _beginthreadex(NULL, 0, run, arg, 0, NULL);
    memcpy(t, &handle, sizeof *t);
    return handle != 0;
}
static void vmafgpu__thread_join(vmafgpu__thread t) {
    WaitForSingleObject(t, 0xffffffffu);
    CloseHandle(t);
}
#else
typedef pthread_mutex_t vmafgpu__lock;
typedef pthread_cond_t vmafgpu__signal;
typedef pthread_t vmafgpu__thread;
#  define VMAFGPU__THREAD_MAIN void *

static int vmafgpu__lock_open(vmafgpu__lock *l) { return pthread_mutex_init(l, NULL) == 0; }
static void vmafgpu__lock_close(vmafgpu__lock *l) { pthread_mutex_destroy(l); }
static void vmafgpu__lock_take(vmafgpu__lock *l) { pthread_mutex_lock(l); }
static void vmafgpu__lock_give(vmafgpu__lock *l) { pthread_mutex_unlock(l); }

static int vmafgpu__signal_open(vmafgpu__signal *s) { return pthread_cond_init(s, NULL) == 0; }
static void vmafgpu__signal_close(vmafgpu__signal *s) { pthread_cond_destroy(s); }
static void vmafgpu__signal_one(vmafgpu__signal *s) { pthread_cond_signal(s); }
static void vmafgpu__signal_all(vmafgpu__signal *s) { pthread_cond_broadcast(s); }
static void vmafgpu__signal_wait(vmafgpu__signal *s, vmafgpu__lock *l) { pthread_cond_wait(s, l); }

static int vmafgpu__thread_start(vmafgpu__thread *t, void *(*run)(void *), void *arg) {
    return pthread_create(t, NULL, run, arg) == 0;
}
static void vmafgpu__thread_join(vmafgpu__thread t) { pthread_join(t, NULL); }
#endif

/* Lets another thread run that is waiting for a processor. */
#ifdef _WIN32
static void vmafgpu__give_way(void) { SwitchToThread(); }
#else
static void vmafgpu__give_way(void) { sched_yield(); }
#endif
#else
static void vmafgpu__give_way(void) {}
#endif

#if defined(_MSC_VER) && !defined(__clang__)
static int vmafgpu__atomic_get(const int *value) { return (int)_InterlockedOr((volatile long *)value, 0); }
static void vmafgpu__atomic_set(int *value, int to) { _InterlockedExchange((volatile long *)value, to); }
/* Returns what was there before. */
static int vmafgpu__atomic_add(int *value, int n) { return (int)_InterlockedExchangeAdd((volatile long *)value, n); }
/* Whether it was `from` and is `to` now. */
static int vmafgpu__atomic_change(int *value, int from, int to) {
    return (int)_InterlockedCompareExchange((volatile long *)value, to, from) == from;
}
#else
static inline int vmafgpu__atomic_get(const int *value) { return __atomic_load_n(value, __ATOMIC_ACQUIRE); }
static inline void vmafgpu__atomic_set(int *value, int to) { __atomic_store_n(value, to, __ATOMIC_RELEASE); }
/* Returns what was there before. */
static inline VMAFGPU__UNUSED int vmafgpu__atomic_add(int *value, int n) {
    return __atomic_fetch_add(value, n, __ATOMIC_ACQ_REL);
}
/* Whether it was `from` and is `to` now. */
static inline int vmafgpu__atomic_change(int *value, int from, int to) {
    return __atomic_compare_exchange_n(value, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
#endif

/* What is waited for comes soon, so that who waits looks for some tens of microseconds, up to two hundred, before it sleeps;
 * but it gives way where there are more threads than processors. */
enum { VMAFGPU__LOOKS = 3000, VMAFGPU__LOOKS_AT_ONCE = 50 };

/* To be called between looks, with how many there were. */
static inline void vmafgpu__look_again(int looks) {
    if (looks % VMAFGPU__LOOKS_AT_ONCE == VMAFGPU__LOOKS_AT_ONCE - 1) {
        vmafgpu__give_way();
        return;
    }
#if defined(_MSC_VER) && (defined(_M_X64) || defined(_M_IX86))
    _mm_pause();
#elif defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("pause");
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#ifndef VMAFGPU_NO_THREADS
/* ---- the threads of a context ---- */

struct vmafgpu__threads {
    vmafgpu__lock   lock;
    vmafgpu__signal wake, idle;
    int             sleepers, is_waiting;     /* threads that sleep, whether the caller does; under the lock */
    vmafgpu__task  *task;
    void           *arg;
    int             count;                    /* parts of a task */
    int             next, running;            /* parts given out, parts not finished; atomic, as the others below */
    int             round;                    /* grows with every task */
    int             quit;
    int             started;
    vmafgpu__thread ids[VMAFGPU__MAX_THREADS];
};

/* Works on parts of the present task until none is left to take. Who comes late may take parts of the next task: that one
 * is whole before its first part is given out. */
static void vmafgpu__threads_work(vmafgpu__threads *t) {
    for (;;) {
        const int index = vmafgpu__atomic_add(&t->next, 1);
        if (index >= t->count)
            return;
        t->task(t->arg, index);
        if (vmafgpu__atomic_add(&t->running, -1) == 1) {
            vmafgpu__lock_take(&t->lock);
            if (t->is_waiting)
                vmafgpu__signal_one(&t->idle);
            vmafgpu__lock_give(&t->lock);
        }
    }
}

static VMAFGPU__THREAD_MAIN vmafgpu__threads_main(void *arg) {
    vmafgpu__threads *t = (vmafgpu__threads *)arg;
    int seen = 0;
    for (;;) {
        for (int i = 0; i < VMAFGPU__LOOKS && vmafgpu__atomic_get(&t->round) == seen; i++)
            vmafgpu__look_again(i);
        if (vmafgpu__atomic_get(&t->round) == seen) {
            vmafgpu__lock_take(&t->lock);
            t->sleepers++;
            while (vmafgpu__atomic_get(&t->round) == seen)
                vmafgpu__signal_wait(&t->wake, &t->lock);
            t->sleepers--;
            vmafgpu__lock_give(&t->lock);
        }
        seen = vmafgpu__atomic_get(&t->round);
        if (vmafgpu__atomic_get(&t->quit))
            return 0;
        vmafgpu__threads_work(t);
    }
}

/* Lets the threads look at what is new. */
static void vmafgpu__threads_call(vmafgpu__threads *t) {
    vmafgpu__lock_take(&t->lock);
    vmafgpu__atomic_set(&t->round, (int)((unsigned)t->round + 1));
    if (t->sleepers)
        vmafgpu__signal_all(&t->wake);
    vmafgpu__lock_give(&t->lock);
}

static void vmafgpu__threads_run(vmafgpu__threads *t, vmafgpu__task *task, void *arg) {
    t->task = task;
    t->arg = arg;
    vmafgpu__atomic_set(&t->running, t->count);
    vmafgpu__atomic_set(&t->next, 0);
    vmafgpu__threads_call(t);
    vmafgpu__threads_work(t);
    for (int i = 0; i < VMAFGPU__LOOKS && vmafgpu__atomic_get(&t->running); i++)
        vmafgpu__look_again(i);
    if (!vmafgpu__atomic_get(&t->running))
        return;
    vmafgpu__lock_take(&t->lock);
    t->is_waiting = 1;
    while (vmafgpu__atomic_get(&t->running))
        vmafgpu__signal_wait(&t->idle, &t->lock);
    t->is_waiting = 0;
    vmafgpu__lock_give(&t->lock);
}

static void vmafgpu__threads_close(vmafgpu *v) {
    vmafgpu__threads *t = v->threads;
    if (!t)
        return;
    vmafgpu__atomic_set(&t->quit, 1);
    vmafgpu__threads_call(t);
    for (int i = 0; i < t->started; i++)
        vmafgpu__thread_join(t->ids[i]);
    vmafgpu__signal_close(&t->idle);
    vmafgpu__signal_close(&t->wake);
    vmafgpu__lock_close(&t->lock);
    vmafgpu__give(v, t);
    v->threads = NULL;
}

/* For as many threads as are of use, up to config.threads. The calling thread works too, so one fewer is started. */
static vmafgpu_result vmafgpu__threads_open(vmafgpu *v, int useful) {
    vmafgpu__threads *t = (vmafgpu__threads *)vmafgpu__take(v, sizeof *t);
    if (!t)
        return vmafgpu__fail_memory(v, "the threads", sizeof *t);
    int made = vmafgpu__lock_open(&t->lock);
    made += made == 1 && vmafgpu__signal_open(&t->wake);
    made += made == 2 && vmafgpu__signal_open(&t->idle);
    if (made < 3) {
        if (made > 1)
            vmafgpu__signal_close(&t->wake);
        if (made > 0)
            vmafgpu__lock_close(&t->lock);
        vmafgpu__give(v, t);
        return vmafgpu__fail(v, VMAFGPU_ERROR_SYSTEM, "the system gave no lock for the threads");
    }
    t->count = t->next = v->config.threads;
    v->threads = t;
    while (t->started < useful - 1) {
        if (!vmafgpu__thread_start(&t->ids[t->started], vmafgpu__threads_main, t)) {
            const int started = t->started;
            vmafgpu__threads_close(v);
            return vmafgpu__fail(v, VMAFGPU_ERROR_SYSTEM, "the system started only %d of %d threads (config.threads)",
                                 started + 1, useful);
        }
        t->started++;
    }
    return VMAFGPU_OK;
}
#endif

/* Marks the parts that the caller's hook runs. */
typedef struct vmafgpu__hook_run {
    vmafgpu__task *task;
    void          *arg;
    unsigned char  times[VMAFGPU__MAX_THREADS];
} vmafgpu__hook_run;

static void vmafgpu__hook_task(void *arg, int index) {
    vmafgpu__hook_run *run = (vmafgpu__hook_run *)arg;
    if (index < 0 || index >= VMAFGPU__MAX_THREADS || run->times[index]++)
        return;
    run->task(run->arg, index);
}

/* Runs task(arg, i) for i in 0..config.threads-1 and waits for all. */
static vmafgpu_result vmafgpu__run(vmafgpu *v, vmafgpu__task *task, void *arg) {
    const int count = v->config.threads;
    if (v->config.parallel_for && count > 1) {
        vmafgpu__hook_run run;
        memset(&run, 0, sizeof run);
        run.task = task;
        run.arg = arg;
        v->config.parallel_for(v->config.parallel_for_user, count, vmafgpu__hook_task, &run);
        for (int i = 0; i < count; i++)
            if (run.times[i] != 1)
                return vmafgpu__fail(v, VMAFGPU_ERROR_SYSTEM,
                                     "config.parallel_for called part %d of %d %d times, not once", i, count,
                                     run.times[i]);
        return VMAFGPU_OK;
    }
#ifndef VMAFGPU_NO_THREADS
    if (v->threads) {
        vmafgpu__threads_run(v->threads, task, arg);
        return VMAFGPU_OK;
    }
#endif
    for (int i = 0; i < count; i++)
        task(arg, i);
    return VMAFGPU_OK;
}

/* Rows of part `index` of `count`. */
static void vmafgpu__part(int rows, int index, int count, int *first, int *end) {
    *first = (int)((int64_t)rows * index / count);
    *end = (int)((int64_t)rows * (index + 1) / count);
}

/* ================================================================================================
 * >>cambi                                        banding: flat areas whose values differ by little
 * ================================================================================================
 * A picture becomes 10 bits deep; flat neighbourhoods are marked; then, on five scales, each marked sample asks how
 * often its own value and those near it occur in a window around it. All integers up to one product in float. A picture
 * is worked off in stages (import, mask, a filter per scale, counting), each in row bands, one per thread.
 */
enum {
    VMAFGPU__CAMBI_STRIP = 128,        /* columns whose histograms are worked on at a time: they stay in the cache... */
    VMAFGPU__CAMBI_WIDE_STRIP = 256,   /* ...and those of the vector code */
    VMAFGPU__CAMBI_GROUP = 16,         /* neighbouring counts are added up in groups of so many */
    VMAFGPU__CAMBI_REACH = 3,          /* of the mask's neighbourhood of 7x7 */
    VMAFGPU__CAMBI_MAX_WINDOW = 65,
    VMAFGPU__CAMBI_MIN_SIZE = 216,
    VMAFGPU__CAMBI_NOTHING = 0xffff    /* a code: not marked, or a value that never counts */
};

/* What one thread needs and finds. */
typedef struct vmafgpu__cambi_band {
    uint16_t *line[4];                 /* rows of 10-bit or filtered samples */
    uint8_t  *flat[8];                 /* of the latest eight rows: does a sample equal the next one and the one below? */
    uint8_t  *column;                  /* how many of seven rows are flat there, with margins */
    uint8_t  *sum_line;                /* and how many of 49 samples */
    uint8_t  *histograms;              /* per column of a strip and its surroundings: how often each value occurs */
    uint16_t *counts;                  /* the same for the vector code: per value and column, in the whole window */
    size_t    length[VMAFGPU__CAMBI_SCALES];   /* of the list of c-values, which begins where the band's rows would */
    size_t    count[VMAFGPU__CAMBI_SCALES];    /* of those above 0 among them */
    int64_t   sum[VMAFGPU__CAMBI_SCALES];
    int       first_row[VMAFGPU__CAMBI_SCALES];
} vmafgpu__cambi_band;

/* What is done to rows: in plain C here, in vectors in >>levels. Lines and rows of planes can be read CHUNK columns beyond
 * their width rounded up to CHUNK, whatever is there, and written up to that. */
typedef struct vmafgpu__cambi_functions {
    /* A row of bytes or words with 10 bits. */
    void (*import_row)(const uint8_t *source, int wide, int bit_depth, int w, uint16_t *row);
    void (*soften)(const uint16_t *row, const uint16_t *below, int w, uint16_t *out);
    /* Which samples equal their neighbours to the right and below, 1 or 0; 0 beyond the row. */
    void (*flat_row)(const uint16_t *row, const uint16_t *below, int w, uint8_t *flat);
    /* A row that comes and one that goes, in the sums of seven rows. */
    void (*slide)(uint8_t *column, const uint8_t *newest, const uint8_t *oldest, int w);
    /* Not 0 where more than `threshold` samples of 7x7 are flat, at every column or every second one. */
    void (*mask_row)(const uint8_t *column, int w, int halved, int threshold, uint8_t *sum, uint8_t *mask);
    /* w samples, or marks, out of every second one. */
    void (*halve_row)(const uint16_t *row, int w, uint16_t *out);
    void (*halve_mask)(const uint8_t *mask, int w, uint8_t *out);
    void (*mode_row)(const uint16_t *a, const uint16_t *b, const uint16_t *c, int w, uint16_t *out);
    void (*code_row)(const vmafgpu__cambi_variant *variant, const uint16_t *row, const uint8_t *mask, int w,
                     uint16_t *code);
    int  strip_columns;
    /* Counts in rows first..end-1 of columns x0..x1-1, at most strip_columns. */
    void (*strip)(const vmafgpu__cambi *cambi, vmafgpu__cambi_band *band, int scale, int x0, int x1, int first, int end);
    int64_t (*sum_above)(const float *values, size_t count, float low, float high, float *alike, size_t *alike_count);
} vmafgpu__cambi_functions;

struct vmafgpu__cambi {
    const vmafgpu__cambi_functions *functions;
    unsigned char *work;               /* memory that every picture lays out anew */
    float reciprocal[VMAFGPU__CAMBI_MAX_WINDOW * VMAFGPU__CAMBI_MAX_WINDOW + 1];

    /* The present picture. */
    const vmafgpu__cambi_variant *variant;
    const vmafgpu__cambi_picture *picture;
    vmafgpu__view   source;
    int             is_wide;           /* whether it has words, or bytes */
    int             scale;
    int            *source_column, *source_row;                /* where samples are taken from */
    vmafgpu__plane  image;                                     /* 10 bits, scale 0 */
    uint8_t        *mask[VMAFGPU__CAMBI_SCALES];               /* rows are as long as those of `codes` */
    vmafgpu__plane  filtered[VMAFGPU__CAMBI_SCALES];
    vmafgpu__plane  codes[VMAFGPU__CAMBI_SCALES];              /* values counted from variant->base, or NOTHING */
    size_t          histogram_size;                            /* of one column */
    int             span;                                      /* counts that are added up for a sample */
    uint8_t        *weights;                                   /* per code how much each difference counts... */
    uint8_t        *counts;                                    /* ...and whether any does */
    float          *values[VMAFGPU__CAMBI_SCALES];             /* c-values, in as many parts as there are bands, with
                                                                  zeros among them */
    int             in_place;                                  /* each c-value, 0 or not, goes where its sample is */
    vmafgpu__cambi_band *bands;
};

/* ---- what the options mean ---- */

/* cd/m2 of a 10-bit sample of limited range on a display after BT.1886, or after PQ. */
static double vmafgpu__cambi_luminance(int sample, int is_pq) {
    const int clamped = sample < 64 ? 64 : sample > 940 ? 940 : sample;
    const double signal = (double)(clamped - 64) / 876;
    if (is_pq) {
        const double c1 = 0.8359375, c2 = 18.8515625, c3 = 18.6875;
        const double p = pow(signal, 1.0 / 78.84375), num = p - c1 > 0 ? p - c1 : 0;
        return 10000 * pow(num / (c2 - c3 * p), 1.0 / 0.1593017578125);
    }
    const double gamma = 2.4, white = pow(300.0, 1.0 / gamma), black = pow(0.01, 1.0 / gamma);
    const double lift = signal + black / (white - black);
    return pow(white - black, gamma) * pow(lift > 0 ? lift : 0, gamma);
}

static int vmafgpu__cambi_is_visible(int sample, int difference, double threshold, int is_pq) {
    const double low = vmafgpu__cambi_luminance(sample, is_pq);
    return vmafgpu__cambi_luminance(sample + difference, is_pq) - low > threshold * low;
}

/* Largest sample at which the difference is visible. What is visible need not be one interval, so the way of searching
 * is part of the result. */
static int vmafgpu__cambi_limit(int difference, double threshold, int is_pq) {
    int low = 64, high = 940 - difference - 1;
    if (!vmafgpu__cambi_is_visible(low, difference, threshold, is_pq))
        return 0;
    if (!vmafgpu__cambi_is_visible(low + 1, difference, threshold, is_pq))
        return low;
    if (vmafgpu__cambi_is_visible(high, difference, threshold, is_pq))
        return vmafgpu__cambi_is_visible(high + 1, difference, threshold, is_pq) ? 1023 : high;
    for (;;) {
        const int middle = low + (high - low) / 2;
        if (!vmafgpu__cambi_is_visible(middle, difference, threshold, is_pq))
            high = middle;
        else if (vmafgpu__cambi_is_visible(middle + 1, difference, threshold, is_pq))
            low = middle;
        else
            return middle;
    }
}

/* Darkest sample that reaches a luminance; 0 where all do. */
static int vmafgpu__cambi_floor(double luminance, int is_pq) {
    int sample = 64;
    while (sample <= 940 && vmafgpu__cambi_luminance(sample, is_pq) < luminance)
        sample++;
    return sample == 64 ? 0 : sample;
}

static vmafgpu__cambi_picture vmafgpu__cambi_picture_of(int width, int height, int window_size, int halved) {
    vmafgpu__cambi_picture p;
    const uint32_t tiles = (uint32_t)(width / 64) * (uint32_t)(height / 64);
    int window = window_size * (width + height) / 375 >> 4;
    if (halved)
        window = (window + 1) >> 1;
    p.width = width;
    p.height = height;
    p.window = window | 1;
    p.mask_threshold = (49 + 3 * ((tiles ? vmafgpu__ceil_log2(tiles) : 0) - 11) - 1) >> 1;
    return p;
}

/* Width or height of a scale, whose steps round up. */
static int vmafgpu__cambi_size(const vmafgpu__cambi_variant *variant, int size, int scale) {
    const int shift = scale + variant->halved;
    return (size + (1 << shift) - 1) >> shift;
}

static vmafgpu_result vmafgpu__check_cambi_picture(vmafgpu *v, const vmafgpu__cambi_variant *variant,
                                                   const vmafgpu__cambi_picture *p) {
    const int last = VMAFGPU__CAMBI_SCALES - 1, reach = p->window >> 1;
    if (p->width < VMAFGPU__CAMBI_MIN_SIZE && p->height < VMAFGPU__CAMBI_MIN_SIZE)
        return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE,
                             "the feature cambi needs a picture with %d or more pixels in width or height, not %dx%d",
                             (int)VMAFGPU__CAMBI_MIN_SIZE, p->width, p->height);
    if (p->window > VMAFGPU__CAMBI_MAX_WINDOW)
        return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE,
                             "the feature cambi would need a window of %d pixels for a picture of %dx%d, and the "
                             "largest is %d: set cambi_high_res_speedup, or lower window_size",
                             p->window, p->width, p->height, (int)VMAFGPU__CAMBI_MAX_WINDOW);
    if (vmafgpu__cambi_size(variant, p->width, last) < reach || vmafgpu__cambi_size(variant, p->height, last) < reach)
        return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE,
                             "the feature cambi is not defined for a picture of %dx%d: at its smallest scale it would "
                             "have fewer than %d pixels in width or height, half of the window", p->width, p->height,
                             reach);
    return VMAFGPU_OK;
}

/* How much a difference of k counts: 1, 2, 3, 4, 4, 5, 5, 6... */
static int vmafgpu__cambi_weight(int k) {
    static const int8_t weights[VMAFGPU__CAMBI_CONTRASTS] = {
        1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9
    };
    return weights[k - 1];
}

/* The largest sum there can be must fit 63 bits with its 24 behind the point; only huge pictures with small windows
 * do not. */
static int vmafgpu__cambi_sum_fits(const vmafgpu__cambi_variant *variant, const vmafgpu__cambi_picture *p) {
    const double pixels = (double)vmafgpu__cambi_size(variant, p->width, 0) *
                          (double)vmafgpu__cambi_size(variant, p->height, 0);
    const double most = vmafgpu__cambi_weight(variant->contrasts) * (double)(p->window * p->window + 1) / 4;
    return pixels * most < 549755813888.0;   /* 2^39 */
}

static vmafgpu_result vmafgpu__cambi_resolve(vmafgpu *v, const vmafgpu__extractor *e, vmafgpu__cambi_variant *variant) {
    const vmafgpu_config *c = &v->config;
    const double *o = e->option, threshold = o[VMAFGPU__CAMBI_VISIBILITY];
    const int is_pq = (int)(o[VMAFGPU__CAMBI_EOTF] != 0 ? o[VMAFGPU__CAMBI_EOTF] : o[VMAFGPU__CAMBI_OLD_EOTF]);
    const int window = (int)o[VMAFGPU__CAMBI_WINDOW], speedup = (int)o[VMAFGPU__CAMBI_SPEEDUP];
    const int bit_depth = o[VMAFGPU__CAMBI_ENC_BIT_DEPTH] != 0 ? (int)o[VMAFGPU__CAMBI_ENC_BIT_DEPTH] : c->bit_depth;
    int width = (int)o[VMAFGPU__CAMBI_ENC_WIDTH], height = (int)o[VMAFGPU__CAMBI_ENC_HEIGHT];
    int source_width = (int)o[VMAFGPU__CAMBI_SRC_WIDTH], source_height = (int)o[VMAFGPU__CAMBI_SRC_HEIGHT];
    if (!width || !height || width > c->width || height > c->height) {
        width = c->width;
        height = c->height;
    }
    if (!source_width || !source_height) {
        source_width = c->width;
        source_height = c->height;
    }
    if ((source_width > width && source_height < height) || (source_width < width && source_height > height))
        return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE,
                             "the feature cambi cannot have a source of %dx%d for an encode of %dx%d: one is wider, "
                             "the other higher", source_width, source_height, width, height);
    const int64_t pixels = (int64_t)width * height;
    variant->halved = (speedup == 1080 && pixels >= 1920 * 1080) || (speedup == 1440 && pixels >= 2560 * 1440) ||
                      (speedup == 2160 && pixels >= 3840 * 2160);
    variant->softened = bit_depth < 10;
    variant->pictures = o[VMAFGPU__CAMBI_FULL_REF] != 0 ? 2 : 1;
    variant->contrasts = 1 << (int)o[VMAFGPU__CAMBI_LOG_CONTRAST];
    /* The older name of the option counts when it was given. */
    variant->topk = o[o[VMAFGPU__CAMBI_OLD_TOPK] != 0.6 ? VMAFGPU__CAMBI_OLD_TOPK : VMAFGPU__CAMBI_TOPK];
    int highest = 0;
    for (int k = 1; k <= variant->contrasts; k++) {
        variant->limit[k - 1] = vmafgpu__cambi_limit(k, threshold, is_pq);
        highest = variant->limit[k - 1] > highest ? variant->limit[k - 1] : highest;
    }
    variant->floor = vmafgpu__cambi_floor(o[VMAFGPU__CAMBI_VISIBLE_LUMINANCE], is_pq);
    variant->base = variant->floor - 3 * variant->contrasts + 1;
    variant->base = variant->base > 0 ? variant->base : 0;
    variant->bins = highest + variant->contrasts - variant->base + 1;
    if (variant->bins < 1)
        return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE,
                             "cambi_vis_lum_threshold %.6g leaves no sample that the feature cambi could look at",
                             o[VMAFGPU__CAMBI_VISIBLE_LUMINANCE]);
    variant->picture[0] = vmafgpu__cambi_picture_of(width, height, window, variant->halved);
    variant->picture[1] = vmafgpu__cambi_picture_of(source_width, source_height, window, variant->halved);
    for (int i = 0; i < 2; i++) {
        const vmafgpu_result result = vmafgpu__check_cambi_picture(v, variant, &variant->picture[i]);
        if (result != VMAFGPU_OK)
            return result;
        if (!vmafgpu__cambi_sum_fits(variant, &variant->picture[i]))
            return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE, "a picture of %dx%d is too large for the feature cambi",
                                 variant->picture[i].width, variant->picture[i].height);
    }
    return VMAFGPU_OK;
}

/* Finds or adds the variant of an extractor. */
static vmafgpu_result vmafgpu__plan_cambi(vmafgpu *v, const vmafgpu__extractor *e, int *index) {
    vmafgpu__cambi_variant variant;
    memset(&variant, 0, sizeof variant);
    const vmafgpu_result result = vmafgpu__cambi_resolve(v, e, &variant);
    return result != VMAFGPU_OK ? result
                                : vmafgpu__find_variant(v, v->plan.cambi, &v->plan.cambi_variants, &variant,
                                                        sizeof variant, "sets of options of cambi", index);
}

/* How many of the c-values of a scale are averaged. */
static int64_t vmafgpu__cambi_top_count(const vmafgpu__cambi_variant *variant, const vmafgpu__cambi_picture *p,
                                        int scale) {
    const int64_t pixels = (int64_t)vmafgpu__cambi_size(variant, p->width, scale) *
                           vmafgpu__cambi_size(variant, p->height, scale);
    const int64_t count = (int64_t)(variant->topk * (double)pixels);
    return count < 1 ? 1 : count > pixels ? pixels : count;
}

/* ---- memory ---- */

/* Lays the work memory out for a picture. */
static void vmafgpu__cambi_layout(const vmafgpu *v, vmafgpu__cambi *cambi, vmafgpu__carver *c) {
    const vmafgpu__cambi_variant *variant = cambi->variant;
    const int w = cambi->picture->width, h = cambi->picture->height, threads = v->config.threads;
    const size_t wide = vmafgpu__padded(w > v->config.width ? w : v->config.width) + VMAFGPU__CHUNK;
    const int group = VMAFGPU__CAMBI_GROUP;
    cambi->span = (2 * variant->contrasts + group) / group * group;
    cambi->histogram_size = (size_t)((variant->bins + cambi->span + group - 1) / group * group);
    cambi->source_column = (int *)vmafgpu__carve(c, sizeof(int) * (size_t)w);
    cambi->source_row = (int *)vmafgpu__carve(c, sizeof(int) * (size_t)h);
    cambi->weights = (uint8_t *)vmafgpu__carve(c, (size_t)variant->bins * (size_t)variant->contrasts);
    cambi->counts = (uint8_t *)vmafgpu__carve(c, (size_t)variant->bins);
    cambi->image = vmafgpu__carve_plane(c, vmafgpu__cambi_size(variant, w, 0), vmafgpu__cambi_size(variant, h, 0) + 1);
    for (int s = 0; s < VMAFGPU__CAMBI_SCALES; s++) {
        /* One more row each: what may be read beyond the last one, and of the codes one with nothing in it. */
        const int sw = vmafgpu__cambi_size(variant, w, s), sh = vmafgpu__cambi_size(variant, h, s);
        cambi->filtered[s] = vmafgpu__carve_plane(c, sw, sh + 1);
        cambi->codes[s] = vmafgpu__carve_plane(c, sw, sh + 1);
        cambi->mask[s] = (uint8_t *)vmafgpu__carve(c, vmafgpu__padded(sw) * (size_t)(sh + 1) + VMAFGPU__CHUNK);
        cambi->values[s] = (float *)vmafgpu__carve(c, sizeof(float) * (size_t)sw * (size_t)sh);
    }
    vmafgpu__cambi_band *bands =
        (vmafgpu__cambi_band *)vmafgpu__carve(c, sizeof(vmafgpu__cambi_band) * (size_t)threads);
    cambi->bands = bands;
    for (int i = 0; i < threads; i++) {
        vmafgpu__cambi_band unused, *band = bands ? &bands[i] : &unused;
        for (int k = 0; k < 4; k++)
            band->line[k] = (uint16_t *)vmafgpu__carve(c, wide * sizeof(uint16_t));
        for (int k = 0; k < 8; k++)
            band->flat[k] = (uint8_t *)vmafgpu__carve(c, wide);
        band->column = (uint8_t *)vmafgpu__carve(c, wide + 2 * VMAFGPU__CHUNK);
        band->sum_line = (uint8_t *)vmafgpu__carve(c, wide);
        if (cambi->functions->strip_columns == VMAFGPU__CAMBI_STRIP)
            band->histograms = (uint8_t *)vmafgpu__carve(
                c, cambi->histogram_size * (VMAFGPU__CAMBI_STRIP + VMAFGPU__CAMBI_MAX_WINDOW));
        else
            band->counts = (uint16_t *)vmafgpu__carve(
                c, sizeof(uint16_t) * (size_t)(variant->bins + 2 * variant->contrasts) * VMAFGPU__CAMBI_WIDE_STRIP);
    }
}

/* The reference's table was printed with nine digits. That matters for 42 of its entries. */
static void vmafgpu__cambi_reciprocals(float *reciprocal) {
    double unit = 1e8;
    reciprocal[0] = 0;
    for (int i = 1, power = 1; i <= VMAFGPU__CAMBI_MAX_WINDOW * VMAFGPU__CAMBI_MAX_WINDOW; i++) {
        if (i > power) {
            power *= 10;
            unit *= 10;
        }
        reciprocal[i] = (float)(floor(unit / (double)i + 0.5) / unit);
    }
}

/* How much a difference of k counts for a sample of that code; 0: nobody sees it. */
static int vmafgpu__cambi_weight_at(const vmafgpu__cambi_variant *variant, int code, int k) {
    const int value = code + variant->base;
    const int visible = value <= variant->limit[k - 1] && value + variant->contrasts + k > variant->floor;
    return visible ? vmafgpu__cambi_weight(k) : 0;
}

/* [bins][contrasts] */
static void vmafgpu__cambi_weigh(const vmafgpu__cambi_variant *variant, uint8_t *weights) {
    for (int code = 0; code < variant->bins; code++)
        for (int k = 1; k <= variant->contrasts; k++)
            *weights++ = (uint8_t)vmafgpu__cambi_weight_at(variant, code, k);
}

/* Whether any difference counts. */
static int vmafgpu__cambi_is_counted(const vmafgpu__cambi_variant *variant, int code) {
    int sum = 0;
    for (int k = 1; k <= variant->contrasts; k++)
        sum += vmafgpu__cambi_weight_at(variant, code, k);
    return sum > 0;
}

static vmafgpu_result vmafgpu__cambi_open(vmafgpu *v, const vmafgpu__cambi_functions *functions) {
    vmafgpu__cambi head;
    size_t most = 0;
    memset(&head, 0, sizeof head);
    head.functions = functions;
    for (int i = 0; i < v->plan.cambi_variants; i++)
        for (int k = 0; k < v->plan.cambi[i].pictures; k++) {
            vmafgpu__carver carver = { NULL, 0 };
            head.variant = &v->plan.cambi[i];
            head.picture = &head.variant->picture[k];
            vmafgpu__cambi_layout(v, &head, &carver);
            most = carver.used > most ? carver.used : most;
        }
    if (!most)
        return VMAFGPU_OK;
    const size_t start = (sizeof head + VMAFGPU__ALIGNMENT - 1) / VMAFGPU__ALIGNMENT * VMAFGPU__ALIGNMENT;
    v->cambi = (vmafgpu__cambi *)vmafgpu__take(v, start + most);
    if (!v->cambi)
        return vmafgpu__fail_memory(v, "the feature cambi", start + most);
    v->cambi->functions = functions;
    v->cambi->work = (unsigned char *)v->cambi + start;
    vmafgpu__cambi_reciprocals(v->cambi->reciprocal);
    return VMAFGPU_OK;
}

/* ---- stages ---- */

/* Where each of `count` samples comes from when a side of `size` is shrunk or stretched to them, in the reference's
 * float steps, which drift. */
static void vmafgpu__cambi_positions(int size, int count, int *positions) {
    const float ratio = (float)size / (float)count;
    float at = (float)((double)(ratio / 2) - 0.5);
    for (int i = 0; i < count; i++) {
        const int position = (int)((double)at + 0.5);
        positions[i] = size == count ? i : position < size ? position : size - 1;
        at += ratio;
    }
}

/* A sample with 10 bits. */
static inline uint16_t vmafgpu__cambi_ten_bits(int sample, int bit_depth) {
    const int up = bit_depth < 10 ? 10 - bit_depth : 0, down = bit_depth > 10 ? bit_depth - 10 : 0;
    return (uint16_t)(((sample << up) + (int)vmafgpu__half(down)) >> down);
}

static void vmafgpu__cambi_import_row_scalar(const uint8_t *source, int wide, int bit_depth, int w,
                                             uint16_t *VMAFGPU__RESTRICT row) {
    if (wide)
        for (int x = 0; x < w; x++)
            row[x] = vmafgpu__cambi_ten_bits(vmafgpu__word(source, x), bit_depth);
    else
        for (int x = 0; x < w; x++)
            row[x] = (uint16_t)(source[x] << 2);
}

/* Row y of the picture. */
static void vmafgpu__cambi_import_row(const vmafgpu *v, int y, uint16_t *row) {
    const vmafgpu__cambi *cambi = v->cambi;
    const uint8_t *source = (const uint8_t *)vmafgpu__view_row(&cambi->source, cambi->source_row[y]);
    const int bit_depth = v->config.bit_depth;
    if (cambi->picture->width == v->config.width) {
        cambi->functions->import_row(source, cambi->is_wide, bit_depth, v->config.width, row);
        return;
    }
    for (int x = 0; x < cambi->picture->width; x++) {
        const int k = cambi->source_column[x];
        row[x] = vmafgpu__cambi_ten_bits(cambi->is_wide ? vmafgpu__word(source, k) : source[k], bit_depth);
    }
}

/* Takes dither back: each sample becomes the average of itself and its neighbours to the right and below. The last column
 * has no neighbour to the right, which a copy of itself stands for; the last row none below. */
static void vmafgpu__cambi_soften_scalar(const uint16_t *row, const uint16_t *below, int w,
                                         uint16_t *VMAFGPU__RESTRICT out) {
    if (below)
        for (int x = 0; x < w; x++)
            out[x] = (uint16_t)((row[x] + row[x + 1] + below[x] + below[x + 1]) >> 2);
    else
        for (int x = 0; x < w; x++)
            out[x] = (uint16_t)((row[x] + row[x + 1]) >> 1);
}

/* None outside the picture is flat. The last sample has itself for a neighbour to the right. */
static void vmafgpu__cambi_flat_row_scalar(const uint16_t *row, const uint16_t *below, int w,
                                           uint8_t *VMAFGPU__RESTRICT flat) {
    for (int x = 0; x < w; x++)
        flat[x] = (uint8_t)((row[x] == row[x + 1]) & (row[x] == below[x]));
    memset(flat + w, 0, vmafgpu__padded(w) - (size_t)w);
}

static void vmafgpu__cambi_slide_scalar(uint8_t *VMAFGPU__RESTRICT column, const uint8_t *newest, const uint8_t *oldest,
                                        int w) {
    for (int x = 0; x < w; x++)
        column[x] = (uint8_t)(column[x] + newest[x] - oldest[x]);
}

static void vmafgpu__cambi_mask_row_scalar(const uint8_t *column, int w, int halved, int threshold,
                                           uint8_t *VMAFGPU__RESTRICT sum, uint8_t *VMAFGPU__RESTRICT mask) {
    for (int x = 0; x < w; x++)
        sum[x] = (uint8_t)(column[x - 3] + column[x - 2] + column[x - 1] + column[x] + column[x + 1] + column[x + 2] +
                           column[x + 3]);
    for (int x = 0; x << halved < w; x++)
        mask[x] = sum[x << halved] > threshold;
}

static void vmafgpu__cambi_halve_row_scalar(const uint16_t *row, int w, uint16_t *VMAFGPU__RESTRICT out) {
    for (int x = 0; x < w; x++)
        out[x] = row[2 * x];
}

static void vmafgpu__cambi_halve_mask_scalar(const uint8_t *mask, int w, uint8_t *VMAFGPU__RESTRICT out) {
    for (int x = 0; x < w; x++)
        out[x] = mask[2 * x];
}

/* Makes row y of the picture in line 2 or 3 of the band, in turn; rows come one after the other, the first at `start`. */
static uint16_t *vmafgpu__cambi_make_row(const vmafgpu *v, const vmafgpu__cambi_band *band, int y, int start) {
    const vmafgpu__cambi *cambi = v->cambi;
    const int w = cambi->picture->width, h = cambi->picture->height;
    uint16_t *out = band->line[2 + (y & 1)];
    if (!cambi->variant->softened) {
        vmafgpu__cambi_import_row(v, y, out);
    } else {
        for (int k = y == start ? y : y + 1; k <= y + 1 && k < h; k++) {
            uint16_t *row = band->line[k & 1];
            vmafgpu__cambi_import_row(v, k, row);
            row[w] = row[w - 1];
        }
        cambi->functions->soften(band->line[y & 1], y + 1 < h ? band->line[(y + 1) & 1] : NULL, w, out);
    }
    out[w] = out[w - 1];
    return out;
}

/* The samples of scale 0 before its filter, and which of them are marked: those in whose neighbourhood enough samples
 * of the picture are flat. */
static void vmafgpu__cambi_mark_task(void *arg, int index) {
    const vmafgpu *v = (const vmafgpu *)arg;
    const vmafgpu__cambi *cambi = v->cambi;
    const vmafgpu__cambi_functions *f = cambi->functions;
    vmafgpu__cambi_band *band = &cambi->bands[index];
    const int w = cambi->picture->width, h = cambi->picture->height, reach = VMAFGPU__CAMBI_REACH;
    const int halved = cambi->variant->halved;
    const int scaled_w = vmafgpu__cambi_size(cambi->variant, w, 0);
    uint8_t *column = band->column + VMAFGPU__CHUNK;
    const uint16_t *row, *below;
    int first, end;
    vmafgpu__part(vmafgpu__cambi_size(cambi->variant, h, 0), index, v->config.threads, &first, &end);
    if (first == end)
        return;
    memset(band->column, 0, vmafgpu__padded(w) + 2 * VMAFGPU__CHUNK);
    for (int i = 0; i < 8; i++)
        memset(band->flat[i], 0, vmafgpu__padded(w));
    int y = (first << halved) - reach;
    y = y > 0 ? y : 0;
    const int start = y;
    below = vmafgpu__cambi_make_row(v, band, start, start);
    for (; y <= ((end - 1) << halved) + reach; y++) {
        uint8_t *newest = band->flat[y & 7];
        const int own = y >> halved, marked = (y - reach) >> halved;
        if (y < h) {
            row = below;
            below = y + 1 < h ? vmafgpu__cambi_make_row(v, band, y + 1, start) : row;
            f->flat_row(row, below, w, newest);
            if (own >= first && own < end && own << halved == y) {
                uint16_t *image = cambi->image.data + own * cambi->image.stride;
                if (halved)
                    f->halve_row(row, scaled_w, image);
                else
                    memcpy(image, row, sizeof *row * (size_t)w);
            }
        } else {
            memset(newest, 0, vmafgpu__padded(w));
        }
        f->slide(column, newest, band->flat[(y + 1) & 7], w);   /* seven rows before */
        if (y - reach >= first << halved && marked << halved == y - reach)
            f->mask_row(column, w, halved, cambi->picture->mask_threshold, band->sum_line,
                        cambi->mask[0] + (size_t)marked * vmafgpu__padded(scaled_w));
    }
}

/* What most of three values are; where they all differ, the least. Without a branch, so that it can be done for many
 * at a time. */
static uint16_t vmafgpu__cambi_mode(uint16_t a, uint16_t b, uint16_t c) {
    const uint16_t lower = a < b ? a : b, least = lower < c ? lower : c;
    const uint16_t other = b == c ? b : least;
    return ((a == b) | (a == c)) ? a : other;
}

/* Row y of the present scale before its filter: every second sample of the filtered scale before, into the line, or what
 * is there already. */
static const uint16_t *vmafgpu__cambi_fetch_row(const vmafgpu__cambi *cambi, int y, int w, uint16_t *line) {
    if (!cambi->scale)
        return cambi->image.data + y * cambi->image.stride;
    const vmafgpu__plane *from = &cambi->filtered[cambi->scale - 1];
    cambi->functions->halve_row(from->data + 2 * y * from->stride, w, line);
    return line;
}

/* The same, filtered along the row. */
static void vmafgpu__cambi_fetch_filtered(const vmafgpu__cambi *cambi, int y, int w, uint16_t *line, uint16_t *row) {
    const uint16_t *raw = vmafgpu__cambi_fetch_row(cambi, y, w, line);
    cambi->functions->mode_row(raw, raw + 1, raw + 2, w - 2, row + 1);
    row[0] = raw[0];
    row[w - 1] = raw[w - 1];
}

static void vmafgpu__cambi_mode_row_scalar(const uint16_t *a, const uint16_t *b, const uint16_t *c, int w,
                                           uint16_t *VMAFGPU__RESTRICT out) {
    for (int x = 0; x < w; x++)
        out[x] = vmafgpu__cambi_mode(a[x], b[x], c[x]);
}

/* Beyond the row there is nothing. */
static void vmafgpu__cambi_code_row_scalar(const vmafgpu__cambi_variant *variant, const uint16_t *row,
                                           const uint8_t *mask, int w, uint16_t *VMAFGPU__RESTRICT code) {
    const uint32_t base = (uint32_t)variant->base, bins = (uint32_t)variant->bins;
    for (int x = 0; x < w; x++) {
        const uint32_t counted = (uint16_t)(row[x] - base);   /* wraps below base */
        code[x] = (uint16_t)(((mask[x] != 0) & (counted < bins)) ? counted : 0u + VMAFGPU__CAMBI_NOTHING);
    }
    memset(code + w, 0xff, sizeof *code * (vmafgpu__padded(w) - (size_t)w));
}

/* Filters a scale and codes it for counting. The outer rows stay as they are. */
static void vmafgpu__cambi_filter_task(void *arg, int index) {
    const vmafgpu *v = (const vmafgpu *)arg;
    const vmafgpu__cambi *cambi = v->cambi;
    const vmafgpu__cambi_functions *f = cambi->functions;
    const vmafgpu__cambi_variant *variant = cambi->variant;
    const int scale = cambi->scale;
    const int w = vmafgpu__cambi_size(variant, cambi->picture->width, scale);
    const int h = vmafgpu__cambi_size(variant, cambi->picture->height, scale);
    const size_t mask_stride = vmafgpu__padded(w);
    uint16_t *const *line = cambi->bands[index].line;
    int first, end, next;
    vmafgpu__part(h, index, v->config.threads, &first, &end);
    next = first > 0 ? first - 1 : 0;
    for (int y = first; y < end; y++) {
        uint16_t *out = cambi->filtered[scale].data + y * cambi->filtered[scale].stride;
        uint8_t *mask = cambi->mask[scale] + (size_t)y * mask_stride;
        for (; next <= y + 1 && next < h; next++)
            vmafgpu__cambi_fetch_filtered(cambi, next, w, line[3], line[next % 3]);
        if (y == 0 || y == h - 1) {
            const uint16_t *raw = vmafgpu__cambi_fetch_row(cambi, y, w, line[3]);
            memcpy(out, raw, sizeof *out * (size_t)w);
        } else {
            f->mode_row(line[(y + 2) % 3], line[y % 3], line[(y + 1) % 3], w, out);
        }
        if (scale)
            f->halve_mask(cambi->mask[scale - 1] +
                              2 * (size_t)y * vmafgpu__padded(vmafgpu__cambi_size(variant, cambi->picture->width, scale - 1)),
                          w, mask);
        f->code_row(variant, out, mask, w, cambi->codes[scale].data + y * cambi->codes[scale].stride);
    }
}

/* Most codes are NOTHING: whether four of them are. */
static int vmafgpu__cambi_is_empty(const uint16_t *code) {
    uint64_t four;
    memcpy(&four, code, sizeof four);
    return four == UINT64_MAX;
}

/* Adds a row of codes to the histograms of its columns, or takes it away. */
static void vmafgpu__cambi_count_row(uint8_t *histograms, size_t size, int lead, const uint16_t *code, int count,
                                     int step) {
    for (int x = 0; x < count; x++) {
        if (code[x] != VMAFGPU__CAMBI_NOTHING) {
            uint8_t *bin = histograms + (size_t)x * size + (size_t)(lead + code[x]);
            *bin = (uint8_t)(*bin + step);
        } else if (x + 4 <= count && vmafgpu__cambi_is_empty(code + x)) {
            x += 3;
        }
    }
}

/* The same for a row that comes and one that goes. */
static void vmafgpu__cambi_slide_rows(uint8_t *histograms, size_t size, int lead, const uint16_t *come,
                                      const uint16_t *gone, int count) {
    for (int x = 0; x < count; x++) {
        uint8_t *bins = histograms + (size_t)x * size + lead;
        if (come[x] != gone[x]) {
            if (come[x] != VMAFGPU__CAMBI_NOTHING)
                bins[come[x]]++;
            if (gone[x] != VMAFGPU__CAMBI_NOTHING)
                bins[gone[x]]--;
        } else if (x + 4 <= count && vmafgpu__cambi_is_empty(come + x) && vmafgpu__cambi_is_empty(gone + x)) {
            x += 3;
        }
    }
}

/* The c-value of a sample from the counts around its value. */
static float vmafgpu__cambi_value(const float *reciprocal, const uint8_t *weights, int contrasts,
                                  const uint16_t *count) {
    const int own = count[contrasts];
    float best = 0;
    for (int k = 1; k <= contrasts; k++) {
        const int above = count[contrasts + k], below = count[contrasts - k], most = above > below ? above : below;
        const float value = (float)(weights[k - 1] * own * most) * reciprocal[own + most];
        best = value > best ? value : best;
    }
    return best;
}

/* Exactly: what is not 0 is 0.5 or more. */
static int64_t vmafgpu__cambi_units(float value) {
    return (int64_t)((double)value * 16777216.0);
}

/* Counts in the rows first..end-1 of a strip that begins at column x0. */
static void vmafgpu__cambi_strip_scalar(const vmafgpu__cambi *cambi, vmafgpu__cambi_band *band, int scale, int x0, int x1,
                                        int first, int end) {
    enum { GROUP = VMAFGPU__CAMBI_GROUP, MAX_SPAN = (2 * VMAFGPU__CAMBI_CONTRASTS + GROUP) / GROUP * GROUP };
    const vmafgpu__cambi_variant *variant = cambi->variant;
    const vmafgpu__plane *codes = &cambi->codes[scale];
    const int w = vmafgpu__cambi_size(variant, cambi->picture->width, scale);
    const int h = vmafgpu__cambi_size(variant, cambi->picture->height, scale);
    const int window = cambi->picture->window, reach = window >> 1, lead = variant->contrasts;
    const int span = cambi->span;
    const int left = x0 - reach > 0 ? x0 - reach : 0, right = x1 + reach < w ? x1 + reach : w;
    const size_t size = cambi->histogram_size;
    size_t found = band->count[scale];
    int64_t sum = band->sum[scale];
    float *values = cambi->values[scale] + (size_t)band->first_row[scale] * (size_t)w;
    uint8_t *origin = band->histograms + (size_t)(left - (x0 - reach)) * size;   /* columns outside stay empty */
    uint16_t count[MAX_SPAN];
    memset(band->histograms, 0, size * (size_t)(x1 - x0 + 2 * reach));
    for (int y = first - reach < 0 ? 0 : first - reach; y < first + reach && y < h; y++)
        vmafgpu__cambi_count_row(origin, size, lead, codes->data + y * codes->stride + left, right - left, 1);
    for (int y = first; y < end; y++) {
        const uint16_t *code = codes->data + y * codes->stride;
        int last_x = -2;
        const uint16_t *come = y + reach < h ? code + reach * codes->stride + left : NULL;
        const uint16_t *gone = y > first && y - reach - 1 >= 0 ? code - (reach + 1) * codes->stride + left : NULL;
        if (come && gone)
            vmafgpu__cambi_slide_rows(origin, size, lead, come, gone, right - left);
        else if (come || gone)
            vmafgpu__cambi_count_row(origin, size, lead, come ? come : gone, right - left, come ? 1 : -1);
        for (int x = x0; x < x1; x++) {
            if (code[x] == VMAFGPU__CAMBI_NOTHING) {
                x += x + 4 <= x1 && vmafgpu__cambi_is_empty(code + x) ? 3 : 0;
                continue;
            }
            if (!cambi->counts[code[x]])
                continue;
            const uint8_t *cell = band->histograms + (size_t)(x - x0) * size + code[x];   /* leftmost of the window */
            if (x - 1 == last_x && code[x] == code[x - 1]) {
                const uint8_t *left_behind = cell - size, *reached = cell + (size_t)(window - 1) * size;
                for (int i = 0; i < span; i++)
                    count[i] = (uint16_t)(count[i] + reached[i] - left_behind[i]);
            } else {
                memset(count, 0, sizeof(uint16_t) * (size_t)span);
                for (int k = 0; k < window; k++, cell += size)
                    for (int g = 0; g < span; g += GROUP)
                        for (int i = 0; i < GROUP; i++)
                            count[g + i] = (uint16_t)(count[g + i] + cell[g + i]);
            }
            last_x = x;
            const float value = vmafgpu__cambi_value(
                cambi->reciprocal, cambi->weights + (size_t)code[x] * (size_t)lead, lead, count);
            if (cambi->in_place) {
                cambi->values[scale][(size_t)y * (size_t)w + (size_t)x] = value;
            } else if (value > 0) {
                values[found++] = value;
                sum += vmafgpu__cambi_units(value);
            }
        }
    }
    band->length[scale] = band->count[scale] = found;
    band->sum[scale] = sum;
}

static int64_t vmafgpu__cambi_sum_above_scalar(const float *values, size_t count, float low, float high, float *alike,
                                               size_t *alike_count);

static const vmafgpu__cambi_functions vmafgpu__cambi_scalar = {
    vmafgpu__cambi_import_row_scalar, vmafgpu__cambi_soften_scalar, vmafgpu__cambi_flat_row_scalar,
    vmafgpu__cambi_slide_scalar, vmafgpu__cambi_mask_row_scalar, vmafgpu__cambi_halve_row_scalar,
    vmafgpu__cambi_halve_mask_scalar, vmafgpu__cambi_mode_row_scalar, vmafgpu__cambi_code_row_scalar,
    VMAFGPU__CAMBI_STRIP, vmafgpu__cambi_strip_scalar, vmafgpu__cambi_sum_above_scalar
};

static void vmafgpu__cambi_count_scale(const vmafgpu *v, int index, int scale) {
    const vmafgpu__cambi *cambi = v->cambi;
    vmafgpu__cambi_band *band = &cambi->bands[index];
    const int w = vmafgpu__cambi_size(cambi->variant, cambi->picture->width, scale);
    int first, end;
    vmafgpu__part(vmafgpu__cambi_size(cambi->variant, cambi->picture->height, scale), index, v->config.threads, &first,
                  &end);
    band->first_row[scale] = first;
    band->length[scale] = band->count[scale] = 0;
    band->sum[scale] = 0;
    if (cambi->in_place)
        memset(cambi->values[scale] + (size_t)first * (size_t)w, 0, sizeof(float) * (size_t)(end - first) * (size_t)w);
    const vmafgpu__cambi_functions *f = cambi->functions;
    for (int x = 0; x < w && first < end; x += f->strip_columns)
        f->strip(cambi, band, scale, x, x + f->strip_columns < w ? x + f->strip_columns : w, first, end);
}

static void vmafgpu__cambi_count_task(void *arg, int index) {
    const vmafgpu *v = (const vmafgpu *)arg;
    for (int s = 0; s < VMAFGPU__CAMBI_SCALES; s++)
        vmafgpu__cambi_count_scale(v, index, s);
}

static void vmafgpu__cambi_recount_task(void *arg, int index) {
    const vmafgpu *v = (const vmafgpu *)arg;
    vmafgpu__cambi_count_scale(v, index, v->cambi->scale);
}

/* ---- pooling ---- */

static uint32_t vmafgpu__float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float vmafgpu__float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The list of c-values that a band found. */
static const float *vmafgpu__cambi_found(const vmafgpu *v, int band, int scale, size_t *count) {
    const vmafgpu__cambi *cambi = v->cambi;
    const size_t w = (size_t)vmafgpu__cambi_size(cambi->variant, cambi->picture->width, scale);
    *count = cambi->bands[band].length[scale];
    return cambi->values[scale] + (size_t)cambi->bands[band].first_row[scale] * w;
}

/* What is above 0 lies between 0.5 and 2^15, and floats are in the order of their bits: of these the upper sixteen have
 * 2048 values there. */
enum { VMAFGPU__CAMBI_LOWEST = 0x3f00, VMAFGPU__CAMBI_DIGITS = 2048 };

/* Finds the upper sixteen bits of the c-value of rank *rank, counted from 1 at the largest; *rank becomes that among the
 * values with these bits. Neighbours are often alike, so that each has a histogram of its own to count in. */
static uint32_t vmafgpu__cambi_select_high(const vmafgpu *v, int scale, int64_t *rank) {
    enum { NEIGHBOURS = 4 };
    uint32_t histogram[VMAFGPU__CAMBI_DIGITS + 1][NEIGHBOURS], digit = VMAFGPU__CAMBI_DIGITS + 1;
    int64_t above = 0;
    memset(histogram, 0, sizeof histogram);
    for (int i = 0; i < v->config.threads; i++) {
        size_t count;
        const float *values = vmafgpu__cambi_found(v, i, scale, &count);
        for (size_t k = 0; k < count; k++) {
            const uint32_t high = vmafgpu__float_bits(values[k]) >> 16;   /* 0 has a place of its own */
            histogram[high < VMAFGPU__CAMBI_LOWEST ? 0 : high - VMAFGPU__CAMBI_LOWEST + 1][k % NEIGHBOURS]++;
        }
    }
    do {
        *rank -= above;
        digit--;
        above = 0;
        for (int i = 0; i < NEIGHBOURS; i++)
            above += histogram[digit][i];
    } while (above < *rank);
    return digit - 1 + VMAFGPU__CAMBI_LOWEST;
}

/* The sum of the values from `high` on, in units of 2^-24; those from `low` on and below `high` go to `alike`. */
static int64_t vmafgpu__cambi_sum_above_scalar(const float *values, size_t count, float low, float high, float *alike,
                                               size_t *alike_count) {
    int64_t sum = 0;
    for (size_t k = 0; k < count; k++) {
        const float value = values[k];
        if (value >= high)
            sum += vmafgpu__cambi_units(value);
        else if (value >= low)
            alike[(*alike_count)++] = value;
    }
    return sum;
}

/* The sum of the `rank` largest of n values whose upper sixteen bits are alike, in units of 2^-24. */
static int64_t vmafgpu__cambi_sum_low(float *values, size_t n, int64_t rank) {
    uint32_t found = 0, known = 0;
    int64_t sum = 0;
    if (!n)
        return 0;
    for (int shift = 8; shift >= 0; shift -= 8) {
        uint32_t histogram[256], digit = 255;
        int64_t rest = rank;
        memset(histogram, 0, sizeof histogram);
        for (size_t k = 0; k < n; k++)
            if ((vmafgpu__float_bits(values[k]) & known) == found)
                histogram[vmafgpu__float_bits(values[k]) >> shift & 255]++;
        while (histogram[digit] < rest)
            rest -= histogram[digit--];
        for (size_t k = 0; k < n; k++)
            if ((vmafgpu__float_bits(values[k]) & known) == found &&
                (vmafgpu__float_bits(values[k]) >> shift & 255) > digit)
                sum += vmafgpu__cambi_units(values[k]);
        rank = rest;
        found |= digit << shift;
        known |= 255u << shift;
    }
    found |= vmafgpu__float_bits(values[0]) & 0xffff0000u;
    return sum + rank * vmafgpu__cambi_units(vmafgpu__float_of_bits(found));
}

/* The sum of the `top` largest c-values of a scale, of which there are more. The lists are used up. */
static int64_t vmafgpu__cambi_sum_top(const vmafgpu *v, int scale, int64_t top) {
    const uint32_t digit = vmafgpu__cambi_select_high(v, scale, &top);
    float *alike = v->cambi->values[scale];   /* the front of the lists, which has been looked at by then */
    size_t alike_count = 0;
    int64_t sum = 0;
    for (int i = 0; i < v->config.threads; i++) {
        size_t count;
        const float *values = vmafgpu__cambi_found(v, i, scale, &count);
        sum += v->cambi->functions->sum_above(values, count, vmafgpu__float_of_bits(digit << 16),
                                              vmafgpu__float_of_bits((digit + 1) << 16), alike, &alike_count);
    }
    return sum + vmafgpu__cambi_sum_low(alike, alike_count, top);
}

/* Moves the `top` largest of n values to the front, in the very order in which the reference leaves them: Hoare's
 * selection around the value at `top`. */
static void vmafgpu__cambi_gather_top(float *values, int64_t n, int64_t top) {
    int64_t left = 0, right = n - 1;
    while (top < n && left < right) {
        const float pivot = values[top];
        int64_t i = left, k = right;
        while (i <= k) {
            while (values[i] > pivot)
                i++;
            while (values[k] < pivot)
                k--;
            if (i <= k) {
                const float value = values[i];
                values[i++] = values[k];
                values[k--] = value;
            }
        }
        if (k < top)
            left = i;
        if (top < i)
            right = k;
    }
}

/* A sum of 2^29 or more does not fit a double with its 24 bits behind the point, and the reference, which adds in
 * double precision, rounds on the way. What comes out still is a multiple of 2^-24. */
static vmafgpu_result vmafgpu__cambi_pool_rounded(vmafgpu *v, int scale, int64_t top, int64_t *units) {
    vmafgpu__cambi *cambi = v->cambi;
    const int64_t pixels = (int64_t)vmafgpu__cambi_size(cambi->variant, cambi->picture->width, scale) *
                           vmafgpu__cambi_size(cambi->variant, cambi->picture->height, scale);
    double sum = 0;
    cambi->scale = scale;
    cambi->in_place = 1;
    const vmafgpu_result result = vmafgpu__run(v, vmafgpu__cambi_recount_task, v);
    cambi->in_place = 0;
    if (result != VMAFGPU_OK)
        return result;
    vmafgpu__cambi_gather_top(cambi->values[scale], pixels, top);
    for (int64_t i = 0; i < top; i++)
        sum += (double)cambi->values[scale][i];
    *units = (int64_t)(sum * 16777216.0);
    return VMAFGPU_OK;
}

/* The sum of the `top` largest c-values of a scale, in units of 2^-24. */
static vmafgpu_result vmafgpu__cambi_pool(vmafgpu *v, int scale, int64_t top, int64_t *units) {
    int64_t all = 0, sum = 0;
    for (int i = 0; i < v->config.threads; i++) {
        all += (int64_t)v->cambi->bands[i].count[scale];
        sum += v->cambi->bands[i].sum[scale];
    }
    if (all > top)
        sum = vmafgpu__cambi_sum_top(v, scale, top);
    *units = sum;
    return sum >= (int64_t)1 << 53 ? vmafgpu__cambi_pool_rounded(v, scale, top, units) : VMAFGPU_OK;
}

/* Everything about one picture. */
static vmafgpu_result vmafgpu__cambi_look(vmafgpu *v, const vmafgpu__view *source, int is_wide, int64_t *top) {
    vmafgpu__cambi *cambi = v->cambi;
    const vmafgpu__cambi_variant *variant = cambi->variant;
    vmafgpu__carver carver = { NULL, 0 };
    carver.base = cambi->work;
    vmafgpu__cambi_layout(v, cambi, &carver);
    cambi->source = *source;
    cambi->is_wide = is_wide;
    vmafgpu__cambi_positions(v->config.width, cambi->picture->width, cambi->source_column);
    vmafgpu__cambi_positions(v->config.height, cambi->picture->height, cambi->source_row);
    vmafgpu__cambi_weigh(variant, cambi->weights);
    for (int code = 0; code < variant->bins; code++)
        cambi->counts[code] = (uint8_t)vmafgpu__cambi_is_counted(variant, code);
    for (int s = 0; s < VMAFGPU__CAMBI_SCALES; s++)   /* the row outside the picture */
        memset(cambi->codes[s].data + vmafgpu__cambi_size(variant, cambi->picture->height, s) * cambi->codes[s].stride,
               0xff, sizeof(uint16_t) * (size_t)cambi->codes[s].stride);
    vmafgpu_result result = vmafgpu__run(v, vmafgpu__cambi_mark_task, v);
    for (cambi->scale = 0; result == VMAFGPU_OK && cambi->scale < VMAFGPU__CAMBI_SCALES; cambi->scale++)
        result = vmafgpu__run(v, vmafgpu__cambi_filter_task, v);
    if (result == VMAFGPU_OK)
        result = vmafgpu__run(v, vmafgpu__cambi_count_task, v);
    for (int s = 0; result == VMAFGPU_OK && s < VMAFGPU__CAMBI_SCALES; s++)
        result = vmafgpu__cambi_pool(v, s, vmafgpu__cambi_top_count(variant, cambi->picture, s), &top[s]);
    return result;
}

/* All variants for a pair: reference, distorted. */
static vmafgpu_result vmafgpu__cambi_score(vmafgpu *v, const vmafgpu__view *pair, int is_wide, vmafgpu__cambi_sums *sums) {
    vmafgpu_result result = VMAFGPU_OK;
    for (int i = 0; i < v->plan.cambi_variants; i++)
        for (int k = 0; result == VMAFGPU_OK && k < v->plan.cambi[i].pictures; k++) {
            v->cambi->variant = &v->plan.cambi[i];
            v->cambi->picture = &v->cambi->variant->picture[k];
            result = vmafgpu__cambi_look(v, &pair[k ? 0 : 1], is_wide, sums[i].top[k]);
        }
    return result;
}

/* ================================================================================================
 * >>speed                                        entropy of the chroma planes, in float
 * ================================================================================================
 * A plane is low-passed to a sixteenth of its size and freed of its local mean. The covariance of its 5x5 blocks gives
 * eigenvalues and, through the inverse, a variance for each block; from both follows the entropy of each block, and the
 * score is how far reference and distorted are apart. The result hangs on the rounding of every operation, so their
 * order, sequential sums included, is part of the definition. Where loops have another order than the formula, each
 * element still sees the same operations one after another.
 */
enum {
    VMAFGPU__SPEED_SIDE = VMAFGPU__SPEED_BLOCK * VMAFGPU__SPEED_BLOCK,   /* of the matrices... */
    VMAFGPU__SPEED_PITCH = 32,             /* ...and from row to row; between them are zeros */
    VMAFGPU__SPEED_EDGE = VMAFGPU__SPEED_BLOCK - 1,
    VMAFGPU__SPEED_MIN_SIZE = VMAFGPU__SPEED_BLOCK << VMAFGPU__SPEED_SHIFT,
    VMAFGPU__SPEED_PLANES = 4,             /* u and v, of the reference and of the distorted frame */
    VMAFGPU__SPEED_RESAMPLE = 9            /* samples that make a new one along a side, at most */
};
enum { VMAFGPU__SPEED_NEAREST, VMAFGPU__SPEED_BILINEAR, VMAFGPU__SPEED_BICUBIC, VMAFGPU__SPEED_LANCZOS4 };

typedef struct vmafgpu__speed_matrix { float at[VMAFGPU__SPEED_SIDE][VMAFGPU__SPEED_PITCH]; } vmafgpu__speed_matrix;

/* From which samples along a side a new one is made, and how much each counts. */
typedef struct vmafgpu__speed_source {
    int   count;
    int   at[VMAFGPU__SPEED_RESAMPLE];
    float weight[VMAFGPU__SPEED_RESAMPLE];
} vmafgpu__speed_source;

/* The same for the columns of a bilinear prescale, side by side. */
typedef struct vmafgpu__speed_between {
    int32_t *at[2];
    float   *weight[2];
} vmafgpu__speed_between;

/* Rows are padded to a multiple of CHUNK, so that they can be worked on in vectors. */
typedef struct vmafgpu__speed_plane {
    float  *low;                           /* after the low-pass; later without the local mean */
    float  *means;                         /* local means, of the same size */
    float  *line;                          /* of local means down the columns, with margins */
    double *wide, *ones;                   /* `low` in double precision; a row of ones */
    double *column_sums;                   /* EDGE + 1 rows */
    float  *samples;                       /* per place in a block a row with all blocks */
    float  *solution;
    float  *variance, *entropy;            /* per block */
    int     singular;
} vmafgpu__speed_plane;

/* What is done to rows: in plain C here, in vectors in >>levels. They may be read and written up to their padded width. */
typedef struct vmafgpu__speed_functions {
    /* Samples `step` bytes apart, of one byte or two, as floats, as if they had 8 bits, around 0; returns the OR of words. */
    uint32_t (*import)(const uint8_t *source, int bytes, int step, int shift, float unit, int w, float *row);
    /* A row between two, with its weights. */
    void (*bilinear)(const float *const *rows, const float *weight, const vmafgpu__speed_between *columns, int w,
                     float *out);
    /* sum += tap * row */
    void (*add_row)(float *sum, const float *row, float tap, int w);
    /* The sums of the windows of w x h at each place of a block, sample by sample. */
    void (*totals)(const float *plane, ptrdiff_t pitch, int w, int h, float *total);
    /* Sums of products down the columns of windows h rows high that begin at rows 0..places-1, one row of `out` each. The
     * rows that all windows have come first, from EDGE on; then those above them, upwards; then those below. The products
     * are exact, fused or not. */
    void (*column_sums)(const double *a, const double *b, ptrdiff_t pitch, ptrdiff_t b_pitch, int w, int h, int places,
                        double *out, ptrdiff_t out_pitch);
    /* Rows from `first` on of out = a * b, where row and column before `first` of a are those of the identity. Every
     * element is a sum over k from `first` up. */
    void (*multiply)(const vmafgpu__speed_matrix *a, int first, const float *b, size_t pitch, int w, float *out);
    /* From `top` on: x = (tau * a) * v, and a -= x v' + v x', for a symmetric a. */
    void (*apply)(const vmafgpu__speed_matrix *a, int top, float tau, const float *v, float *x);
    void (*rank_two)(vmafgpu__speed_matrix *a, int top, const float *x, const float *v);
    /* Solves r x = b for an upper triangle r, with b in place of x. */
    void (*substitute)(const vmafgpu__speed_matrix *r, size_t pitch, int w, float *x);
    /* The mean over the rows of x * y, added up from the first. */
    void (*variances)(const float *x, const float *y, size_t pitch, int w, float *out);
} vmafgpu__speed_functions;

typedef struct vmafgpu__speed_band {
    float *source[VMAFGPU__SPEED_RESAMPLE];/* rows of the frame */
    float *row, *sum;                      /* after the prescale; after the low-pass down the columns */
    int    bad_row[VMAFGPU__SPEED_PLANES]; /* first row with an illegal sample; -1: none */
} vmafgpu__speed_band;

struct vmafgpu__speed {
    const vmafgpu__speed_functions *functions;
    unsigned char *work;                   /* memory that every variant lays out anew */
    const vmafgpu__speed_variant *variant;
    size_t pitch, block_pitch;             /* of `low` and the like, of rows of blocks */
    const vmafgpu_frame *frame[2];
    vmafgpu__speed_source *columns;        /* of the prescale */
    vmafgpu__speed_between between;
    vmafgpu__speed_plane plane[VMAFGPU__SPEED_PLANES];
    vmafgpu__speed_band *bands;
};

/* ---- what the options mean ---- */

/* Chroma of odd-sized pictures: the last row or column that is half outside is left out, as in libvmaf. */
static int vmafgpu__chroma_width(const vmafgpu_config *c) {
    return c->chroma == VMAFGPU_444 ? c->width : c->width >> 1;
}

static int vmafgpu__chroma_height(const vmafgpu_config *c) {
    return c->chroma == VMAFGPU_420 ? c->height >> 1 : c->height;
}

/* Taps of a Gaussian that sum to 1. */
static void vmafgpu__speed_gaussian(int reach, float sigma, float *taps) {
    const double width = (double)sigma;
    const float peak = (float)(1 / (width * sqrt(2 * 3.14159265358979323846)));
    float sum = 0;
    for (int i = -reach; i <= reach; i++) {
        const float value = (float)exp(-0.5 * i / width * i / width);
        taps[i + reach] = value / peak;
        sum += taps[i + reach];
    }
    for (int i = 0; i <= 2 * reach; i++)
        taps[i] /= sum;
}

/* Taps on either side, for a filter of `taps` taps at scale 1. */
static int vmafgpu__speed_reach(int taps, float scale) {
    const int size = (int)ceil((double)((float)taps * scale));
    return size < 3 ? 1 : size / 2;
}

static int vmafgpu__speed_scale_is_known(float scale) {
    static const float known[] = {
        1.0f, 1.0f / 2.0f, 3.0f / 2.0f, 2.0f, 2.0f / 3.0f, 2.4f, 360.0f / 97.0f, 4.0f / 3.0f, 3.5f / 3.0f,
        5.0f / 4.0f, 4.25f / 3.0f, 5.0f / 3.0f, 3.0f, 1.0f / 2.25f, 1.4746f, 1.54f, 1.6f, 1.06667f, 0.711111f,
        0.74074f, 1.111111f
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((double)fabsf(scale - known[i]) < 1e-3)
            return 1;
    return 0;
}

static const double vmafgpu__speed_log_2_pi_e = 4.0941911703612819;   /* log2(2 * pi * e) */

static vmafgpu_result vmafgpu__speed_resolve(vmafgpu *v, const vmafgpu__extractor *e, vmafgpu__speed_variant *x) {
    const double prescale = e->option[VMAFGPU__SPEED_PRESCALE];
    const float scale = (float)e->option[VMAFGPU__SPEED_KERNELSCALE];
    const float least_noise = (float)e->option[VMAFGPU__SPEED_NOISE_FLOOR];
    if (v->config.chroma == VMAFGPU_400)
        return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE,
                             "the feature speed_chroma, which the models vmaf_v1 use, needs chroma, but "
                             "config.chroma is 4:0:0");
    if (!vmafgpu__speed_scale_is_known(scale))
        return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE,
                             "speed_kernelscale %.6g is none of those that libvmaf knows: 1, 1.5, 2, 3, 0.5, 2/3, 4/3, "
                             "5/3, 1.25, 2.4 and a few more", (double)scale);
    x->width = vmafgpu__chroma_width(&v->config);
    x->height = vmafgpu__chroma_height(&v->config);
    x->scaled_width = (int)((double)x->width * prescale + 0.5);
    x->scaled_height = (int)((double)x->height * prescale + 0.5);
    x->method = (int)e->option[VMAFGPU__SPEED_METHOD];
    x->resampled = x->scaled_width != x->width || x->scaled_height != x->height;
    if (x->resampled && fabs(prescale - 1) < 1e-3)
        return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE,
                             "speed_prescale %.6g is too near 1: libvmaf takes it for 1, but not for the size",
                             prescale);
    if (x->scaled_width < VMAFGPU__SPEED_MIN_SIZE || x->scaled_height < VMAFGPU__SPEED_MIN_SIZE)
        return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE,
                             "the feature speed_chroma needs chroma planes of at least %dx%d pixels, times "
                             "speed_prescale: here they have %dx%d, times %.6g",
                             (int)VMAFGPU__SPEED_MIN_SIZE, (int)VMAFGPU__SPEED_MIN_SIZE, x->width, x->height, prescale);
    x->columns = x->scaled_width >> VMAFGPU__SPEED_SHIFT;
    x->rows = x->scaled_height >> VMAFGPU__SPEED_SHIFT;
    x->blocks_across = x->columns / VMAFGPU__SPEED_BLOCK;
    x->blocks_down = x->rows / VMAFGPU__SPEED_BLOCK;
    x->reach = vmafgpu__speed_reach(9, scale);
    x->local_reach = vmafgpu__speed_reach(2, scale);
    vmafgpu__speed_gaussian(x->reach, (float)(2.0 * (2 * x->reach + 1) / 5.0), x->taps);
    vmafgpu__speed_gaussian(x->local_reach, (float)(2 * x->local_reach + 1) / 5.0f, x->local_taps);
    x->noise = (float)e->option[VMAFGPU__SPEED_NOISE];
    x->base = (float)((int)VMAFGPU__SPEED_SIDE *
                      (log2((double)((1 + least_noise) * x->noise)) + vmafgpu__speed_log_2_pi_e));
    x->weighting = (int)e->option[VMAFGPU__SPEED_WEIGHTING];
    return VMAFGPU_OK;
}

/* Finds or adds the variant of an extractor. */
static vmafgpu_result vmafgpu__plan_speed(vmafgpu *v, const vmafgpu__extractor *e, int *index) {
    vmafgpu__speed_variant variant;
    memset(&variant, 0, sizeof variant);
    const vmafgpu_result result = vmafgpu__speed_resolve(v, e, &variant);
    return result != VMAFGPU_OK ? result
                                : vmafgpu__find_variant(v, v->plan.speed, &v->plan.speed_variants, &variant,
                                                        sizeof variant, "sets of options of speed_chroma", index);
}

/* ---- memory ---- */

/* Lays the work memory out for a variant. */
static void vmafgpu__speed_layout(const vmafgpu *v, vmafgpu__speed *speed, vmafgpu__carver *c) {
    const vmafgpu__speed_variant *x = speed->variant;
    const size_t pitch = vmafgpu__padded(x->columns), low = pitch * (size_t)(x->rows + 1);
    const size_t blocks = vmafgpu__padded(x->blocks_across * x->blocks_down);
    speed->pitch = pitch;
    speed->block_pitch = blocks;
    speed->columns = (vmafgpu__speed_source *)vmafgpu__carve(c, sizeof *speed->columns * (size_t)x->scaled_width);
    for (int k = 0; k < 2; k++) {
        speed->between.at[k] = (int32_t *)vmafgpu__carve(c, sizeof(int32_t) * vmafgpu__padded(x->scaled_width));
        speed->between.weight[k] = (float *)vmafgpu__carve(c, sizeof(float) * vmafgpu__padded(x->scaled_width));
    }
    for (int i = 0; i < VMAFGPU__SPEED_PLANES; i++) {
        vmafgpu__speed_plane *plane = &speed->plane[i];
        plane->low = (float *)vmafgpu__carve(c, sizeof(float) * low);
        plane->means = (float *)vmafgpu__carve(c, sizeof(float) * low);
        plane->line = (float *)vmafgpu__carve(c, sizeof(float) * (pitch + 2 * VMAFGPU__CHUNK));
        plane->wide = (double *)vmafgpu__carve(c, sizeof(double) * low);
        plane->ones = (double *)vmafgpu__carve(c, sizeof(double) * pitch);
        plane->column_sums = (double *)vmafgpu__carve(c, sizeof(double) * pitch * VMAFGPU__SPEED_BLOCK);
        plane->samples = (float *)vmafgpu__carve(c, sizeof(float) * VMAFGPU__SPEED_SIDE * blocks);
        plane->solution = (float *)vmafgpu__carve(c, sizeof(float) * VMAFGPU__SPEED_SIDE * blocks);
        plane->variance = (float *)vmafgpu__carve(c, sizeof(float) * blocks);
        plane->entropy = (float *)vmafgpu__carve(c, sizeof(float) * blocks);
    }
    vmafgpu__speed_band *bands =
        (vmafgpu__speed_band *)vmafgpu__carve(c, sizeof(vmafgpu__speed_band) * (size_t)v->config.threads);
    speed->bands = bands;
    for (int i = 0; i < v->config.threads; i++) {
        vmafgpu__speed_band unused, *band = bands ? &bands[i] : &unused;
        for (int k = 0; k < VMAFGPU__SPEED_RESAMPLE; k++)
            band->source[k] = (float *)vmafgpu__carve(c, sizeof(float) * vmafgpu__padded(x->width));
        band->row = (float *)vmafgpu__carve(c, sizeof(float) * vmafgpu__padded(x->scaled_width));
        band->sum = (float *)vmafgpu__carve(c, sizeof(float) * vmafgpu__padded(x->scaled_width));
    }
}

static vmafgpu_result vmafgpu__speed_open(vmafgpu *v, const vmafgpu__speed_functions *functions) {
    vmafgpu__speed head;
    size_t most = 0;
    memset(&head, 0, sizeof head);
    for (int i = 0; i < v->plan.speed_variants; i++) {
        vmafgpu__carver carver = { NULL, 0 };
        head.variant = &v->plan.speed[i];
        vmafgpu__speed_layout(v, &head, &carver);
        most = carver.used > most ? carver.used : most;
    }
    if (!most)
        return VMAFGPU_OK;
    const size_t start = (sizeof head + VMAFGPU__ALIGNMENT - 1) / VMAFGPU__ALIGNMENT * VMAFGPU__ALIGNMENT;
    v->speed = (vmafgpu__speed *)vmafgpu__take(v, start + most);
    if (!v->speed)
        return vmafgpu__fail_memory(v, "the feature speed_chroma", start + most);
    v->speed->functions = functions;
    v->speed->work = (unsigned char *)v->speed + start;
    return VMAFGPU_OK;
}

/* ---- from the frame's chroma to a plane of a sixteenth ---- */

static ptrdiff_t vmafgpu__chroma_pitch(const vmafgpu_config *c, const vmafgpu_frame *frame, int plane) {
    const int interleaved = c->layout != VMAFGPU_PLANAR, which = interleaved ? 0 : plane;
    const int wide = c->chroma == VMAFGPU_444 ? c->width : (c->width + 1) >> 1;   /* of tightly packed rows */
    const ptrdiff_t tight = (ptrdiff_t)wide * c->bytes_per_sample * (interleaved ? 2 : 1);
    return frame->pitch[1 + which] ? frame->pitch[1 + which] : tight;
}

static const uint8_t *vmafgpu__chroma_row(const vmafgpu_config *c, const vmafgpu_frame *frame, int plane, int y,
                                          int *step) {
    const int interleaved = c->layout != VMAFGPU_PLANAR, which = interleaved ? 0 : plane;
    *step = c->bytes_per_sample * (interleaved ? 2 : 1);
    return (const uint8_t *)frame->data[1 + which] + y * vmafgpu__chroma_pitch(c, frame, plane) +
           (interleaved ? plane * c->bytes_per_sample : 0);
}

/* Words of the layout with high samples have low bits that must be 0, others high bits. */
static uint32_t vmafgpu__chroma_illegal(const vmafgpu_config *c) {
    return c->layout == VMAFGPU_SEMIPLANAR_HIGH ? (1u << (16 - c->bit_depth)) - 1 : 0xffffu << c->bit_depth & 0xffffu;
}

static uint32_t vmafgpu__speed_import_scalar(const uint8_t *source, int bytes, int step, int shift, float unit, int w,
                                             float *VMAFGPU__RESTRICT row) {
    uint32_t seen = 0;
    if (bytes == 1)
        for (int x = 0; x < w; x++)
            row[x] = (float)(int)source[x * step] - 128;
    else
        for (int x = 0; x < w; x++) {
            const uint32_t word = (uint32_t)source[x * step] | (uint32_t)source[x * step + 1] << 8;
            seen |= word;
            row[x] = (float)(int)(word >> shift) * unit - 128;
        }
    return seen;
}

/* A row of the frame. Not 0 if a sample does not fit the bit depth. */
static uint32_t vmafgpu__speed_import(const vmafgpu *v, const vmafgpu_frame *frame, int plane, int y, float *row) {
    const vmafgpu_config *c = &v->config;
    const int shift = c->layout == VMAFGPU_SEMIPLANAR_HIGH ? 16 - c->bit_depth : 0, bytes = c->bytes_per_sample;
    const float unit = 1.0f / (float)(1 << (c->bit_depth - 8));
    int step;
    const uint8_t *source = vmafgpu__chroma_row(c, frame, plane, y, &step);
    const uint32_t seen = v->speed->functions->import(source, bytes, step, shift, unit, v->speed->variant->width, row);
    return bytes == 2 ? seen & vmafgpu__chroma_illegal(c) : 0;
}

/* Keys' cubic with a = -3/4. */
static float vmafgpu__speed_cubic(float t) {
    const float a = -0.75f;
    t = t < 0 ? -t : t;
    return t < 1 ? ((a + 2) * t - (a + 3)) * t * t + 1 : t < 2 ? (((t - 5) * t + 8) * t - 4) * a : 0;
}

static float vmafgpu__speed_lanczos(float t) {
    const double x = (double)t, pi = 3.14159265358979323846;
    if (t == 0 || t <= -4 || t >= 4)
        return t == 0 ? 1.0f : 0.0f;
    return (float)(4 * sin(pi * x) * sin(pi * x / 4) / (pi * pi * x * x));
}

/* What makes sample i of a side that is stretched from `size` to `count`. */
static void vmafgpu__speed_source_of(int method, int size, int count, int i, vmafgpu__speed_source *out) {
    static const int counts[] = { 1, 2, 4, 9 }, before[] = { 0, 0, 1, 4 };
    const float ratio = (float)size / (float)count, at = (float)((i + 0.5) * (double)ratio - 0.5);
    const int whole = (int)floor((double)at);
    const float rest = at - (float)whole;
    out->count = counts[method];
    for (int k = 0; k < out->count; k++) {
        const int step = k - before[method];
        out->at[k] = vmafgpu__reflect(whole + step, size);
        out->weight[k] = method == VMAFGPU__SPEED_BICUBIC ? vmafgpu__speed_cubic((float)step - rest)
                                                          : vmafgpu__speed_lanczos((float)step - rest);
    }
    if (method == VMAFGPU__SPEED_NEAREST) {
        const int nearest = (int)((float)i * ratio);
        out->at[0] = nearest < size ? nearest : size - 1;
        out->weight[0] = 1;
    } else if (method == VMAFGPU__SPEED_BILINEAR) {
        /* Beside the edge the distance is taken from the reflected sample. */
        out->at[1] = vmafgpu__reflect((int)ceil((double)at), size);
        out->weight[1] = at - (float)out->at[0];
        out->weight[0] = 1 - out->weight[1];
    }
}

static float vmafgpu__speed_resample(const vmafgpu__speed_source *down, const vmafgpu__speed_source *across, int method,
                                     float *const *rows) {
    float value = 0, weights = 0;
    for (int k = 0; k < down->count; k++)
        for (int i = 0; i < across->count; i++) {
            const float weight = down->weight[k] * across->weight[i];
            value += weight * rows[k][across->at[i]];
            weights += weight;
        }
    return method == VMAFGPU__SPEED_LANCZOS4 ? value / weights : value;
}

/* The same, in the same order, from two rows and columns. */
static void vmafgpu__speed_bilinear_scalar(const float *const *rows, const float *weight,
                                           const vmafgpu__speed_between *columns, int w, float *VMAFGPU__RESTRICT out) {
    for (int x = 0; x < w; x++) {
        float value = 0;
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < 2; i++)
                value += weight[k] * columns->weight[i][x] * rows[k][columns->at[i][x]];
        out[x] = value;
    }
}

/* Row y of a plane after the prescale; notes rows with illegal samples. */
static float *vmafgpu__speed_row(const vmafgpu *v, vmafgpu__speed_band *band, int plane, int y) {
    const vmafgpu__speed *speed = v->speed;
    const vmafgpu__speed_variant *x = speed->variant;
    vmafgpu__speed_source down;
    down.count = 1;
    down.at[0] = y;
    if (x->resampled)
        vmafgpu__speed_source_of(x->method, x->height, x->scaled_height, y, &down);
    for (int k = 0; k < down.count; k++)
        if (vmafgpu__speed_import(v, speed->frame[plane & 1], plane >> 1, down.at[k], band->source[k]) &&
            (band->bad_row[plane] < 0 || down.at[k] < band->bad_row[plane]))
            band->bad_row[plane] = down.at[k];
    if (!x->resampled)
        return band->source[0];
    if (x->method == VMAFGPU__SPEED_BILINEAR) {
        const float *rows[2];
        rows[0] = band->source[0];
        rows[1] = band->source[1];
        speed->functions->bilinear(rows, down.weight, &speed->between, x->scaled_width, band->row);
        return band->row;
    }
    for (int i = 0; i < x->scaled_width; i++)
        band->row[i] = vmafgpu__speed_resample(&down, &speed->columns[i], x->method, band->source);
    return band->row;
}

static void vmafgpu__speed_add_row_scalar(float *VMAFGPU__RESTRICT sum, const float *row, float tap, int w) {
    for (int i = 0; i < w; i++)
        sum[i] += tap * row[i];
}

/* The low-pass of all planes, where its samples are kept: down the columns, then along the rows. */
static void vmafgpu__speed_low_task(void *arg, int index) {
    const vmafgpu *v = (const vmafgpu *)arg;
    const vmafgpu__speed_variant *x = v->speed->variant;
    vmafgpu__speed_band *band = &v->speed->bands[index];
    int first, end;
    vmafgpu__part(x->rows, index, v->config.threads, &first, &end);
    for (int plane = 0; plane < VMAFGPU__SPEED_PLANES; plane++) {
        band->bad_row[plane] = -1;
        for (int y = first; y < end; y++) {
            float *out = v->speed->plane[plane].low + (size_t)y * v->speed->pitch;
            memset(band->sum, 0, sizeof(float) * (size_t)x->scaled_width);
            for (int t = -x->reach; t <= x->reach; t++) {
                const int from = vmafgpu__reflect((y << VMAFGPU__SPEED_SHIFT) + t, x->scaled_height);
                const float *row = vmafgpu__speed_row(v, band, plane, from);
                v->speed->functions->add_row(band->sum, row, x->taps[t + x->reach], x->scaled_width);
            }
            for (int i = 0; i < x->columns; i++) {
                const int at = i << VMAFGPU__SPEED_SHIFT;
                float sum = 0;
                if (at >= x->reach && at + x->reach < x->scaled_width)
                    for (int t = -x->reach; t <= x->reach; t++)
                        sum += x->taps[t + x->reach] * band->sum[at + t];
                else
                    for (int t = -x->reach; t <= x->reach; t++)
                        sum += x->taps[t + x->reach] * band->sum[vmafgpu__reflect(at + t, x->scaled_width)];
                out[i] = sum;
            }
        }
    }
}

/* The sentence for the first illegal sample of a row. */
static vmafgpu_result vmafgpu__speed_illegal(vmafgpu *v, int plane, int y) {
    const vmafgpu_config *c = &v->config;
    const uint32_t illegal = vmafgpu__chroma_illegal(c);
    int step, x = 0;
    const uint8_t *row = vmafgpu__chroma_row(c, v->speed->frame[plane & 1], plane >> 1, y, &step);
    uint32_t word = (uint32_t)row[0] | (uint32_t)row[1] << 8;
    while (!(word & illegal)) {
        row += step;
        word = (uint32_t)row[0] | (uint32_t)row[1] << 8;
        x++;
    }
    return vmafgpu__fail(v, VMAFGPU_ERROR_FRAME,
                         "%s, %s: the chroma word %u of plane %c at column %d, row %d %s %d bits", v->subject,
                         plane & 1 ? "distorted" : "reference", (unsigned)word, plane >> 1 ? 'v' : 'u', x, y,
                         c->layout == VMAFGPU_SEMIPLANAR_HIGH ? "has low bits set that are no part of" : "does not fit",
                         c->bit_depth);
}

/* Takes the local mean, a small Gaussian, from every sample. */
static void vmafgpu__speed_subtract_mean(const vmafgpu__speed *speed, vmafgpu__speed_plane *plane) {
    const vmafgpu__speed_variant *x = speed->variant;
    const int w = x->columns, h = x->rows, reach = x->local_reach;
    const size_t pitch = speed->pitch;
    float *line = plane->line + VMAFGPU__CHUNK;
    for (int y = 0; y < h; y++) {
        float *sum = plane->means + (size_t)y * pitch;
        memset(line, 0, sizeof(float) * (size_t)w);
        for (int t = -reach; t <= reach; t++)
            speed->functions->add_row(line, plane->low + (size_t)vmafgpu__reflect(y + t, h) * pitch,
                                      x->local_taps[t + reach], w);
        for (int t = 1; t <= reach; t++) {
            line[-t] = line[vmafgpu__reflect(-t, w)];
            line[w - 1 + t] = line[vmafgpu__reflect(w - 1 + t, w)];
        }
        memset(sum, 0, sizeof(float) * (size_t)w);
        for (int t = -reach; t <= reach; t++)
            speed->functions->add_row(sum, line + t, x->local_taps[t + reach], w);
    }
    for (size_t y = 0; y < (size_t)h; y++)
        for (size_t i = 0; i < (size_t)w; i++) {
            plane->low[y * pitch + i] -= plane->means[y * pitch + i];
            plane->wide[y * pitch + i] = (double)plane->low[y * pitch + i];
        }
}

/* ---- covariance of the places in a block, over all positions of the block ----
 *
 * For two places that lie dx, dy apart the sum of products is over a window of the plane of all products of samples dx, dy
 * apart. So that plane is made once for each of the 41 distances, and its columns are added up once for all windows. The sums
 * are in double precision, of products that are exact, and their order is the same everywhere: down each column the rows
 * that all windows have, then those above, then those below; along the row of column sums likewise.
 */
static void vmafgpu__speed_totals_scalar(const float *plane, ptrdiff_t pitch, int w, int h, float *total) {
    enum { BLOCK = VMAFGPU__SPEED_BLOCK, SIDE = VMAFGPU__SPEED_SIDE };
    memset(total, 0, sizeof(float) * SIDE);
    for (int y = 0; y < h; y++)
        for (int i = 0; i < w; i++)
            for (int p = 0; p < SIDE; p++)
                total[p] += plane[(y + p / BLOCK) * pitch + i + p % BLOCK];
}

static void vmafgpu__speed_column_sums_scalar(const double *a, const double *b, ptrdiff_t pitch, ptrdiff_t b_pitch, int w,
                                              int h, int places, double *out, ptrdiff_t out_pitch) {
    enum { EDGE = VMAFGPU__SPEED_EDGE };
    for (int x = 0; x < w; x++) {
        double core = 0, above[EDGE + 1], below = 0;
        for (int y = EDGE; y < h; y++)
            core += a[y * pitch + x] * b[y * b_pitch + x];
        above[EDGE] = 0;
        for (int y = EDGE - 1; y >= 0; y--)
            above[y] = above[y + 1] + a[y * pitch + x] * b[y * b_pitch + x];
        for (int k = 0; k < places; k++) {
            out[k * out_pitch + x] = (core + above[k]) + below;
            if (k + 1 < places)
                below += a[(h + k) * pitch + x] * b[(h + k) * b_pitch + x];
        }
    }
}

/* Sums of w columns from each of the columns first..last on, first >= 0, last <= EDGE. */
static void vmafgpu__speed_row_sums(const double *columns, int w, int first, int last, double *sum) {
    enum { EDGE = VMAFGPU__SPEED_EDGE };
    double core = 0, left[EDGE + 1], right = 0;
    for (int x = EDGE; x < w; x++)
        core += columns[x];
    left[EDGE] = 0;
    for (int x = EDGE - 1; x >= first; x--)
        left[x] = left[x + 1] + columns[x];
    for (int k = 0; k <= last; k++) {
        if (k >= first)
            sum[k] = (core + left[k]) + right;
        if (k < last)
            right += columns[w + k];
    }
}

/* The same for windows that are smaller than what all windows have: each by itself. */
static double vmafgpu__speed_small_sum(const double *a, const double *b, ptrdiff_t pitch, ptrdiff_t b_pitch, int w, int h) {
    double sum = 0;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            sum += a[y * pitch + x] * b[y * b_pitch + x];
    return sum;
}

/* Sums of products of samples dx, dy apart: sum[y][x] of the window that begins at column x, row y, where that and the
 * one dx, dy further both are places in a block. Without the samples dx, dy apart, sums of samples. */
static void vmafgpu__speed_window_sums(const vmafgpu__speed *speed, const vmafgpu__speed_plane *plane, int dx, int dy,
                                       int with_other, double sum[VMAFGPU__SPEED_BLOCK][VMAFGPU__SPEED_BLOCK]) {
    enum { BLOCK = VMAFGPU__SPEED_BLOCK, EDGE = VMAFGPU__SPEED_EDGE };
    const vmafgpu__speed_variant *x = speed->variant;
    const int w = BLOCK * x->blocks_across - EDGE, h = BLOCK * x->blocks_down - EDGE;
    const int first = dx < 0 ? -dx : 0, last = dx > 0 ? EDGE - dx : EDGE, places = BLOCK - dy;
    const ptrdiff_t pitch = (ptrdiff_t)speed->pitch, other_pitch = with_other ? pitch : 0;
    const double *other = with_other ? plane->wide + dy * pitch + dx : plane->ones;
    if (w < EDGE || h < EDGE) {
        for (int k = 0; k < places; k++)
            for (int i = first; i <= last; i++)
                sum[k][i] = vmafgpu__speed_small_sum(plane->wide + k * pitch + i, other + k * other_pitch + i, pitch,
                                                     other_pitch, w, h);
        return;
    }
    speed->functions->column_sums(plane->wide + first, other + first, pitch, other_pitch, w + last - first, h, places,
                                  plane->column_sums + first, pitch);
    for (int k = 0; k < places; k++)
        vmafgpu__speed_row_sums(plane->column_sums + k * pitch, w, first, last, sum[k]);
}

static void vmafgpu__speed_covariance(const vmafgpu__speed *speed, vmafgpu__speed_plane *plane,
                                      vmafgpu__speed_matrix *out) {
    enum { BLOCK = VMAFGPU__SPEED_BLOCK, EDGE = VMAFGPU__SPEED_EDGE, SIDE = VMAFGPU__SPEED_SIDE };
    const vmafgpu__speed_variant *x = speed->variant;
    const int w = BLOCK * x->blocks_across - EDGE, h = BLOCK * x->blocks_down - EDGE;
    const double n = (double)(w * h);
    double mean[SIDE], sum[BLOCK][BLOCK], single[BLOCK][BLOCK];
    float total[SIDE];
    for (int i = 0; i < w + EDGE; i++)
        plane->ones[i] = 1;
    speed->functions->totals(plane->low, (ptrdiff_t)speed->pitch, w, h, total);
    for (int p = 0; p < SIDE; p++)
        mean[p] = (double)(total[p] / (float)(w * h));
    memset(out, 0, sizeof *out);
    vmafgpu__speed_window_sums(speed, plane, 0, 0, 0, single);
    for (int dy = 0; dy < BLOCK; dy++)
        for (int dx = dy ? -EDGE : 0; dx <= EDGE; dx++) {
            vmafgpu__speed_window_sums(speed, plane, dx, dy, 1, sum);
            for (int y = 0; y + dy < BLOCK; y++)
                for (int i = dx < 0 ? -dx : 0; i < BLOCK && i + dx < BLOCK; i++) {
                    const int p = y * BLOCK + i, q = (y + dy) * BLOCK + i + dx;
                    const double both = sum[y][i] - mean[p] * single[y + dy][i + dx] - mean[q] * single[y][i] +
                                        n * mean[p] * mean[q];
                    out->at[p][q] = out->at[q][p] = (float)(both / n);
                }
        }
}

/* ---- eigenvalues: Householder's tridiagonal form, then implicit QR steps ---- */

/* Makes column i of the lower triangle a reflection; returns its factor. */
static float vmafgpu__speed_reflector(vmafgpu__speed_matrix *a, int i) {
    const int top = i + 1;
    float squares = 0;
    for (int r = top + 1; r < VMAFGPU__SPEED_SIDE; r++)
        squares += a->at[r][i] * a->at[r][i];
    const float rest = sqrtf(squares);
    if (rest == 0)
        return 0;
    const float alpha = a->at[top][i], length = sqrtf(alpha * alpha + rest * rest);
    const float beta = alpha >= 0 ? -length : length, scale = alpha - beta;
    if (scale != 0) {
        for (int r = top; r < VMAFGPU__SPEED_SIDE; r++)
            a->at[r][i] /= scale;
        a->at[top][i] = beta;
    }
    return (beta - alpha) / beta;
}

static void vmafgpu__speed_apply_scalar(const vmafgpu__speed_matrix *a, int top, float tau, const float *v, float *x) {
    for (int r = top; r < VMAFGPU__SPEED_SIDE; r++) {
        x[r] = 0;
        for (int c = top; c < VMAFGPU__SPEED_SIDE; c++)
            x[r] += tau * a->at[r][c] * v[c];
    }
}

static void vmafgpu__speed_rank_two_scalar(vmafgpu__speed_matrix *a, int top, const float *x, const float *v) {
    for (int r = top; r < VMAFGPU__SPEED_SIDE; r++)
        for (int c = top; c < VMAFGPU__SPEED_SIDE; c++)
            a->at[r][c] -= x[r] * v[c] + v[r] * x[c];
}

static void vmafgpu__speed_tridiagonalise(const vmafgpu__speed_functions *f, vmafgpu__speed_matrix *a, float *diagonal,
                                          float *beside) {
    enum { SIDE = VMAFGPU__SPEED_SIDE };
    float v[VMAFGPU__SPEED_PITCH], x[VMAFGPU__SPEED_PITCH];
    for (int i = 0; i + 2 < SIDE; i++) {
        const int top = i + 1;
        const float tau = vmafgpu__speed_reflector(a, i);
        if (tau == 0)
            continue;
        memset(v, 0, sizeof v);
        memset(x, 0, sizeof x);
        for (int r = top; r < SIDE; r++)
            v[r] = r == top ? 1 : a->at[r][i];
        f->apply(a, top, tau, v, x);
        float product = 0;
        for (int r = top; r < SIDE; r++)
            product += x[r] * v[r];
        const float half = (float)(-0.5 * (double)tau * (double)product);
        for (int r = top; r < SIDE; r++)
            x[r] += half * v[r];
        f->rank_two(a, top, x, v);
    }
    for (int i = 0; i < SIDE; i++) {
        diagonal[i] = a->at[i][i];
        beside[i] = i + 1 < SIDE ? a->at[i + 1][i] : 0;
    }
}

/* Clears what is negligible beside the diagonal, between first and last. */
static void vmafgpu__speed_chop(const float *d, float *e, int first, int last) {
    for (int i = first; i < last; i++)
        if ((double)fabsf(e[i]) < 1e-6 * (double)(fabsf(d[i]) + fabsf(d[i + 1])))
            e[i] = 0;
}

/* Wilkinson's shift for a block of m. */
static float vmafgpu__speed_shift(const float *d, const float *e, int m) {
    const float half = (d[m - 2] - d[m - 1]) / 2.0f, side = e[m - 2], corner = d[m - 1];
    const float length = sqrtf(half * half + side * side);
    float mu = corner - fabsf(side);
    if (half > 0)
        mu = corner - side * (side / (half + length));
    else if (half < 0)
        mu = corner + side * (side / (-half + length));
    return 1e-6 * (double)fabsf(mu) > (double)(fabsf(d[0]) + fabsf(e[0])) ? 0 : mu;
}

static void vmafgpu__speed_rotation(float x, float z, float *c, float *s) {
    if (z == 0) {
        *c = 1;
        *s = 0;
    } else if (fabsf(z) > fabsf(x)) {
        const float t = -x / z;
        *s = (float)(1.0 / sqrt((double)(1 + t * t)));
        *c = *s * t;
    } else {
        const float t = -z / x;
        *c = (float)(1.0 / sqrt((double)(1 + t * t)));
        *s = *c * t;
    }
}

/* One QR step on a block of m >= 2: a bulge is made at its top and chased out at its end. */
static void vmafgpu__speed_qr_step(float *d, float *e, int m) {
    float x = d[0] - vmafgpu__speed_shift(d, e, m), z = e[0];
    float ak = 0, bk = 0, zk = 0, ap = d[0], bp = e[0], aq = d[1], bq = m > 2 ? e[1] : 0;
    for (int k = 0; k + 1 < m; k++) {
        float c, s;
        vmafgpu__speed_rotation(x, z, &c, &s);
        const float bk1 = c * bk - s * zk;
        const float ap1 = c * (c * ap - s * bp) + s * (s * aq - c * bp);
        const float bp1 = c * (s * ap + c * bp) - s * (s * bp + c * aq);
        const float zp1 = -s * bq;
        const float aq1 = s * (s * ap + c * bp) + c * (s * bp + c * aq);
        const float bq1 = c * bq;
        ak = ap1;
        bk = bp1;
        zk = zp1;
        ap = aq1;
        bp = bq1;
        if (k + 2 < m)
            aq = d[k + 2];
        if (k + 3 < m)
            bq = e[k + 2];
        d[k] = ak;
        if (k > 0)
            e[k - 1] = bk1;
        if (k + 2 < m)
            e[k + 1] = bp;
        x = bk;
        z = zk;
    }
    d[m - 1] = ap;
    e[m - 2] = bk;
}

/* Eigenvalues in the order in which they come out. */
static void vmafgpu__speed_eigenvalues(const vmafgpu__speed_functions *f, const vmafgpu__speed_matrix *matrix, float *d) {
    float e[VMAFGPU__SPEED_SIDE];
    vmafgpu__speed_matrix a = *matrix;
    int last = VMAFGPU__SPEED_SIDE - 1, steps = 0;
    vmafgpu__speed_tridiagonalise(f, &a, d, e);
    vmafgpu__speed_chop(d, e, 0, last);
    while (last > 0 && steps < VMAFGPU__SPEED_QR_STEPS) {
        int first = last - 1;
        if (e[last - 1] == 0) {
            last--;
            continue;
        }
        while (first > 0 && e[first - 1] != 0)
            first--;
        vmafgpu__speed_qr_step(d + first, e + first, last - first + 1);
        vmafgpu__speed_chop(d, e, first, last);
        steps++;
    }
}

/* ---- the solution of covariance * x = samples, by a QR decomposition with whole matrices ---- */

static void vmafgpu__speed_multiply_scalar(const vmafgpu__speed_matrix *a, int first, const float *b, size_t pitch, int w,
                                           float *VMAFGPU__RESTRICT out) {
    for (size_t i = (size_t)first; i < VMAFGPU__SPEED_SIDE; i++) {
        memset(out + i * pitch, 0, sizeof(float) * (size_t)w);
        for (size_t k = (size_t)first; k < VMAFGPU__SPEED_SIDE; k++)
            for (size_t j = 0; j < (size_t)w; j++)
                out[i * pitch + j] += a->at[i][k] * b[k * pitch + j];
    }
}

static void vmafgpu__speed_identity(vmafgpu__speed_matrix *a) {
    memset(a, 0, sizeof *a);
    for (int i = 0; i < VMAFGPU__SPEED_SIDE; i++)
        a->at[i][i] = 1;
}

static float vmafgpu__speed_norm(const float *u) {
    float sum = 0;
    for (int r = 0; r < VMAFGPU__SPEED_SIDE; r++)
        sum += u[r] * u[r];
    return sqrtf(sum);
}

/* The reflection that clears column k of z below the diagonal. Its sign is that of the matrix decomposed, not of what
 * has become of it. Returns the length of its vector. */
static float vmafgpu__speed_householder(const vmafgpu__speed_matrix *z, int k, int is_negative,
                                        vmafgpu__speed_matrix *out) {
    float u[VMAFGPU__SPEED_SIDE];
    for (int r = 0; r < VMAFGPU__SPEED_SIDE; r++)
        u[r] = r < k ? 0 : z->at[r][k];
    const float length = vmafgpu__speed_norm(u);
    u[k] += is_negative ? -length : length;
    const float scale = vmafgpu__speed_norm(u);
    for (int r = 0; r < VMAFGPU__SPEED_SIDE; r++)
        u[r] /= scale;
    for (int r = 0; r < VMAFGPU__SPEED_SIDE; r++)
        for (int c = 0; c < VMAFGPU__SPEED_SIDE; c++)
            out->at[r][c] = -2 * u[r] * u[c];
    for (int r = 0; r < VMAFGPU__SPEED_SIDE; r++)
        out->at[r][r] += 1;
    return scale;
}

/* q becomes the transposed orthogonal factor. Rows and columns before k of a reflection are those of the identity, so that
 * products with it leave them out; unless its vector is no number. */
static void vmafgpu__speed_orthogonalise(const vmafgpu__speed_functions *f, const vmafgpu__speed_matrix *matrix,
                                         vmafgpu__speed_matrix *q) {
    enum { SIDE = VMAFGPU__SPEED_SIDE, PITCH = VMAFGPU__SPEED_PITCH };
    vmafgpu__speed_matrix z = *matrix, reflection, product;
    memset(&reflection, 0, sizeof reflection);
    vmafgpu__speed_identity(q);
    for (int k = 0; k + 1 < SIDE; k++) {
        for (int i = 0; k > 0 && i < SIDE; i++)
            z.at[k - 1][i] = z.at[i][k - 1] = i == k - 1 ? 1.0f : 0.0f;
        const int first = vmafgpu__speed_householder(&z, k, !(matrix->at[k][k] >= 0), &reflection) > 0 ? k : 0;
        const size_t size = sizeof(float) * PITCH * (size_t)(SIDE - first);
        f->multiply(&reflection, first, &z.at[0][0], PITCH, SIDE, &product.at[0][0]);
        memcpy(z.at[first], product.at[first], size);
        f->multiply(&reflection, first, &q->at[0][0], PITCH, SIDE, &product.at[0][0]);
        memcpy(q->at[first], product.at[first], size);
    }
}

static void vmafgpu__speed_substitute_scalar(const vmafgpu__speed_matrix *r, size_t pitch, int w, float *x) {
    for (size_t i = VMAFGPU__SPEED_SIDE; i-- > 0;) {
        float *VMAFGPU__RESTRICT own = x + i * pitch;
        for (size_t j = i + 1; j < VMAFGPU__SPEED_SIDE; j++)
            for (int b = 0; b < w; b++)
                own[b] -= x[j * pitch + (size_t)b] * r->at[i][j];
        for (int b = 0; b < w; b++)
            own[b] /= r->at[i][i];
    }
}

/* 0 if the matrix is singular. */
static int vmafgpu__speed_solve(const vmafgpu__speed_functions *f, const vmafgpu__speed_matrix *matrix,
                                const float *samples, size_t pitch, int blocks, float *solution) {
    vmafgpu__speed_matrix q, r;
    vmafgpu__speed_orthogonalise(f, matrix, &q);
    f->multiply(&q, 0, &matrix->at[0][0], VMAFGPU__SPEED_PITCH, VMAFGPU__SPEED_SIDE, &r.at[0][0]);
    for (int i = 0; i < VMAFGPU__SPEED_SIDE; i++)
        if ((double)fabsf(r.at[i][i]) < 1e-6)
            return 0;
    f->multiply(&q, 0, samples, pitch, blocks, solution);
    f->substitute(&r, pitch, blocks, solution);
    return 1;
}

/* ---- entropy and score ---- */

static void vmafgpu__speed_gather(const vmafgpu__speed *speed, vmafgpu__speed_plane *plane) {
    enum { BLOCK = VMAFGPU__SPEED_BLOCK };
    const vmafgpu__speed_variant *x = speed->variant;
    for (int p = 0; p < VMAFGPU__SPEED_SIDE; p++) {
        float *out = plane->samples + (size_t)p * speed->block_pitch;
        for (int y = 0; y < x->blocks_down; y++)
            for (int i = 0; i < x->blocks_across; i++)
                *out++ = plane->low[(ptrdiff_t)speed->pitch * (y * BLOCK + p / BLOCK) + i * BLOCK + p % BLOCK];
    }
}

static void vmafgpu__speed_variances_scalar(const float *x, const float *y, size_t pitch, int w, float *out) {
    for (size_t b = 0; b < (size_t)w; b++) {
        float sum = 0;
        for (size_t p = 0; p < VMAFGPU__SPEED_SIDE; p++)
            sum += x[p * pitch + b] * y[p * pitch + b] / (float)(int)VMAFGPU__SPEED_SIDE;
        out[b] = sum;
    }
}

static const vmafgpu__speed_functions vmafgpu__speed_scalar = {
    vmafgpu__speed_import_scalar, vmafgpu__speed_bilinear_scalar, vmafgpu__speed_add_row_scalar, vmafgpu__speed_totals_scalar,
    vmafgpu__speed_column_sums_scalar, vmafgpu__speed_multiply_scalar, vmafgpu__speed_apply_scalar,
    vmafgpu__speed_rank_two_scalar, vmafgpu__speed_substitute_scalar, vmafgpu__speed_variances_scalar
};

/* Variance and entropy of the blocks of one plane. */
static void vmafgpu__speed_measure(const vmafgpu__speed *speed, vmafgpu__speed_plane *plane) {
    const vmafgpu__speed_functions *f = speed->functions;
    const vmafgpu__speed_variant *x = speed->variant;
    const int blocks = x->blocks_across * x->blocks_down;
    vmafgpu__speed_matrix covariance;
    float eigenvalue[VMAFGPU__SPEED_SIDE];
    plane->singular = 0;
    vmafgpu__speed_subtract_mean(speed, plane);
    vmafgpu__speed_covariance(speed, plane, &covariance);
    vmafgpu__speed_eigenvalues(f, &covariance, eigenvalue);
    vmafgpu__speed_gather(speed, plane);
    for (int i = 0; i < VMAFGPU__SPEED_SIDE; i++)
        plane->singular |= (double)eigenvalue[i] < 1e-6;
    if (!plane->singular)
        plane->singular = !vmafgpu__speed_solve(f, &covariance, plane->samples, speed->block_pitch, blocks,
                                                plane->solution);
    if (plane->singular)
        memset(plane->solution, 0, sizeof(float) * VMAFGPU__SPEED_SIDE * speed->block_pitch);
    f->variances(plane->solution, plane->samples, speed->block_pitch, blocks, plane->variance);
    memset(plane->entropy, 0, sizeof(float) * (size_t)blocks);
    for (int i = 0; i < VMAFGPU__SPEED_SIDE; i++) {
        const float positive = eigenvalue[i] < 0 ? 0 : eigenvalue[i];
        for (int b = 0; b < blocks; b++) {
            const double information =
                vmafgpu__log2((double)(positive * plane->variance[b] + x->noise), vmafgpu__log2_table);
            plane->entropy[b] = (float)((double)plane->entropy[b] + (information + vmafgpu__speed_log_2_pi_e));
        }
    }
}

static void vmafgpu__speed_measure_task(void *arg, int index) {
    const vmafgpu *v = (const vmafgpu *)arg;
    for (int plane = index; plane < VMAFGPU__SPEED_PLANES; plane += v->config.threads)
        vmafgpu__speed_measure(v->speed, &v->speed->plane[plane]);
}

static float vmafgpu__speed_compare(const vmafgpu__speed_variant *x, const vmafgpu__speed_plane *reference,
                                    const vmafgpu__speed_plane *distorted) {
    const int blocks = x->blocks_across * x->blocks_down;
    float score = 0;
    if (reference->singular != distorted->singular)
        return 0;
    for (int b = 0; b < blocks; b++) {
        double weight_r, weight_d;
        if (reference->entropy[b] < x->base && distorted->entropy[b] < x->base)
            continue;
        vmafgpu__speed_weights(x->weighting, reference->variance[b], distorted->variance[b], vmafgpu__log2_table,
                               &weight_r, &weight_d);
        const float r = (float)((double)reference->entropy[b] * weight_r);
        const float d = (float)((double)distorted->entropy[b] * weight_d);
        score += fabsf(r - d);
    }
    return score / (float)blocks;
}

static vmafgpu_result vmafgpu__speed_look(vmafgpu *v, vmafgpu__speed_sums *sums) {
    vmafgpu__speed *speed = v->speed;
    const vmafgpu__speed_variant *x = speed->variant;
    vmafgpu__carver carver = { NULL, 0 };
    carver.base = speed->work;
    vmafgpu__speed_layout(v, speed, &carver);
    for (int i = 0; x->resampled && i < x->scaled_width; i++) {
        vmafgpu__speed_source_of(x->method, x->width, x->scaled_width, i, &speed->columns[i]);
        for (int k = 0; x->method == VMAFGPU__SPEED_BILINEAR && k < 2; k++) {
            speed->between.at[k][i] = speed->columns[i].at[k];
            speed->between.weight[k][i] = speed->columns[i].weight[k];
        }
    }
    for (int k = 0; x->resampled && k < 2; k++)   /* what may be read beyond the row must be columns, too */
        memset(speed->between.at[k] + x->scaled_width, 0,
               sizeof(int32_t) * (vmafgpu__padded(x->scaled_width) - (size_t)x->scaled_width));
    vmafgpu_result result = vmafgpu__run(v, vmafgpu__speed_low_task, v);
    for (int plane = 0; result == VMAFGPU_OK && plane < VMAFGPU__SPEED_PLANES; plane++)
        for (int i = 0; result == VMAFGPU_OK && i < v->config.threads; i++)
            if (speed->bands[i].bad_row[plane] >= 0)
                result = vmafgpu__speed_illegal(v, plane, speed->bands[i].bad_row[plane]);
    if (result == VMAFGPU_OK)
        result = vmafgpu__run(v, vmafgpu__speed_measure_task, v);
    for (int k = 0; result == VMAFGPU_OK && k < 2; k++) {
        const vmafgpu__speed_plane *reference = &speed->plane[2 * k], *distorted = &speed->plane[2 * k + 1];
        sums->score[k] = vmafgpu__speed_compare(x, reference, distorted);
        sums->singular[k] = reference->singular || distorted->singular;
    }
    return result;
}

/* All variants for a pair. */
static vmafgpu_result vmafgpu__speed_score(vmafgpu *v, const vmafgpu_frame *reference, const vmafgpu_frame *distorted,
                                           vmafgpu__speed_sums *sums) {
    vmafgpu_result result = VMAFGPU_OK;
    for (int i = 0; result == VMAFGPU_OK && i < v->plan.speed_variants; i++) {
        v->speed->variant = &v->plan.speed[i];
        v->speed->frame[0] = reference;
        v->speed->frame[1] = distorted;
        result = vmafgpu__speed_look(v, &sums[i]);
    }
    return result;
}

/* ================================================================================================
 * >>cpu                                          the backend in plain C, and what chooses vector code instead
 * ================================================================================================
 * A frame pair is worked off in pieces: a band of rows of one feature at one scale. A piece keeps a few lines of
 * intermediate results, never planes. The pieces of a feature and scale are a chain, taken from the top down; who is
 * free takes the first piece, in some order of the chains, whose input is there. So nobody waits for a scale to be
 * finished, only for the last pieces of the frame. At scale 0 the chains do not run away from one another, so that
 * rows are still in a cache when the next feature reads them.
 */
enum {
    VMAFGPU__MARGIN = 64,      /* columns before and after a line, for borders */
    VMAFGPU__BAND = 128,       /* rows of a band at most, and at least, as each reads rows of its neighbours anew... */
    VMAFGPU__LEAST_BAND = 32,  /* ...but for half of a thread's share... */
    VMAFGPU__LEAST_VIF = 16,   /* ...and for VIF, which reads neighbours for all rows */
    VMAFGPU__MAX_EDGE = 3      /* rows of 16 columns or more that have less than CHUNK columns up to the last row's end */
};

typedef struct vmafgpu__motion_lines {
    int32_t *whole;                        /* after the vertical pass */
    int16_t *pair[3];                      /* of the vector code: differences of two rows each */
    int16_t *row[2][2];                    /* after the vertical pass, of two rows: whole, or halves and last bits */
} vmafgpu__motion_lines;

/* Lines of one band. */
typedef struct vmafgpu__vif_lines {
    uint16_t *mean[2];                     /* after the vertical pass: reference, distorted */
    uint32_t *square[3];                   /* reference squared, distorted squared, product */
    int32_t  *variance[3];                 /* after the horizontal pass: s1, s2, s12 */
} vmafgpu__vif_lines;

typedef struct vmafgpu__adm_lines {
    int32_t *low[2], *high[2];             /* after the vertical pass: reference, distorted */
    int32_t *band[2][VMAFGPU__BANDS];      /* h, v, d of both */
    int32_t *restored[VMAFGPU__BANDS];
    uint8_t *same_angle;
    uint32_t *column_sum;
} vmafgpu__adm_lines;

/* Per variant and row, kept for three rows: mask sums and signals of the numerator [0] and of the impairment [1]. */
typedef struct vmafgpu__adm_row {
    uint32_t *side[2], *centre[2];         /* centre: what the centre adds beyond its side; modulo 2^32 */
    int32_t *signal[2][VMAFGPU__BANDS];
} vmafgpu__adm_row;

/* What a thread works with. */
typedef struct vmafgpu__worker {
    vmafgpu__sums      sums;
    vmafgpu__motion_lines motion;
    vmafgpu__vif_lines vif;
    void              *vif_scratch;        /* of the vector code */
} vmafgpu__worker;

/* What ADM works with besides. It takes many lines and a fifth of the time, so that many threads share a few. */
typedef struct vmafgpu__adm_room {
    vmafgpu__adm_lines lines;
    vmafgpu__adm_row   rows[VMAFGPU__MAX_VARIANTS][3];
    void              *scratch;            /* of the vector code */
    int                is_taken;           /* atomic */
} vmafgpu__adm_room;

/* The chains. */
enum {
    VMAFGPU__CHECK,                        /* whether samples fit the bit depth */
    VMAFGPU__KEEP,                         /* the reference, for the motion of the next frame */
    VMAFGPU__VIF_PIECES,                   /* of scale 0, then of the others */
    VMAFGPU__ADM_PIECES = VMAFGPU__VIF_PIECES + 4,
    VMAFGPU__MOTION_PIECES = VMAFGPU__ADM_PIECES + 4,
    VMAFGPU__CHAINS
};

typedef struct vmafgpu__chain {
    int  count;                            /* of pieces */
    int *first;                            /* pair of rows of each, in ADM row of the wavelet's bands; and the end */
    int *done;                             /* of each; atomic */
    int  limit;                            /* how many this frame has: all or none */
    int  next;                             /* the first that nobody has taken; atomic */
} vmafgpu__chain;

struct vmafgpu__cpu {
    const struct vmafgpu__cpu_functions *functions;
    uint16_t       *log_table;             /* [32768] */
    int             wide;                  /* 1: views have words, 0: bytes */
    int             in_place;              /* the caller's frames are views as they are; 0: they are copied to `landing` */
    uint8_t        *landing[2];
    uint8_t        *edge[2];
    size_t          row_bytes;             /* of these and of `history` */
    uint8_t        *history[2];            /* ring of the latest references; the next one goes to `current` */
    int             ring, current;
    vmafgpu__plane  vif[VMAFGPU__SCALES][2];    /* images of scales 1..3 (0 is unused) */
    void           *adm[VMAFGPU__SCALES][2];    /* low-pass bands: 16 bits from scale 0, 32 from scales 1 and 2 */
    ptrdiff_t       adm_stride[VMAFGPU__SCALES];
    vmafgpu__worker *workers;              /* threads beyond worker_count have nothing to do */
    int             worker_count;
    vmafgpu__adm_room *rooms;
    int             room_count;

    /* The present frame. */
    vmafgpu__view   pair[2];
    vmafgpu__view   before[2];             /* reference of one and of two frames before */
    vmafgpu__view   check[2];              /* of their samples it is not known whether they fit the bit depth */
    int             is_illegal;            /* atomic: one was met that does not */
    vmafgpu__chain  chains[VMAFGPU__CHAINS];
    vmafgpu        *members[VMAFGPU__MAX_DISTORTED];   /* whose pairs with one reference are worked off; itself first */
    int             member_count;
    int             is_prepared;           /* the sums of the next pair are there already */
    int             keeps;                 /* this frame's reference will be kept, whatever comes */
};

/* ---- VIF: what the engine hands over ---- */

enum {
    VMAFGPU__VIF_STRIP = 1984,     /* columns that are worked off together, so that their state stays in the L2 cache... */
    VMAFGPU__VIF_WIDE_THREADS = 16,   /* ...of so many threads; of more, narrower ones, so that all take no more memory */
    VMAFGPU__VIF_SIDE = 8,         /* columns that a strip sees on either side: the longest reach */
    VMAFGPU__VIF_FILL = 64,        /* the sides, and what fills the last registers */
    VMAFGPU__VIF_MARGIN = 32       /* elements on both sides of both halves of a line */
};

/* The input: luma as bytes (always 8 bits), as words, and a later scale's image. They differ in how sums are
 * rounded. */
enum { VMAFGPU__VIF_BYTES, VMAFGPU__VIF_WORDS, VMAFGPU__VIF_SCALED };

/* One image of a scale, and where its part of the next scale goes. */
typedef struct vmafgpu__vif_picture {
    const void *row;           /* row 0: bytes, or words of two bytes where the job is `wide` */
    ptrdiff_t   pitch;         /* in bytes */
    uint16_t   *next;          /* row 0 of the next scale's image, w / 2 by h / 2; NULL: not wanted */
    ptrdiff_t   next_stride;   /* in elements */
} vmafgpu__vif_picture;

/* One scale of a band of rows. Nothing is read outside the images, nothing written outside the next ones. */
typedef struct vmafgpu__vif_job {
    vmafgpu__vif_picture        reference;
    const vmafgpu__vif_picture *distorted;
    int                       distorted_count;
    int                       wide, scale, bit_depth, w, h;
    int                       first, end;     /* rows; `first` is even, `end` is even or h */
    int                       images_only;    /* no sums */
    const vmafgpu__plan      *plan;
    void                     *scratch;        /* aligned to 64 bytes */
    int                       widest;         /* columns of a strip, at most */
} vmafgpu__vif_job;

/* The widest strip, a multiple of 64: less with many distorted images, whose state lies in the same cache. */
static VMAFGPU__UNUSED int vmafgpu__vif_strip_width(int distorted_count, int threads) {
    const int wide = VMAFGPU__VIF_WIDE_THREADS, share = threads < wide ? wide : threads;
    const int width = 2 * VMAFGPU__VIF_STRIP * wide / share / (1 + distorted_count) / 64 * 64;
    return width < 64 ? 64 : width;
}

/* Bytes of scratch for up to `together` distorted images: ten pairs of rows of each image; lines of sixteen bits for four
 * rows; means and variances. */
static VMAFGPU__UNUSED size_t vmafgpu__vif_scratch_size(int width, int together, int threads) {
    size_t most = 0;
    for (int count = 1; count <= together; count++) {
        const int strip = vmafgpu__vif_strip_width(count, threads), columns = (width < strip ? width : strip) + 2 * VMAFGPU__VIF_SIDE;
        const size_t pairs = 10 * (size_t)((columns + 63) / 64 * 256 + 64) * (1 + (size_t)count);
        most = pairs > most ? pairs : most;
    }
    const size_t columns = (size_t)vmafgpu__vif_strip_width(1, threads) + VMAFGPU__VIF_FILL;
    return most + 4 * 9 * (columns + 4 * VMAFGPU__VIF_MARGIN) * sizeof(uint16_t) + 10 * columns * sizeof(uint32_t);
}

/* ---- ADM: what the engine hands over ---- */

/* One frame at one scale: what the wavelet reads, and the low-pass band that it leaves for the next scale. */
typedef struct vmafgpu__adm_image {
    const void *in;           /* uint8_t or uint16_t at scale 0, int16_t at scale 1, int32_t at 2 and 3 */
    ptrdiff_t   in_pitch;     /* in bytes. Scale 0 is not read beyond its width, others to a multiple of CHUNK */
    void       *low;          /* int16_t from scale 0, int32_t from 1 and 2; 3 leaves none */
    ptrdiff_t   low_stride;   /* in samples; rows are written up to a multiple of CHUNK */
} vmafgpu__adm_image;

typedef struct vmafgpu__adm_task {
    int scale, bit_depth, bytes;             /* bytes per sample of scale 0's input */
    int in_width, in_height;
    vmafgpu__adm_geometry geometry;
    const vmafgpu__adm_variant *variants;
    int variant_count;
    int distorted;                           /* how many frames are compared with the one reference */
    vmafgpu__adm_image image[1 + VMAFGPU__MAX_DISTORTED];   /* the reference is the first */
    void *scratch;                           /* vmafgpu__adm_scratch_size() bytes at 64, zero at first; a thread's */
} vmafgpu__adm_task;

/* The lines of a task, in its scratch memory. Those of a pair and variant are kept for three rows. */
typedef struct vmafgpu__adm_work {
    int16_t *line[2][2][2];                  /* frame; low, high filter; samples (scale 0), or l, h of 65536 h + l */
    uint16_t *inside;                        /* all ones where the sums' region is, in the order of packed chunks */
    uint32_t *column_sum;
    uint32_t *rest[VMAFGPU__BANDS];          /* of a row, what is above the threshold, one after the other */
    void *narrow[4];                         /* input rows of a frame narrower than a chunk */
    vmafgpu__adm_lines general;              /* for variants that the scalar functions do */
    vmafgpu__adm_row *rows;                  /* [distorted][variant][3] */
} vmafgpu__adm_work;

enum { VMAFGPU__ADM_PAD = 128 };             /* columns before and after a line, a chunk of scale 0 and more */

static VMAFGPU__UNUSED void *vmafgpu__adm_take(unsigned char *base, size_t *used, size_t count, size_t element,
                                               int is_line) {
    const size_t pad = is_line ? VMAFGPU__ADM_PAD : 0, at = *used;
    *used += ((count + 2 * pad) * element + 63) / 64 * 64;
    return base ? base + at + pad * element : NULL;
}

/* Lays out the lines for an input of `width`, or with a null base only counts. Shares of the threshold lie `skew` columns
 * further on than the others: so that no register of them crosses a cache line. */
static VMAFGPU__UNUSED size_t vmafgpu__adm_layout(vmafgpu__adm_work *work, unsigned char *base, int width,
                                                  int variants, int distorted, int skew) {
    const size_t w = (size_t)width, half = (w + 1) / 2;
    size_t used = 0;
    for (int f = 0; f < 2; f++)
        for (int filter = 0; filter < 2; filter++)
            for (int part = 0; part < 2; part++)
                work->line[f][filter][part] = (int16_t *)vmafgpu__adm_take(base, &used, w, sizeof(int16_t), 1);
    work->inside = (uint16_t *)vmafgpu__adm_take(base, &used, half, sizeof(uint32_t), 1);
    work->column_sum = (uint32_t *)vmafgpu__adm_take(base, &used, half, sizeof(uint32_t), 1);
    for (int b = 0; b < VMAFGPU__BANDS; b++)
        work->rest[b] = (uint32_t *)vmafgpu__adm_take(base, &used, half, sizeof(uint32_t), 1);
    for (int k = 0; k < 4; k++)
        work->narrow[k] = vmafgpu__adm_take(base, &used, 64, sizeof(int16_t), 0);
    for (int b = 0; b < VMAFGPU__BANDS; b++) {
        for (int f = 0; f < 2; f++)
            work->general.band[f][b] = (int32_t *)vmafgpu__adm_take(base, &used, half, sizeof(int32_t), 1);
        work->general.restored[b] = (int32_t *)vmafgpu__adm_take(base, &used, half, sizeof(int32_t), 1);
    }
    work->general.same_angle = (uint8_t *)vmafgpu__adm_take(base, &used, half, sizeof(uint8_t), 1);
    work->general.column_sum = work->column_sum;
    if (base)
        work->column_sum += skew;
    work->rows = (vmafgpu__adm_row *)vmafgpu__adm_take(base, &used, (size_t)(3 * variants * distorted),
                                                       sizeof *work->rows, 0);
    for (int i = 0; i < 3 * variants * distorted; i++) {
        vmafgpu__adm_row row;
        for (int which = 0; which < 2; which++) {
            row.side[which] = (uint32_t *)vmafgpu__adm_take(base, &used, half, sizeof(uint32_t), 1);
            row.centre[which] = (uint32_t *)vmafgpu__adm_take(base, &used, half, sizeof(uint32_t), 1);
            for (int b = 0; b < VMAFGPU__BANDS; b++)
                row.signal[which][b] = (int32_t *)vmafgpu__adm_take(base, &used, half, sizeof(int32_t), 1);
        }
        if (!base)
            continue;
        for (int which = 0; which < 2; which++) {
            row.side[which] += skew;
            row.centre[which] += skew;
        }
        work->rows[i] = row;
    }
    return used;
}

static VMAFGPU__UNUSED size_t vmafgpu__adm_scratch_size(int width, int variants, int distorted) {
    vmafgpu__adm_work work;
    return vmafgpu__adm_layout(&work, NULL, width, variants, distorted, 0);
}

/* Whether the vectors' integers hold what these factors make of the largest bands (as the GPU's fast form asks). */
static VMAFGPU__UNUSED int vmafgpu__adm_vectors_fit(const vmafgpu__adm_variant *variant, int scale) {
    static const double bounds[VMAFGPU__SCALES] = { 22931, 1511e6, 777e6, 773e6 };
    const double bound = bounds[scale], f = (double)variant->factor[scale][0], d = (double)variant->factor[scale][1];
    const double gain = variant->gain_limit;
    if (gain != (double)(int)gain || gain < 1 || gain > 100)
        return 0;
    if (scale)
        return f * bound < 288230376151711744.0 && d * bound < 288230376151711744.0;   /* 2^58 */
    if (f == 0 || d == 0 || f * bound >= 1073741824.0 || d * bound >= 1518500249.0)
        return 0;
    const double share = d / (4 * f);
    const double weighted = f / 32768 * (41768 + 5596 * share);
    return share <= 0.5 && 9 * (weighted * 16 / 15 + 3) + 3 * 16384 < 524288;
}

/* The largest coefficient of scale 0 for which the vectors' short cuts are exact: up to 16383 what is restored is the
 * smaller magnitude; a weighted value below 15360 does not wrap at the centre; none lies half way between integers,
 * where rounding would depend on the sign. */
static VMAFGPU__UNUSED int vmafgpu__adm_plain_limit(uint32_t factor, int band) {
    const uint32_t unit = band == 2 ? 131072 : 32768;
    const uint32_t wraps = (uint32_t)((uint64_t)15359 * unit / factor), ties = unit / 2 / (factor & (0u - factor)) - 1;
    uint32_t limit = 16383;
    limit = limit < wraps ? limit : wraps;
    return (int)(limit < ties ? limit : ties);
}

static void vmafgpu__adm_decouple_row(const vmafgpu__adm_lines *lines, int first, int end);
static void vmafgpu__adm_weigh_row(const vmafgpu__adm_lines *lines, const vmafgpu__adm_variant *variant, int scale,
                                   int first, int end, const vmafgpu__adm_row *out);
static void vmafgpu__adm_mask_row(const vmafgpu__adm_geometry *g, int scale, const vmafgpu__adm_row *above,
                                  const vmafgpu__adm_row *row, const vmafgpu__adm_row *below, uint32_t *column_sum,
                                  int which, int64_t *sums);

/* ---- levels: the same functions in several instruction sets ---- */

/* Rows are bytes or 16-bit words (`wide`); they can be read, whatever they hold, up to the next multiple of CHUNK
 * columns. Lines have margins on both sides. */
typedef struct vmafgpu__motion_job {
    const vmafgpu__view         *before, *now;
    int                          wide, w, h, bit_depth;
    const vmafgpu__motion_lines *lines;
} vmafgpu__motion_job;

typedef struct vmafgpu__cpu_functions {
    const char *name;
    unsigned    mask_bit;              /* of config.cpumask */
    /* The OR of w words. */
    uint32_t  (*or_words)(const uint8_t *words, int w);
    /* The sum of absolute values of the blurred difference of two frames, rows first..end-1. */
    int64_t   (*motion_rows)(const vmafgpu__motion_job *job, int first, int end);
    /* Bands of one scale, with what they leave for the next; added to sums[i] of the i-th distorted frame. Null: the plain
     * code below does it row by row. */
    void      (*vif_band)(const vmafgpu__vif_job *job, vmafgpu__vif_sums *const *sums);
    void      (*adm_band)(const vmafgpu__adm_task *task, int first, int end, vmafgpu__adm_sums *sums);
    const vmafgpu__cambi_functions *cambi;
    const vmafgpu__speed_functions *speed;
} vmafgpu__cpu_functions;

static uint32_t vmafgpu__or_words_scalar(const uint8_t *words, int w);
static int64_t vmafgpu__motion_rows_scalar(const vmafgpu__motion_job *job, int first, int end);

/* From lane n before its middle on: a vector whose last n lanes are zeros. The vector code's lanes must not be behind it. */
#define VMAFGPU__ONES_8 -1, -1, -1, -1, -1, -1, -1, -1
VMAFGPU__UNUSED static const int16_t vmafgpu__inside[64] = { VMAFGPU__ONES_8, VMAFGPU__ONES_8, VMAFGPU__ONES_8,
                                                             VMAFGPU__ONES_8 };

#ifdef VMAFGPU__HAS_X86
#  define VMAFGPU__LEVEL VMAFGPU__AVX2
#  include VMAFGPU_SELF
#  undef VMAFGPU__LEVEL
#  define VMAFGPU__LEVEL VMAFGPU__AVX512
#  include VMAFGPU_SELF
#  undef VMAFGPU__LEVEL

/* The registers that the operating system saves, as bits: 6 are those of AVX, 0xe6 those of AVX-512. */
static uint32_t vmafgpu__saved_registers(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    (void)high;
    return low;
}

static int vmafgpu__has_level(int level) {
    const uint32_t osxsave = 1u << 27, fma = 1u << 12, popcnt = 1u << 23;
    const uint32_t avx2 = 1u << 3 | 1u << 5 | 1u << 8;                             /* bmi, avx2, bmi2 */
    const uint32_t avx512 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;  /* f, dq, cd, bw, vl */
    const uint32_t avx512_vnni = 1u << 11;
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & osxsave) == 0 || (c & fma) == 0 || (c & popcnt) == 0)
        return 0;
    const uint32_t saved = vmafgpu__saved_registers();
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & avx2) != avx2 || (saved & 6) != 6)
        return 0;
    return level == VMAFGPU__AVX2 || ((b & avx512) == avx512 && (c & avx512_vnni) && (saved & 0xe6) == 0xe6);
}
#endif

#ifdef VMAFGPU__HAS_NEON
#  define VMAFGPU__LEVEL VMAFGPU__NEON
#  include VMAFGPU_SELF
#  undef VMAFGPU__LEVEL
#endif

static const vmafgpu__cpu_functions vmafgpu__functions_scalar = { "scalar", 0, vmafgpu__or_words_scalar,
                                                                  vmafgpu__motion_rows_scalar, NULL, NULL,
                                                                  &vmafgpu__cambi_scalar, &vmafgpu__speed_scalar };

/* The best level that the machine has and `mask` allows. */
static const vmafgpu__cpu_functions *vmafgpu__choose_level(unsigned mask) {
#ifdef VMAFGPU__HAS_X86
    if (!(mask & vmafgpu__functions_avx512.mask_bit) && vmafgpu__has_level(VMAFGPU__AVX512))
        return &vmafgpu__functions_avx512;
    if (!(mask & vmafgpu__functions_avx2.mask_bit) && vmafgpu__has_level(VMAFGPU__AVX2))
        return &vmafgpu__functions_avx2;
#endif
#ifdef VMAFGPU__HAS_NEON
    if (!(mask & vmafgpu__functions_neon.mask_bit))
        return &vmafgpu__functions_neon;
#endif
    (void)mask;
    return &vmafgpu__functions_scalar;
}

/* ---- import: the caller's luma to 16-bit samples in the low bits, checked ---- */

/* Moves words of two bytes down by `shift`; returns the OR of the bits outside `legal`, which is in place. */
static uint32_t vmafgpu__import_words(const uint8_t *source, uint16_t *row, int w, int shift, uint32_t legal) {
    uint32_t illegal = 0;
    int x = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const uint64_t four = 0x0001000100010001u, mask = four * (0xffffu >> shift), outside = ~(four * legal);
    uint64_t seen = 0;
    for (; x + 4 <= w; x += 4) {
        uint64_t words;
        memcpy(&words, source + 2 * x, sizeof words);
        seen |= words & outside;
        words = (words >> shift) & mask;
        memcpy(row + x, &words, sizeof words);
    }
    illegal = seen != 0;
#endif
    for (; x < w; x++) {
        const uint32_t word = (uint32_t)source[2 * x] | (uint32_t)source[2 * x + 1] << 8;
        illegal |= word & ~legal;
        row[x] = (uint16_t)(word >> shift);
    }
    return illegal;
}

/* Reads one row; not 0 if a sample does not fit the bit depth. */
static uint32_t vmafgpu__import_row(const vmafgpu_config *c, int canonical, const uint8_t *source, uint16_t *row) {
    const int shift = c->layout == VMAFGPU_SEMIPLANAR_HIGH && !canonical ? 16 - c->bit_depth : 0;
    if (canonical ? c->bit_depth > 8 : c->bytes_per_sample == 2)
        return vmafgpu__import_words(source, row, c->width, shift, ((1u << c->bit_depth) - 1) << shift);
    for (int x = 0; x < c->width; x++)
        row[x] = source[x];
    return 0;
}

static ptrdiff_t vmafgpu__luma_pitch(const vmafgpu_config *c, const vmafgpu_frame *frame) {
    return frame->pitch[0] ? frame->pitch[0] : (ptrdiff_t)c->width * c->bytes_per_sample;
}

/* Writes a row in the CPU's form. The samples are legal. */
static void vmafgpu__land_row(const vmafgpu__cpu *cpu, const vmafgpu_config *c, int canonical, const uint8_t *source,
                              uint8_t *row) {
    if (cpu->wide)
        (void)vmafgpu__import_row(c, canonical, source, (uint16_t *)(void *)row);
    else
        for (int x = 0, step = canonical ? 1 : c->bytes_per_sample; x < c->width; x++)
            row[x] = source[x * step];
}

static uint32_t vmafgpu__or_words_scalar(const uint8_t *words, int w) {
    uint32_t all = 0;
    for (int x = 0; x < w; x++)
        all |= (uint32_t)words[2 * x] | (uint32_t)words[2 * x + 1] << 8;
    return all;
}

/* Where bits of a word may not be set, by layout and depth. */
static uint32_t vmafgpu__illegal_bits(const vmafgpu_config *c, int canonical) {
    return c->layout == VMAFGPU_SEMIPLANAR_HIGH && !canonical ? (1u << (16 - c->bit_depth)) - 1
                                                              : 0xffffu & ~((1u << c->bit_depth) - 1);
}

/* The sentence for the first illegal sample of row y. */
static vmafgpu_result vmafgpu__illegal_sample(vmafgpu *v, const char *name, const vmafgpu_frame *frame, int y) {
    const vmafgpu_config *c = &v->config;
    const uint8_t *row = (const uint8_t *)frame->data[0] + y * vmafgpu__luma_pitch(c, frame);
    int x = 0;
    while (x + 1 < c->width && !(vmafgpu__or_words_scalar(row + 2 * x, 1) & vmafgpu__illegal_bits(c, 0)))
        x++;
    return vmafgpu__fail(v, VMAFGPU_ERROR_FRAME, "%s, %s: the luma word %u at column %d, row %d %s %d bits", v->subject, name,
                         (unsigned)vmafgpu__or_words_scalar(row + 2 * x, 1), x, y,
                         c->layout == VMAFGPU_SEMIPLANAR_HIGH ? "has low bits set that are no part of" : "does not fit",
                         c->bit_depth);
}

/* Names the first illegal sample of a frame; VMAFGPU_OK if there is none. */
static vmafgpu_result vmafgpu__check_samples(vmafgpu *v, const vmafgpu_frame *frame, const char *name) {
    const ptrdiff_t pitch = vmafgpu__luma_pitch(&v->config, frame);
    for (int y = 0; y < v->config.height; y++) {
        const uint8_t *row = (const uint8_t *)frame->data[0] + y * pitch;
        if (v->cpu->functions->or_words(row, v->config.width) & vmafgpu__illegal_bits(&v->config, 0))
            return vmafgpu__illegal_sample(v, name, frame, y);
    }
    return VMAFGPU_OK;
}

typedef struct vmafgpu__landing {
    const vmafgpu     *v;
    const vmafgpu_frame *frame;
    int                canonical;
    uint8_t           *to;
} vmafgpu__landing;

static void vmafgpu__landing_task(void *arg, int index) {
    const vmafgpu__landing *landing = (const vmafgpu__landing *)arg;
    const vmafgpu_config *c = &landing->v->config;
    const ptrdiff_t pitch = vmafgpu__luma_pitch(c, landing->frame);
    int first, end;
    vmafgpu__part(c->height, index, c->threads, &first, &end);
    for (int y = first; y < end; y++)
        vmafgpu__land_row(landing->v->cpu, c, landing->canonical, (const uint8_t *)landing->frame->data[0] + y * pitch,
                          landing->to + (size_t)y * landing->v->cpu->row_bytes);
}

/* A plane of the backend's own as a view. */
static vmafgpu__view vmafgpu__own_view(const vmafgpu__cpu *cpu, const uint8_t *data) {
    vmafgpu__view view;
    memset(&view, 0, sizeof view);
    view.data = data;
    view.pitch = (ptrdiff_t)cpu->row_bytes;
    return view;
}

/* Makes a view of a frame, at place 0 or 1: of the caller's memory, or of a copy. */
static vmafgpu_result vmafgpu__view_frame(vmafgpu *v, const vmafgpu_frame *frame, int canonical, const char *name, int place,
                                          vmafgpu__view *view) {
    vmafgpu__cpu *cpu = v->cpu;
    const vmafgpu_config *c = &v->config;
    const ptrdiff_t pitch = vmafgpu__luma_pitch(c, frame);
    memset(&cpu->check[place], 0, sizeof cpu->check[place]);
    if (!cpu->in_place) {
        vmafgpu__landing landing;
        if (!canonical && vmafgpu__illegal_bits(c, 0)) {
            const vmafgpu_result result = vmafgpu__check_samples(v, frame, name);
            if (result != VMAFGPU_OK)
                return result;
        }
        landing.v = v;
        landing.frame = frame;
        landing.canonical = canonical;
        landing.to = cpu->landing[place];
        *view = vmafgpu__own_view(cpu, cpu->landing[place]);
        return vmafgpu__run(v, vmafgpu__landing_task, &landing);
    }
    const int padded = (int)vmafgpu__padded(c->width);
    const size_t row = (size_t)c->width * (cpu->wide ? 2 : 1);
    view->data = (const uint8_t *)frame->data[0];
    view->pitch = pitch;
    view->edge = cpu->edge[place];
    view->edge_pitch = (ptrdiff_t)cpu->row_bytes;
    view->edge_count = (padded + c->width - 1) / c->width - 1;
    view->edge_first = pitch < 0 ? 0 : c->height - view->edge_count;
    for (int i = 0; i < view->edge_count; i++)
        memcpy(cpu->edge[place] + (size_t)i * cpu->row_bytes, view->data + (view->edge_first + i) * pitch, row);
    if (cpu->wide && c->bit_depth < 16 && !canonical)
        cpu->check[place] = *view;
    return VMAFGPU_OK;
}

/* Whether all samples of the rows first..end-1 fit the bit depth. */
static int vmafgpu__check_rows(const vmafgpu *v, int first, int end) {
    const vmafgpu__cpu *cpu = v->cpu;
    const uint32_t illegal = vmafgpu__illegal_bits(&v->config, 1);
    uint32_t all = 0;
    for (int i = 0; i < 1 + cpu->member_count; i++) {
        const vmafgpu__view *view = i == 0 ? &cpu->check[0] : &cpu->members[i - 1]->cpu->check[1];
        for (int y = first; y < end && view->data; y++)
            all |= cpu->functions->or_words((const uint8_t *)vmafgpu__view_row(view, y), v->config.width);
    }
    return (all & illegal) == 0;
}

/* Columns x..x + CHUNK - 1 of a view's row. */
static inline void vmafgpu__read_chunk(const void *row, int wide, ptrdiff_t x, uint16_t *VMAFGPU__RESTRICT chunk) {
    if (wide)
        memcpy(chunk, (const uint8_t *)row + 2 * x, VMAFGPU__CHUNK * sizeof *chunk);
    else
        for (int i = 0; i < VMAFGPU__CHUNK; i++)
            chunk[i] = ((const uint8_t *)row)[x + i];
}

/* ---- motion ---- */

static void vmafgpu__motion_vertical(const void *const *before, const void *const *now, int wide, ptrdiff_t x,
                                     int bit_depth, int32_t *line) {
    int32_t high[VMAFGPU__CHUNK] = { 0 }, low[VMAFGPU__CHUNK] = { 0 };
    for (int k = 0; k < 5; k++) {
        const int32_t tap = vmafgpu__motion_taps[k];
        uint16_t a[VMAFGPU__CHUNK], b[VMAFGPU__CHUNK];
        vmafgpu__read_chunk(before[k], wide, x, a);
        vmafgpu__read_chunk(now[k], wide, x, b);
        for (int i = 0; i < VMAFGPU__CHUNK; i++) {
            const int32_t d = (int32_t)a[i] - (int32_t)b[i];
            high[i] += tap * (d >> 8);
            low[i] += tap * (d & 255);
        }
    }
    for (int i = 0; i < VMAFGPU__CHUNK; i++)
        line[x + i] = vmafgpu__motion_round(high[i], low[i], bit_depth);
}

static int64_t vmafgpu__motion_row(const void *const *before, const void *const *now, int wide, int w, int bit_depth,
                                   int32_t *line) {
    for (ptrdiff_t x = 0; x < w; x += VMAFGPU__CHUNK)
        vmafgpu__motion_vertical(before, now, wide, x, bit_depth, line);
    for (int k = 1; k <= 2; k++) {
        line[-k] = line[k];
        line[w - 1 + k] = line[w - 1 - k];
    }
    int64_t sum = 0;
    for (int x = 0; x < w; x++) {
        int32_t high = 0, low = 0;
        for (int k = 0; k < 5; k++) {
            const int32_t d = line[x + k - 2];
            high += vmafgpu__motion_taps[k] * (d >> 8);
            low += vmafgpu__motion_taps[k] * (d & 255);
        }
        const int32_t z = vmafgpu__motion_round(high, low, 16);
        sum += z < 0 ? -z : z;
    }
    return sum;
}

static int64_t vmafgpu__motion_rows_scalar(const vmafgpu__motion_job *job, int first, int end) {
    int64_t sum = 0;
    for (int y = first; y < end; y++) {
        const void *before[5], *now[5];
        for (int k = 0; k < 5; k++) {
            const int row = vmafgpu__reflect(y + k - 2, job->h);
            before[k] = vmafgpu__view_row(job->before, row);
            now[k] = vmafgpu__view_row(job->now, row);
        }
        sum += vmafgpu__motion_row(before, now, job->wide, job->w, job->bit_depth, job->lines->whole);
    }
    return sum;
}

static void vmafgpu__motion_band(const vmafgpu *v, vmafgpu__worker *worker, int first, int end) {
    const vmafgpu__cpu *cpu = v->cpu;
    vmafgpu__motion_job job = { NULL, &cpu->pair[0], cpu->wide, v->config.width, v->config.height, v->config.bit_depth,
                                &worker->motion };
    for (int i = 0; i < 2; i++)
        if (cpu->before[i].data) {
            job.before = &cpu->before[i];
            worker->sums.motion[i] += cpu->functions->motion_rows(&job, first, end);
        }
}

/* ---- VIF ---- */

/* The inner loops: a chunk of weighted samples, products or squares is added to sums. One simple statement each, which
 * compilers turn into vector code. */
static inline void vmafgpu__add_samples(uint32_t *VMAFGPU__RESTRICT sum, const uint16_t *VMAFGPU__RESTRICT a,
                                        uint16_t tap) {
    for (int i = 0; i < VMAFGPU__CHUNK; i++)
        sum[i] += (uint32_t)tap * a[i];
}

static inline void vmafgpu__add_products(uint64_t *VMAFGPU__RESTRICT sum, const uint16_t *VMAFGPU__RESTRICT a,
                                         const uint16_t *VMAFGPU__RESTRICT b, uint32_t tap) {
    for (int i = 0; i < VMAFGPU__CHUNK; i++)
        sum[i] += (uint64_t)tap * ((uint32_t)a[i] * b[i]);
}

static inline void vmafgpu__add_squares(uint64_t (*VMAFGPU__RESTRICT sum)[VMAFGPU__CHUNK],
                                        const uint32_t *VMAFGPU__RESTRICT a, const uint32_t *VMAFGPU__RESTRICT b,
                                        const uint32_t *VMAFGPU__RESTRICT c, uint64_t tap) {
    for (int i = 0; i < VMAFGPU__CHUNK; i++) {
        sum[0][i] += tap * a[i];
        sum[1][i] += tap * b[i];
        sum[2][i] += tap * c[i];
    }
}

/* Weighted sums down the columns x..x+63 of 2 * reach + 1 rows: means, squares and product of both frames. */
static void vmafgpu__vif_vertical(const void *(*rows)[17], int wide, const uint16_t *taps, int reach, ptrdiff_t x,
                                  int mean_shift, int square_shift, const vmafgpu__vif_lines *out) {
    uint32_t mean[2][VMAFGPU__CHUNK] = { { 0 }, { 0 } };
    uint64_t square[3][VMAFGPU__CHUNK] = { { 0 }, { 0 }, { 0 } };
    for (int k = 0; k <= 2 * reach; k++) {
        uint16_t r[VMAFGPU__CHUNK], d[VMAFGPU__CHUNK];
        vmafgpu__read_chunk(rows[0][k], wide, x, r);
        vmafgpu__read_chunk(rows[1][k], wide, x, d);
        vmafgpu__add_samples(mean[0], r, taps[k]);
        vmafgpu__add_samples(mean[1], d, taps[k]);
        vmafgpu__add_products(square[0], r, r, taps[k]);
        vmafgpu__add_products(square[1], d, d, taps[k]);
        vmafgpu__add_products(square[2], r, d, taps[k]);
    }
    const uint32_t mean_half = (uint32_t)vmafgpu__half(mean_shift);
    const uint64_t square_half = (uint64_t)vmafgpu__half(square_shift);
    for (int f = 0; f < 2; f++)
        for (int i = 0; i < VMAFGPU__CHUNK; i++)
            out->mean[f][x + i] = (uint16_t)((mean[f][i] + mean_half) >> mean_shift);
    for (int f = 0; f < 3; f++)
        for (int i = 0; i < VMAFGPU__CHUNK; i++)
            out->square[f][x + i] = (uint32_t)((square[f][i] + square_half) >> square_shift);
}

/* Weighted sums along the row at columns x..x+63, and the variances and covariance that they give. */
static void vmafgpu__vif_horizontal(const vmafgpu__vif_lines *lines, const uint16_t *taps, int reach, ptrdiff_t x) {
    uint32_t mean[2][VMAFGPU__CHUNK] = { { 0 }, { 0 } };
    uint64_t square[3][VMAFGPU__CHUNK] = { { 0 }, { 0 }, { 0 } };
    for (int k = 0; k <= 2 * reach; k++) {
        const ptrdiff_t at = x + k - reach;
        for (int f = 0; f < 2; f++)
            vmafgpu__add_samples(mean[f], lines->mean[f] + at, taps[k]);
        vmafgpu__add_squares(square, lines->square[0] + at, lines->square[1] + at, lines->square[2] + at, taps[k]);
    }
    for (int i = 0; i < VMAFGPU__CHUNK; i++) {
        const uint32_t a = mean[0][i], b = mean[1][i];
        const int32_t s2 = vmafgpu__vif_variance(square[1][i], b, b);
        lines->variance[0][x + i] = vmafgpu__vif_variance(square[0][i], a, a);
        lines->variance[1][x + i] = s2 > 0 ? s2 : 0;
        lines->variance[2][x + i] = vmafgpu__vif_variance(square[2][i], a, b);
    }
}

/* The four sums of one row. */
static void vmafgpu__vif_statistics(const vmafgpu__plan *plan, const vmafgpu__vif_lines *lines, int w,
                                    const uint16_t *table, vmafgpu__vif_sums *sums) {
    const int32_t *var1 = lines->variance[0], *var2 = lines->variance[1], *cov = lines->variance[2];
    int64_t denominator = 0, flat_noise = 0, flat_count = 0;
    for (int x = 0; x < w; x++) {
        const int32_t s1 = var1[x], s2 = var2[x], s12 = cov[x];
        if (s1 < VMAFGPU__VIF_NOISE) {
            flat_noise += s2;
            flat_count++;
            continue;
        }
        denominator += vmafgpu__log2_2048((uint32_t)s1 + VMAFGPU__VIF_NOISE, table) - VMAFGPU__VIF_LOG_NOISE;
        if (s12 <= 0 || s2 <= 0)
            continue;
        double g;
        int32_t rest;
        vmafgpu__vif_channel(s1, s2, s12, &g, &rest);
        const uint32_t n1 = (uint32_t)rest + VMAFGPU__VIF_NOISE;
        const int log_n1 = vmafgpu__log2_2048(n1, table);
        for (int i = 0; i < plan->vif_variants; i++)
            sums->numerator[i] += vmafgpu__vif_information(s1, n1, log_n1, g, plan->vif_gain_limit[i], table);
    }
    sums->denominator += denominator;
    sums->flat_noise += flat_noise;
    sums->flat_count += flat_count;
}

/* One row of the next scale from the two images of this one: filtered, every second row and column. */
static void vmafgpu__vif_shrink_row(const void *const *rows, int wide, const uint16_t *taps, int reach, int w, int shift,
                                    uint16_t *line, uint16_t *out) {
    const uint32_t half = (uint32_t)vmafgpu__half(shift);
    for (ptrdiff_t x = 0; x < w; x += VMAFGPU__CHUNK) {
        uint32_t sum[VMAFGPU__CHUNK] = { 0 };
        for (int k = 0; k <= 2 * reach; k++) {
            uint16_t chunk[VMAFGPU__CHUNK];
            vmafgpu__read_chunk(rows[k], wide, x, chunk);
            vmafgpu__add_samples(sum, chunk, taps[k]);
        }
        for (int i = 0; i < VMAFGPU__CHUNK; i++)
            line[x + i] = (uint16_t)((sum[i] + half) >> shift);
    }
    for (int k = 1; k <= reach; k++) {
        line[-k] = line[k];
        line[w - 1 + k] = line[w - 1 - k];
    }
    for (int x = 0; x < w / 2; x++) {
        uint32_t sum = 32768;
        for (int k = 0; k <= 2 * reach; k++)
            sum += (uint32_t)taps[k] * line[2 * x + k - reach];
        out[x] = (uint16_t)(sum >> 16);
    }
}

static vmafgpu__view vmafgpu__vif_image(const vmafgpu__cpu *cpu, int scale, int frame) {
    vmafgpu__view view;
    if (scale == 0)
        return cpu->pair[frame];
    memset(&view, 0, sizeof view);
    view.data = (const uint8_t *)cpu->vif[scale][frame].data;
    view.pitch = cpu->vif[scale][frame].stride * 2;
    return view;
}

/* Row y of a scale: its sums. */
static void vmafgpu__vif_row(const vmafgpu *v, vmafgpu__worker *worker, int scale, const vmafgpu__view *image, int y) {
    const int w = v->config.width >> scale, h = v->config.height >> scale;
    const int mean_shift = vmafgpu__vif_mean_shift(scale, v->config.bit_depth);
    const int square_shift = vmafgpu__vif_square_shift(scale, v->config.bit_depth);
    const int reach = vmafgpu__vif_reach(scale), wide = scale || v->cpu->wide;
    const uint16_t *taps = vmafgpu__vif_taps[scale];
    const vmafgpu__vif_lines *lines = &worker->vif;
    const void *rows[2][17];
    for (int f = 0; f < 2; f++)
        for (int k = 0; k <= 2 * reach; k++)
            rows[f][k] = vmafgpu__view_row(&image[f], vmafgpu__reflect(y + k - reach, h));
    for (ptrdiff_t x = 0; x < w; x += VMAFGPU__CHUNK)
        vmafgpu__vif_vertical(rows, wide, taps, reach, x, mean_shift, square_shift, lines);
    for (int k = 1; k <= reach; k++) {
        for (int i = 0; i < 2; i++) {
            lines->mean[i][-k] = lines->mean[i][k];
            lines->mean[i][w - 1 + k] = lines->mean[i][w - 1 - k];
        }
        for (int i = 0; i < 3; i++) {
            lines->square[i][-k] = lines->square[i][k];
            lines->square[i][w - 1 + k] = lines->square[i][w - 1 - k];
        }
    }
    for (ptrdiff_t x = 0; x < w; x += VMAFGPU__CHUNK)
        vmafgpu__vif_horizontal(lines, taps, reach, x);
    vmafgpu__vif_statistics(&v->plan, lines, w, v->cpu->log_table, &worker->sums.vif[scale]);
}

/* An image of a scale and where that of the next one goes. */
static vmafgpu__vif_picture vmafgpu__vif_picture_of(const vmafgpu__cpu *cpu, int scale, int frame) {
    const vmafgpu__view image = vmafgpu__vif_image(cpu, scale, frame);
    vmafgpu__vif_picture picture;
    memset(&picture, 0, sizeof picture);
    picture.row = image.data;
    picture.pitch = image.pitch;
    if (scale + 1 < VMAFGPU__SCALES) {
        picture.next = cpu->vif[scale + 1][frame].data;
        picture.next_stride = cpu->vif[scale + 1][frame].stride;
    }
    return picture;
}

/* The same by vector code, for all members. */
static void vmafgpu__vif_vectors(const vmafgpu *v, vmafgpu__worker *worker, int scale, int first, int end) {
    const vmafgpu__cpu *cpu = v->cpu;
    const ptrdiff_t index = worker - cpu->workers;
    vmafgpu__vif_picture distorted[VMAFGPU__MAX_DISTORTED];
    vmafgpu__vif_sums *sums[VMAFGPU__MAX_DISTORTED];
    vmafgpu__vif_job job;
    memset(&job, 0, sizeof job);
    for (int i = 0; i < cpu->member_count; i++) {
        distorted[i] = vmafgpu__vif_picture_of(cpu->members[i]->cpu, scale, 1);
        sums[i] = &cpu->members[i]->cpu->workers[index].sums.vif[scale];
    }
    job.reference = vmafgpu__vif_picture_of(cpu, scale, 0);
    job.distorted = distorted;
    job.distorted_count = cpu->member_count;
    job.wide = scale || cpu->wide;
    job.scale = scale;
    job.bit_depth = v->config.bit_depth;
    job.w = v->config.width >> scale;
    job.h = v->config.height >> scale;
    job.first = first;
    job.end = end;
    job.images_only = scale == 0 && v->plan.vif_skips_scale_0;
    job.plan = &v->plan;
    job.scratch = worker->vif_scratch;
    job.widest = vmafgpu__vif_strip_width(cpu->member_count, cpu->worker_count);
    if (first < end)
        cpu->functions->vif_band(&job, sums);
}

/* Rows first..end-1 of a scale: their sums, and the rows of the next scale that lie there. */
static void vmafgpu__vif_rows(const vmafgpu *v, vmafgpu__worker *worker, int scale, int first, int end) {
    if (v->cpu->functions->vif_band) {
        vmafgpu__vif_vectors(v, worker, scale, first, end);
        return;
    }
    const vmafgpu__cpu *cpu = v->cpu;
    const int w = v->config.width >> scale, h = v->config.height >> scale, wide = scale || cpu->wide;
    vmafgpu__view image[2];
    for (int f = 0; f < 2; f++)
        image[f] = vmafgpu__vif_image(cpu, scale, f);
    for (int y = first; y < end && !(scale == 0 && v->plan.vif_skips_scale_0); y++)
        vmafgpu__vif_row(v, worker, scale, image, y);
    if (scale + 1 == VMAFGPU__SCALES)
        return;
    const int reach = vmafgpu__vif_reach(scale + 1), mean_shift = vmafgpu__vif_mean_shift(scale, v->config.bit_depth);
    for (int f = 0; f < 2; f++)
        for (int y = (first + 1) / 2; y < (end + 1) / 2 && y < h / 2; y++) {
            const void *rows[17];
            for (int k = 0; k <= 2 * reach; k++)
                rows[k] = vmafgpu__view_row(&image[f], vmafgpu__reflect(2 * y + k - reach, h));
            const vmafgpu__plane next = cpu->vif[scale + 1][f];
            vmafgpu__vif_shrink_row(rows, wide, vmafgpu__vif_taps[scale + 1], reach, w, mean_shift, worker->vif.mean[0],
                                    next.data + y * next.stride);
        }
}

/* ---- ADM ---- */

/* Vertical pass of the wavelet over one row of `w` columns. The input of scale 0 is luma, that of scale 1 the 16-bit
 * low-pass band of scale 0, then 32 bits. */
static void vmafgpu__dwt_vertical(const vmafgpu *v, int scale, int frame, int y, int w, int h, int32_t *low,
                                  int32_t *high) {
    const vmafgpu__cpu *cpu = v->cpu;
    const int32_t *lo = vmafgpu__dwt_low, *hi = vmafgpu__dwt_high;
    const int shift = vmafgpu__dwt_vertical_shift(scale, v->config.bit_depth);
    int rows[4];
    for (int k = 0; k < 4; k++)
        rows[k] = vmafgpu__reflect_repeat(2 * y - 1 + k, h);
    if (scale == 0) {
        const int32_t zero = (int32_t)1 << (v->config.bit_depth - 1);   /* mid grey */
        for (ptrdiff_t x = 0; x < w; x += VMAFGPU__CHUNK) {
            uint16_t in[4][VMAFGPU__CHUNK];
            for (int k = 0; k < 4; k++)
                vmafgpu__read_chunk(vmafgpu__view_row(&cpu->pair[frame], rows[k]), cpu->wide, x, in[k]);
            for (int i = 0; i < VMAFGPU__CHUNK; i++) {
                const int32_t a = in[0][i] - zero, b = in[1][i] - zero, c = in[2][i] - zero, d = in[3][i] - zero;
                low[x + i] = vmafgpu__dwt32(lo, a, b, c, d, shift);
                high[x + i] = vmafgpu__dwt32(hi, a, b, c, d, shift);
            }
        }
    } else if (scale == 1) {
        const int16_t *in[4];
        for (int k = 0; k < 4; k++)
            in[k] = (const int16_t *)cpu->adm[0][frame] + rows[k] * cpu->adm_stride[0];
        for (int x = 0; x < w; x++) {
            low[x] = vmafgpu__dwt32(lo, in[0][x], in[1][x], in[2][x], in[3][x], 0);
            high[x] = vmafgpu__dwt32(hi, in[0][x], in[1][x], in[2][x], in[3][x], 0);
        }
    } else {
        const int32_t *in[4];
        for (int k = 0; k < 4; k++)
            in[k] = (const int32_t *)cpu->adm[scale - 1][frame] + rows[k] * cpu->adm_stride[scale - 1];
        for (int x = 0; x < w; x++) {
            low[x] = vmafgpu__dwt64(lo, in[0][x], in[1][x], in[2][x], in[3][x], shift);
            high[x] = vmafgpu__dwt64(hi, in[0][x], in[1][x], in[2][x], in[3][x], shift);
        }
    }
    low[-1] = low[1];
    high[-1] = high[1];
    for (int k = 0; k < 2; k++) {
        low[w + k] = low[vmafgpu__reflect_repeat(w + k, w)];
        high[w + k] = high[vmafgpu__reflect_repeat(w + k, w)];
    }
}

/* Horizontal pass at output columns first..end-1. */
static void vmafgpu__dwt_horizontal(const int32_t *line, const int32_t *taps, int scale, int first, int end,
                                    int32_t *out) {
    const int shift = vmafgpu__dwt_horizontal_shift(scale);
    const int32_t *in = line - 1;
    if (scale == 0) {
        for (int x = first; x < end; x++)
            out[x] = vmafgpu__dwt32(taps, in[2 * x], in[2 * x + 1], in[2 * x + 2], in[2 * x + 3], shift);
        return;
    }
    for (int x = first; x < end; x++)
        out[x] = vmafgpu__dwt64(taps, in[2 * x], in[2 * x + 1], in[2 * x + 2], in[2 * x + 3], shift);
}

/* Parts the distorted bands of one row into what is restored of the reference and whether the gain applies. */
static void vmafgpu__adm_decouple_row(const vmafgpu__adm_lines *lines, int first, int end) {
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        const int32_t *o = lines->band[0][band], *t = lines->band[1][band];
        int32_t *r = lines->restored[band];
        for (int x = first; x < end; x++)
            r[x] = vmafgpu__adm_restore(o[x], t[x]);
    }
    for (int x = first; x < end; x++)
        lines->same_angle[x] = (uint8_t)vmafgpu__adm_same_angle(lines->band[0][0][x], lines->band[0][1][x],
                                                                lines->band[1][0][x], lines->band[1][1][x]);
}

/* Signals and mask sums of one row for one variant. The numerator's signal is what is restored and its mask what is
 * added; for the impairment it is the other way round. */
static void vmafgpu__adm_weigh_row(const vmafgpu__adm_lines *lines, const vmafgpu__adm_variant *variant, int scale,
                                   int first, int end, const vmafgpu__adm_row *out) {
    for (int i = 0; i < 2; i++) {
        const size_t size = (size_t)(end - first) * sizeof(uint32_t);
        memset(out->side[i] + first, 0, size);
        memset(out->centre[i] + first, 0, size);
    }
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        const int32_t *o = lines->band[0][band], *t = lines->band[1][band], *restored = lines->restored[band];
        const uint32_t factor = variant->factor[scale][band == 2];
        for (int x = first; x < end; x++) {
            int32_t value[2];
            value[0] = restored[x];
            if (value[0] && lines->same_angle[x])
                value[0] = vmafgpu__adm_enhance(value[0], o[x], t[x], variant->gain_limit);
            value[1] = t[x] - value[0];
            for (int i = 0; i < 2; i++) {
                const vmafgpu__adm_weighted weighted = vmafgpu__adm_weigh(scale, band, factor, value[i]);
                out->signal[i][band][x] = weighted.signal;
                out->side[!i][x] += weighted.side;
                out->centre[!i][x] += weighted.centre;
            }
        }
    }
}

/* Adds one row's masked cubes to the sums; the rows above and below are given by the caller's border rule. */
static void vmafgpu__adm_mask_row(const vmafgpu__adm_geometry *g, int scale, const vmafgpu__adm_row *above,
                                  const vmafgpu__adm_row *row, const vmafgpu__adm_row *below, uint32_t *column_sum,
                                  int which, int64_t *sums) {
    const int first = g->left, end = g->w - g->left;
    const uint32_t *a = above->side[which], *m = row->side[which], *b = below->side[which], *c = row->centre[which];
    const int from = first > 0 ? first - 1 : 0, to = end < g->w ? end + 1 : g->w;
    uint64_t sum[VMAFGPU__BANDS] = { 0, 0, 0 };   /* strong adm_csf_scale may wrap it */
    for (int x = from; x < to; x++)
        column_sum[x] = a[x] + m[x] + b[x];
    if (first == 0) {
        column_sum[-1] = column_sum[vmafgpu__reflect_repeat(-1, g->w)];
        column_sum[g->w] = column_sum[g->w - 1];
    }
    for (int x = first; x < end; x++) {
        const uint32_t threshold = column_sum[x - 1] + column_sum[x] + column_sum[x + 1] + c[x];
        for (int band = 0; band < VMAFGPU__BANDS; band++)
            sum[band] += (uint64_t)vmafgpu__adm_masked_cube(scale, band, row->signal[which][band][x], threshold,
                                                            g->mask_shift[band]);
    }
    /* The reference rounds each row's sum, so rows cannot be added first. */
    for (int band = 0; band < VMAFGPU__BANDS; band++)
        sums[band] += (int64_t)(sum[band] + (uint64_t)vmafgpu__half(g->mask_row_shift)) >> g->mask_row_shift;
}

static void vmafgpu__adm_denominator_row(const vmafgpu__adm_geometry *g, int scale, const vmafgpu__adm_lines *lines,
                                         int64_t *sums) {
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        const int32_t *o = lines->band[0][band];
        int64_t sum = 0;
        for (int x = g->left; x < g->w - g->left; x++)
            sum += vmafgpu__adm_cube(scale, o[x], g->den_shift);
        sums[band] += (sum + vmafgpu__half(g->den_row_shift)) >> g->den_row_shift;
    }
}

/* Wavelet of one row of both frames: the low-pass row if this band owns it, the others where the sums look. */
static void vmafgpu__adm_wavelet_row(const vmafgpu *v, const vmafgpu__adm_lines *lines, const vmafgpu__adm_geometry *g,
                                     int scale, int y, int own, int first, int end) {
    const vmafgpu__cpu *cpu = v->cpu;
    const int in_w = scale ? vmafgpu__adm_size(v->config.width, scale - 1) : v->config.width;
    const int in_h = scale ? vmafgpu__adm_size(v->config.height, scale - 1) : v->config.height;
    for (int f = 0; f < 2; f++) {
        vmafgpu__dwt_vertical(v, scale, f, y, in_w, in_h, lines->low[f], lines->high[f]);
        if (own && scale + 1 < VMAFGPU__SCALES) {
            int32_t *out = lines->restored[0];
            if (scale > 0)
                out = (int32_t *)cpu->adm[scale][f] + y * cpu->adm_stride[scale];
            vmafgpu__dwt_horizontal(lines->low[f], vmafgpu__dwt_low, scale, 0, g->w, out);
            if (scale == 0) {
                int16_t *narrow = (int16_t *)cpu->adm[0][f] + y * cpu->adm_stride[0];
                for (int x = 0; x < g->w; x++)
                    narrow[x] = (int16_t)out[x];
            }
        }
        vmafgpu__dwt_horizontal(lines->high[f], vmafgpu__dwt_low, scale, first, end, lines->band[f][0]);
        vmafgpu__dwt_horizontal(lines->low[f], vmafgpu__dwt_high, scale, first, end, lines->band[f][1]);
        vmafgpu__dwt_horizontal(lines->high[f], vmafgpu__dwt_high, scale, first, end, lines->band[f][2]);
    }
}

/* Rows first..end-1 of a scale: their sums, and the low-pass rows of the next scale. */
static void vmafgpu__adm_rows(const vmafgpu *v, vmafgpu__worker *worker, const vmafgpu__adm_room *room, int scale,
                              int first, int end) {
    const vmafgpu__adm_geometry g = vmafgpu__adm_geometry_of(v->config.width, v->config.height, scale);
    vmafgpu__adm_sums *sums = &worker->sums.adm[scale];
    const int left = g.left > 0 ? g.left - 1 : 0, right = g.left > 0 ? g.w - g.left + 1 : g.w;
    const int top = g.top > 0 ? g.top - 1 : 0, bottom = g.top > 0 ? g.h - g.top + 1 : g.h;
    /* One row more on each side, whose masks the own rows need. Row y - 1 is finished when row y is there. */
    for (int y = first - 1; y < end + 1; y++) {
        const int own = y >= first && y < end;
        const int needed = y >= top && y < bottom;
        if (y >= 0 && y < g.h && (own || needed))
            vmafgpu__adm_wavelet_row(v, &room->lines, &g, scale, y, own, left, needed ? right : left);
        if (needed) {
            vmafgpu__adm_decouple_row(&room->lines, left, right);
            for (int i = 0; i < v->plan.adm_variants; i++)
                vmafgpu__adm_weigh_row(&room->lines, &v->plan.adm[i], scale, left, right, &room->rows[i][y % 3]);
            if (own && y >= g.top && y < g.h - g.top)
                vmafgpu__adm_denominator_row(&g, scale, &room->lines, sums->denominator);
        }
        const int done = y - 1;
        if (done < first || done >= end || done < g.top || done >= g.h - g.top)
            continue;
        const int above = vmafgpu__reflect_repeat(done - 1, g.h), below = vmafgpu__reflect_repeat(done + 1, g.h);
        for (int i = 0; i < v->plan.adm_variants; i++) {
            const vmafgpu__adm_row *rows = room->rows[i];
            vmafgpu__adm_mask_row(&g, scale, &rows[above % 3], &rows[done % 3], &rows[below % 3],
                                  room->lines.column_sum, 0, sums->numerator[i]);
            vmafgpu__adm_mask_row(&g, scale, &rows[above % 3], &rows[done % 3], &rows[below % 3],
                                  room->lines.column_sum, 1, sums->impairment[i]);
        }
    }
}

static vmafgpu__adm_image vmafgpu__adm_image_of(const vmafgpu__cpu *cpu, int scale, int frame) {
    vmafgpu__adm_image image;
    memset(&image, 0, sizeof image);
    image.in = scale ? cpu->adm[scale - 1][frame] : (const void *)cpu->pair[frame].data;
    image.in_pitch = scale ? cpu->adm_stride[scale - 1] * (scale == 1 ? 2 : 4) : cpu->pair[frame].pitch;
    if (scale + 1 < VMAFGPU__SCALES) {
        image.low = cpu->adm[scale][frame];
        image.low_stride = cpu->adm_stride[scale];
    }
    return image;
}

static void vmafgpu__add_adm_sums(vmafgpu__adm_sums *to, const vmafgpu__adm_sums *sums, const vmafgpu__adm_sums *first,
                                  int variants) {
    for (int b = 0; b < VMAFGPU__BANDS; b++) {
        to->denominator[b] += first->denominator[b];
        for (int i = 0; i < variants; i++) {
            to->numerator[i][b] += sums->numerator[i][b];
            to->impairment[i][b] += sums->impairment[i][b];
        }
    }
}

/* The same by vector code, for all members. The denominator is the reference's and comes with the first. */
static void vmafgpu__adm_vectors(const vmafgpu *v, vmafgpu__worker *worker, const vmafgpu__adm_room *room, int scale,
                                 int first, int end) {
    const vmafgpu__cpu *cpu = v->cpu;
    const ptrdiff_t index = worker - cpu->workers;
    vmafgpu__adm_sums sums[VMAFGPU__MAX_DISTORTED];
    vmafgpu__adm_task task;
    memset(&task, 0, sizeof task);
    memset(sums, 0, (size_t)cpu->member_count * sizeof *sums);
    task.scale = scale;
    task.bit_depth = v->config.bit_depth;
    task.bytes = cpu->wide ? 2 : 1;
    task.in_width = scale ? vmafgpu__adm_size(v->config.width, scale - 1) : v->config.width;
    task.in_height = scale ? vmafgpu__adm_size(v->config.height, scale - 1) : v->config.height;
    task.geometry = vmafgpu__adm_geometry_of(v->config.width, v->config.height, scale);
    task.variants = v->plan.adm;
    task.variant_count = v->plan.adm_variants;
    task.distorted = cpu->member_count;
    task.image[0] = vmafgpu__adm_image_of(cpu, scale, 0);
    for (int i = 0; i < cpu->member_count; i++)
        task.image[1 + i] = vmafgpu__adm_image_of(cpu->members[i]->cpu, scale, 1);
    task.scratch = room->scratch;
    cpu->functions->adm_band(&task, first, end, sums);
    for (int i = 0; i < cpu->member_count; i++)
        vmafgpu__add_adm_sums(&cpu->members[i]->cpu->workers[index].sums.adm[scale], &sums[i], &sums[0],
                              v->plan.adm_variants);
}

/* ---- pieces ---- */

/* Keeps the reference for the motion of the next frame. */
static void vmafgpu__keep_rows(const vmafgpu *v, int first, int end) {
    const vmafgpu__cpu *cpu = v->cpu;
    for (int y = first; y < end; y++)
        memcpy(cpu->history[cpu->current] + (size_t)y * cpu->row_bytes, vmafgpu__view_row(&cpu->pair[0], y),
               (size_t)v->config.width * (cpu->wide ? 2 : 1));
}

static void vmafgpu__keep_task(void *arg, int index) {
    const vmafgpu *v = (const vmafgpu *)arg;
    int first, end;
    vmafgpu__part(v->config.height, index, v->config.threads, &first, &end);
    vmafgpu__keep_rows(v, first, end);
}

/* Whether the pieces that have what is in first..end-1 are done. */
static int vmafgpu__is_done(const vmafgpu__chain *chain, int first, int end) {
    int low = 0;
    for (int high = chain->limit; low < high;) {
        const int middle = (low + high) / 2;
        if (chain->first[middle + 1] <= first)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < chain->limit && chain->first[low] < end; low++)
        if (!vmafgpu__atomic_get(&chain->done[low]))
            return 0;
    return 1;
}

/* Whether a chain of scale 0 is so far ahead that others should catch up first. */
static int vmafgpu__is_ahead(const vmafgpu__cpu *cpu, int kind, int piece) {
    static const int behind[3] = { VMAFGPU__VIF_PIECES, VMAFGPU__ADM_PIECES, VMAFGPU__MOTION_PIECES };
    const int lead = (2 * cpu->worker_count - 1) * (VMAFGPU__BAND / 2) + (kind == VMAFGPU__CHECK ? VMAFGPU__LEAST_BAND / 2 : 0);
    for (int i = 0; i < 3; i++) {
        const vmafgpu__chain *chain = &cpu->chains[behind[i]];
        if (behind[i] > kind && chain->limit &&
            cpu->chains[kind].first[piece] - chain->first[vmafgpu__atomic_get(&chain->next)] >= lead)
            return 1;
    }
    return 0;
}

/* Whether what a piece reads is there. Row y of a scale's image comes from the pair of rows y of the scale before, row y of
 * a low-pass band from row y of the band; a row or two more than needed do no harm. */
static int vmafgpu__is_ready(const vmafgpu *v, int kind, int piece) {
    const vmafgpu__cpu *cpu = v->cpu;
    const vmafgpu__chain *chain = &cpu->chains[kind], *input = chain - 1, *check = &cpu->chains[VMAFGPU__CHECK];
    const int first = chain->first[piece], end = chain->first[piece + 1];
    switch (kind) {
    case VMAFGPU__CHECK: return !vmafgpu__is_ahead(cpu, kind, piece);
    case VMAFGPU__VIF_PIECES:
        return !vmafgpu__is_ahead(cpu, kind, piece) &&
               vmafgpu__is_done(check, first - vmafgpu__vif_reach(0) / 2 - 1, end + vmafgpu__vif_reach(0) / 2 + 1);
    case VMAFGPU__ADM_PIECES: return vmafgpu__is_done(check, first - 2, end + 3);
    case VMAFGPU__MOTION_PIECES: return vmafgpu__is_done(check, first - 2, end + 2);
    case VMAFGPU__KEEP:   /* nobody reads what was there, and the frame is taken */
        return vmafgpu__is_done(check, 0, v->config.height) &&
               vmafgpu__is_done(&cpu->chains[VMAFGPU__MOTION_PIECES], first - 2, end + 2);
    }
    if (kind < VMAFGPU__ADM_PIECES) {
        const int reach = vmafgpu__vif_reach(kind - VMAFGPU__VIF_PIECES);
        return vmafgpu__is_done(input, 2 * first - reach - 2, 2 * end + reach + 2);
    }
    return vmafgpu__is_done(input, 2 * first - 4, 2 * end + 5);
}

static vmafgpu__adm_room *vmafgpu__take_room(vmafgpu__cpu *cpu) {
    for (int i = 0; i < cpu->room_count; i++)
        if (!vmafgpu__atomic_get(&cpu->rooms[i].is_taken) && vmafgpu__atomic_change(&cpu->rooms[i].is_taken, 0, 1))
            return &cpu->rooms[i];
    return NULL;
}

static int vmafgpu__is_adm(int kind) {
    return kind >= VMAFGPU__ADM_PIECES && kind < VMAFGPU__ADM_PIECES + VMAFGPU__SCALES;
}

static void vmafgpu__run_piece(const vmafgpu *v, vmafgpu__worker *worker, vmafgpu__adm_room *room, int kind, int piece) {
    vmafgpu__cpu *cpu = v->cpu;
    const int first = cpu->chains[kind].first[piece], end = cpu->chains[kind].first[piece + 1];
    if (vmafgpu__is_adm(kind)) {
        if (cpu->functions->adm_band)
            vmafgpu__adm_vectors(v, worker, room, kind - VMAFGPU__ADM_PIECES, first, end);
        else
            vmafgpu__adm_rows(v, worker, room, kind - VMAFGPU__ADM_PIECES, first, end);
        return;
    }
    const int scale = kind > VMAFGPU__VIF_PIECES && kind < VMAFGPU__ADM_PIECES ? kind - VMAFGPU__VIF_PIECES : 0;
    const int h = v->config.height >> scale, last = 2 * end < h ? 2 * end : h;
    if (kind == VMAFGPU__MOTION_PIECES)
        vmafgpu__motion_band(v, worker, 2 * first, last);
    else if (kind == VMAFGPU__KEEP)
        vmafgpu__keep_rows(v, 2 * first, last);
    else if (kind != VMAFGPU__CHECK)
        vmafgpu__vif_rows(v, worker, scale, 2 * first, last);
    else if (!vmafgpu__check_rows(v, 2 * first, last))
        vmafgpu__atomic_set(&cpu->is_illegal, 1);
}

/* Takes a piece of this chain if there is one to take, and does it. */
static int vmafgpu__work_on(const vmafgpu *v, vmafgpu__worker *worker, int kind, int *is_over) {
    vmafgpu__cpu *cpu = v->cpu;
    vmafgpu__chain *chain = &cpu->chains[kind];
    vmafgpu__adm_room *room = NULL;
    const int piece = vmafgpu__atomic_get(&chain->next);
    if (piece >= chain->limit)
        return 0;
    *is_over = 0;
    if (!vmafgpu__is_ready(v, kind, piece) || (vmafgpu__is_adm(kind) && (room = vmafgpu__take_room(cpu)) == NULL))
        return 0;
    const int is_mine = vmafgpu__atomic_change(&chain->next, piece, piece + 1);
    if (is_mine && !vmafgpu__atomic_get(&cpu->is_illegal))
        vmafgpu__run_piece(v, worker, room, kind, piece);
    if (room)
        vmafgpu__atomic_set(&room->is_taken, 0);
    if (is_mine)
        vmafgpu__atomic_set(&chain->done[piece], 1);
    return 1;
}

/* One thread's part of a frame: pieces, until all are taken. */
static void vmafgpu__frame_task(void *arg, int index) {
    const vmafgpu *v = (const vmafgpu *)arg;
    vmafgpu__cpu *cpu = v->cpu;
    if (index >= cpu->worker_count)
        return;
    /* One thread alone stays with its rows. Many do ADM first, which has room for a few at a time only, and motion when there
     * is nothing else to do. */
    static const unsigned char orders[2][VMAFGPU__CHAINS] = {
        { VMAFGPU__CHECK, VMAFGPU__KEEP, VMAFGPU__VIF_PIECES, VMAFGPU__ADM_PIECES, VMAFGPU__MOTION_PIECES,
          VMAFGPU__VIF_PIECES + 1, VMAFGPU__VIF_PIECES + 2, VMAFGPU__VIF_PIECES + 3, VMAFGPU__ADM_PIECES + 1,
          VMAFGPU__ADM_PIECES + 2, VMAFGPU__ADM_PIECES + 3 },
        { VMAFGPU__CHECK, VMAFGPU__KEEP, VMAFGPU__ADM_PIECES, VMAFGPU__ADM_PIECES + 1, VMAFGPU__ADM_PIECES + 2,
          VMAFGPU__ADM_PIECES + 3, VMAFGPU__VIF_PIECES, VMAFGPU__VIF_PIECES + 1, VMAFGPU__VIF_PIECES + 2,
          VMAFGPU__VIF_PIECES + 3, VMAFGPU__MOTION_PIECES }
    };
    const unsigned char *order = orders[cpu->worker_count > 1];
    for (int looks = 0;;) {
        int is_over = 1, i = 0;
        while (i < VMAFGPU__CHAINS && !vmafgpu__work_on(v, &cpu->workers[index], order[i], &is_over))
            i++;
        if (i < VMAFGPU__CHAINS)
            looks = 0;
        else if (is_over)
            return;
        else
            vmafgpu__look_again(looks = (looks + 1) % VMAFGPU__LOOKS);
    }
}

/* Works off the reference in pair[0], and the members' distorted frames if they are wanted. */
static vmafgpu_result vmafgpu__run_frame(vmafgpu *v, int with_pair) {
    vmafgpu__cpu *cpu = v->cpu;
    int checks = cpu->check[0].data != NULL;
    for (int i = 0; i < cpu->member_count; i++)
        checks |= cpu->members[i]->cpu->check[1].data != NULL;
    for (int kind = 0; kind < VMAFGPU__CHAINS; kind++) {
        vmafgpu__chain *chain = &cpu->chains[kind];
        const int wanted = kind == VMAFGPU__CHECK            ? checks
                           : kind == VMAFGPU__MOTION_PIECES ? cpu->before[0].data || cpu->before[1].data
                           : kind == VMAFGPU__KEEP           ? cpu->keeps
                                                             : with_pair;
        chain->limit = wanted ? chain->count : 0;
        chain->next = 0;
        memset(chain->done, 0, (size_t)chain->count * sizeof *chain->done);
    }
    cpu->is_illegal = 0;
    const vmafgpu_result result = vmafgpu__run(v, vmafgpu__frame_task, v);
    return result == VMAFGPU_OK && cpu->is_illegal ? VMAFGPU_ERROR_FRAME : result;
}

/* Names the first illegal sample of the frame at a place, if one was met and it is in this frame. */
static vmafgpu_result vmafgpu__frame_result(vmafgpu *v, int place, const vmafgpu_frame *frame, const char *name) {
    return v->cpu->is_illegal && v->cpu->check[place].data ? vmafgpu__check_samples(v, frame, name) : VMAFGPU_OK;
}

/* Motion against a frame that is no part of the clip. */
static vmafgpu_result vmafgpu__submit_previous(vmafgpu *v, const vmafgpu__job *job) {
    vmafgpu__cpu *cpu = v->cpu;
    /* It takes the place of the distorted frame. */
    vmafgpu_result result = vmafgpu__view_frame(v, job->reference, job->canonical[0], "reference", 0, &cpu->pair[0]);
    if (result == VMAFGPU_OK)
        result = vmafgpu__view_frame(v, job->previous, 0, "previous reference", 1, &cpu->before[0]);
    if (result == VMAFGPU_OK)
        result = vmafgpu__run_frame(v, 0);
    if (result == VMAFGPU_ERROR_FRAME) {
        vmafgpu_result named = vmafgpu__frame_result(v, 1, job->previous, "previous reference");
        if (named == VMAFGPU_OK)
            named = vmafgpu__frame_result(v, 0, job->reference, "reference");
        result = named == VMAFGPU_OK ? result : named;
    }
    memset(cpu->before, 0, sizeof cpu->before);
    return result;
}

/* Prepares for a pair by itself. */
static void vmafgpu__begin(vmafgpu *v) {
    vmafgpu__cpu *cpu = v->cpu;
    memset(cpu->before, 0, sizeof cpu->before);
    memset(cpu->check, 0, sizeof cpu->check);
    for (int i = 0; i < cpu->worker_count; i++)
        memset(&cpu->workers[i].sums, 0, sizeof cpu->workers[i].sums);
    cpu->members[0] = v;
    cpu->member_count = 1;
}

/* The reference of i + 1 frames before. */
static const uint8_t *vmafgpu__history(const vmafgpu__cpu *cpu, int i) {
    return cpu->history[(cpu->current + cpu->ring * 2 - 1 - i) % cpu->ring];
}

static void vmafgpu__set_before(vmafgpu *v, int history) {
    for (int i = 0; i < 2; i++)
        if (v->plan.motion[i] && history > i)
            v->cpu->before[i] = vmafgpu__own_view(v->cpu, vmafgpu__history(v->cpu, i));
}

/* Banding and chroma of the pair whose luma is in `pair`. */
static vmafgpu_result vmafgpu__score_v1(vmafgpu *v, const vmafgpu_frame *reference, const vmafgpu_frame *distorted) {
    vmafgpu__sums *sums = &v->cpu->workers[0].sums;
    const vmafgpu_result result = vmafgpu__cambi_score(v, v->cpu->pair, v->cpu->wide, sums->cambi);
    return result == VMAFGPU_OK ? vmafgpu__speed_score(v, reference, distorted, sums->speed) : result;
}

static vmafgpu_result vmafgpu__cpu_pair(vmafgpu *v, const vmafgpu__job *job) {
    vmafgpu__cpu *cpu = v->cpu;
    vmafgpu_result result = VMAFGPU_OK;
    vmafgpu__begin(v);
    if (job->previous && v->plan.motion[0])
        result = vmafgpu__submit_previous(v, job);
    else if (!job->detached)
        vmafgpu__set_before(v, job->history);
    memset(cpu->check, 0, sizeof cpu->check);
    if (result == VMAFGPU_OK)
        result = vmafgpu__view_frame(v, job->reference, job->canonical[0], "reference", 0, &cpu->pair[0]);
    if (result == VMAFGPU_OK && job->distorted)
        result = vmafgpu__view_frame(v, job->distorted, job->canonical[1], "distorted", 1, &cpu->pair[1]);
    if (result == VMAFGPU_OK)
        result = vmafgpu__run_frame(v, job->distorted != NULL);
    if (result == VMAFGPU_OK && job->distorted)
        return vmafgpu__score_v1(v, job->reference, job->distorted);
    if (result == VMAFGPU_ERROR_FRAME) {
        vmafgpu_result named = vmafgpu__frame_result(v, 0, job->reference, "reference");
        if (named == VMAFGPU_OK)
            named = vmafgpu__frame_result(v, 1, job->distorted, "distorted");
        result = named == VMAFGPU_OK ? result : named;
    }
    return result;
}

static vmafgpu_result vmafgpu__cpu_submit(vmafgpu *v, const vmafgpu__job *job) {
    vmafgpu__cpu *cpu = v->cpu;
    vmafgpu_result result = VMAFGPU_OK;
    const int keeps = !job->detached && cpu->ring, is_prepared = cpu->is_prepared && !job->detached;
    /* Where nothing can fail after the samples are checked, the reference is kept on the way. */
    cpu->keeps = keeps && !is_prepared && !v->plan.cambi_variants && !v->plan.speed_variants &&
                 (v->config.threads == 1 || !v->config.parallel_for);
    if (!is_prepared)
        result = vmafgpu__cpu_pair(v, job);
    /* A hook that fails must not leave half a frame: then all of it is copied here. */
    if (result == VMAFGPU_OK && keeps && !cpu->keeps && vmafgpu__run(v, vmafgpu__keep_task, v) != VMAFGPU_OK)
        vmafgpu__keep_rows(v, 0, v->config.height);
    if (result == VMAFGPU_OK && keeps)
        cpu->current = (cpu->current + 1) % cpu->ring;
    cpu->is_prepared = 0;
    cpu->keeps = 0;
    return result;
}

/* ---- one reference against many ---- */

static int vmafgpu__is_alike(const vmafgpu *a, const vmafgpu *b) {
    const vmafgpu_config *c = &a->config, *d = &b->config;
    return b->is_open && b->backend == a->backend && b->cpu && c->width == d->width && c->height == d->height &&
           c->bit_depth == d->bit_depth && c->bytes_per_sample == d->bytes_per_sample && c->layout == d->layout &&
           c->threads == d->threads && c->cpumask == d->cpumask && c->subsample == d->subsample &&
           a->seeded + a->pushed == b->seeded + b->pushed && a->pushed == b->pushed && !a->flushed && !b->flushed &&
           !a->tailed && !b->tailed && memcmp(&a->plan, &b->plan, sizeof a->plan) == 0;
}

/* Whether two contexts have seen the same references as far as motion looks back. */
static int vmafgpu__has_same_history(const vmafgpu *a, const vmafgpu *b) {
    const int64_t seen = a->seeded + a->pushed;
    const size_t size = a->cpu->row_bytes * (size_t)a->config.height;
    for (int i = 0; i < a->cpu->ring && i < seen; i++)
        if (memcmp(vmafgpu__history(a->cpu, i), vmafgpu__history(b->cpu, i), size) != 0)
            return 0;
    return 1;
}

/* Computes the sums of all contexts' next pair, or does nothing: vmafgpu_push() then finds what is wrong. */
static void vmafgpu__prepare_many(vmafgpu *const *contexts, int count, const vmafgpu_frame *reference,
                                  const vmafgpu_frame *distorted) {
    vmafgpu *v = contexts[0];
    vmafgpu__cpu *cpu = v->cpu;
    const int64_t seen = v->seeded + v->pushed;
    int same_history = 1;
    char error[VMAFGPU__ERROR_SIZE];
    memcpy(error, v->error, sizeof error);
    for (int i = 0; i < count; i++)
        vmafgpu__begin(contexts[i]);
    for (int i = 0; i < count; i++) {
        cpu->members[i] = contexts[i];
        same_history &= i == 0 || vmafgpu__has_same_history(v, contexts[i]);
    }
    cpu->member_count = count;
    if (!same_history)
        return;
    vmafgpu__set_before(v, seen < 2 ? (int)seen : 2);
    vmafgpu_result result = vmafgpu__view_frame(v, reference, 0, "reference", 0, &cpu->pair[0]);
    for (int i = 0; i < count && result == VMAFGPU_OK; i++)
        result = vmafgpu__view_frame(contexts[i], &distorted[i], 0, "distorted", 1, &contexts[i]->cpu->pair[1]);
    if (result == VMAFGPU_OK)
        result = vmafgpu__run_frame(v, 1);
    for (int i = 0; i < count && result == VMAFGPU_OK; i++) {
        vmafgpu__cpu *member = contexts[i]->cpu;
        member->pair[0] = cpu->pair[0];
        for (int k = 0; k < cpu->worker_count; k++)
            memcpy(member->workers[k].sums.motion, cpu->workers[k].sums.motion, sizeof cpu->workers[k].sums.motion);
        result = vmafgpu__score_v1(contexts[i], reference, &distorted[i]);
        member->is_prepared = result == VMAFGPU_OK;
    }
    if (result != VMAFGPU_OK)
        memcpy(v->error, error, sizeof error);
}

/* Adds up what the threads have summed. */
static vmafgpu_result vmafgpu__cpu_collect(vmafgpu *v, vmafgpu__patience patience, vmafgpu__sums *sums) {
    (void)patience;
    memset(sums, 0, sizeof *sums);
    memcpy(sums->cambi, v->cpu->workers[0].sums.cambi, sizeof sums->cambi);
    memcpy(sums->speed, v->cpu->workers[0].sums.speed, sizeof sums->speed);
    for (int index = 0; index < v->cpu->worker_count; index++) {
        const vmafgpu__sums *part = &v->cpu->workers[index].sums;
        for (int i = 0; i < 2; i++)
            sums->motion[i] += part->motion[i];
        for (int s = 0; s < VMAFGPU__SCALES; s++) {
            sums->vif[s].denominator += part->vif[s].denominator;
            sums->vif[s].flat_noise += part->vif[s].flat_noise;
            sums->vif[s].flat_count += part->vif[s].flat_count;
            for (int i = 0; i < v->plan.vif_variants; i++)
                sums->vif[s].numerator[i] += part->vif[s].numerator[i];
            for (int b = 0; b < VMAFGPU__BANDS; b++) {
                sums->adm[s].denominator[b] += part->adm[s].denominator[b];
                for (int i = 0; i < v->plan.adm_variants; i++) {
                    sums->adm[s].numerator[i][b] += part->adm[s].numerator[i][b];
                    sums->adm[s].impairment[i][b] += part->adm[s].impairment[i][b];
                }
            }
        }
    }
    return VMAFGPU_OK;
}

static vmafgpu_result vmafgpu__cpu_single(vmafgpu *v, const vmafgpu__job *job, vmafgpu__sums *sums) {
    const vmafgpu_result result = vmafgpu__cpu_submit(v, job);
    return result == VMAFGPU_OK ? vmafgpu__cpu_collect(v, VMAFGPU__WAIT, sums) : result;
}

/* The history is counted by the engine. */
static void vmafgpu__cpu_reset(vmafgpu *v) {
    (void)v;
}

/* A line of w elements with a margin on both sides. */
static void *vmafgpu__carve_line(vmafgpu__carver *c, int w, size_t element) {
    unsigned char *line = (unsigned char *)vmafgpu__carve(c, (vmafgpu__padded(w) + 2 * VMAFGPU__MARGIN) * element);
    return line ? line + VMAFGPU__MARGIN * element : NULL;
}

/* Lines of the plain code. */
static void vmafgpu__carve_vif_lines(vmafgpu__carver *c, int w, vmafgpu__vif_lines *vif) {
    for (int i = 0; i < 2; i++)
        vif->mean[i] = (uint16_t *)vmafgpu__carve_line(c, w, sizeof(uint16_t));
    for (int i = 0; i < 3; i++) {
        vif->square[i] = (uint32_t *)vmafgpu__carve_line(c, w, sizeof(uint32_t));
        vif->variance[i] = (int32_t *)vmafgpu__carve_line(c, w, sizeof(int32_t));
    }
}

static void vmafgpu__carve_adm_row(vmafgpu__carver *c, int half_w, vmafgpu__adm_row *row) {
    for (int which = 0; which < 2; which++) {
        row->side[which] = (uint32_t *)vmafgpu__carve_line(c, half_w, sizeof(uint32_t));
        row->centre[which] = (uint32_t *)vmafgpu__carve_line(c, half_w, sizeof(uint32_t));
        for (int b = 0; b < VMAFGPU__BANDS; b++)
            row->signal[which][b] = (int32_t *)vmafgpu__carve_line(c, half_w, sizeof(int32_t));
    }
}

static void vmafgpu__carve_adm_lines(vmafgpu__carver *c, int w, vmafgpu__adm_lines *adm) {
    const int half_w = vmafgpu__adm_size(w, 0);
    for (int f = 0; f < 2; f++) {
        adm->low[f] = (int32_t *)vmafgpu__carve_line(c, w, sizeof(int32_t));
        adm->high[f] = (int32_t *)vmafgpu__carve_line(c, w, sizeof(int32_t));
    }
    for (int b = 0; b < VMAFGPU__BANDS; b++) {
        for (int f = 0; f < 2; f++)
            adm->band[f][b] = (int32_t *)vmafgpu__carve_line(c, half_w, sizeof(int32_t));
        adm->restored[b] = (int32_t *)vmafgpu__carve_line(c, half_w, sizeof(int32_t));
    }
    adm->same_angle = (uint8_t *)vmafgpu__carve_line(c, half_w, sizeof(uint8_t));
    adm->column_sum = (uint32_t *)vmafgpu__carve_line(c, half_w, sizeof(uint32_t));
}

static void vmafgpu__carve_worker(const vmafgpu *v, const vmafgpu__cpu_functions *functions, int threads,
                                  vmafgpu__carver *c, vmafgpu__worker *worker) {
    const int w = v->config.width;
    if (v->plan.vif_variants && functions->vif_band)
        worker->vif_scratch = vmafgpu__carve(c, vmafgpu__vif_scratch_size(w, v->config.together, threads));
    else if (v->plan.vif_variants)
        vmafgpu__carve_vif_lines(c, w, &worker->vif);
    worker->motion.whole = (int32_t *)vmafgpu__carve_line(c, w, sizeof(int32_t));
    for (int i = 0; i < 3 && functions->vif_band; i++)
        worker->motion.pair[i] = (int16_t *)vmafgpu__carve_line(c, w, 2 * sizeof(int16_t));
    for (int i = 0; i < 4 && functions->vif_band; i++)
        worker->motion.row[i / 2][i % 2] = (int16_t *)vmafgpu__carve_line(c, w, sizeof(int16_t));
}

static void vmafgpu__carve_room(const vmafgpu *v, const vmafgpu__cpu_functions *functions, vmafgpu__carver *c,
                                vmafgpu__adm_room *room) {
    const int w = v->config.width;
    if (functions->adm_band) {
        room->scratch = vmafgpu__carve(c, vmafgpu__adm_scratch_size(w, v->plan.adm_variants, v->config.together));
        return;
    }
    vmafgpu__carve_adm_lines(c, w, &room->lines);
    for (int i = 0; i < v->plan.adm_variants; i++)
        for (int row = 0; row < 3; row++)
            vmafgpu__carve_adm_row(c, vmafgpu__adm_size(w, 0), &room->rows[i][row]);
}

/* Cuts so many pairs of rows into pieces for so many threads, none but the last smaller than `least`, and returns how many
 * there are: each is a thread's share of what is left, so that all end together. They are even, as VIF does four rows at once. */
static int vmafgpu__cut(int pairs, int threads, int least, int *first) {
    int count = 0;
    for (int at = 0; at < pairs || count == 0; count++) {
        int size = threads == 1 ? VMAFGPU__BAND / 2 : (pairs - at) / threads / 2 * 2;
        size = size > VMAFGPU__BAND / 2 ? VMAFGPU__BAND / 2 : size < least ? least : size;
        if (pairs - at - size < least / 2)
            size = pairs - at;
        at += size;
        if (first)
            first[count + 1] = at;
    }
    return count;
}

/* The pieces of all chains, and how many threads can be of use. */
static void vmafgpu__layout_chains(const vmafgpu *v, vmafgpu__carver *c, vmafgpu__cpu *head) {
    const int h = v->config.height, shares = h / VMAFGPU__LEAST_BAND;
    const int threads = shares < 1 ? 1 : shares < v->config.threads ? shares : v->config.threads;
    const int half_share = shares ? h / 8 / threads * 2 : VMAFGPU__LEAST_VIF / 2;   /* in pairs, even */
    for (int kind = 0; kind < VMAFGPU__CHAINS; kind++) {
        vmafgpu__chain *chain = &head->chains[kind];
        const int is_vif = kind >= VMAFGPU__VIF_PIECES && kind < VMAFGPU__ADM_PIECES;
        const int scale = is_vif ? kind - VMAFGPU__VIF_PIECES : vmafgpu__is_adm(kind) ? kind - VMAFGPU__ADM_PIECES : 0;
        const int wanted = is_vif ? v->plan.vif_variants : vmafgpu__is_adm(kind) ? v->plan.adm_variants : 1;
        const int pairs = vmafgpu__is_adm(kind) ? vmafgpu__adm_size(h, scale) : ((h >> scale) + 1) / 2;
        /* Others wait for checks, so that these are small. */
        const int count = kind == VMAFGPU__CHECK ? VMAFGPU__MAX_SIZE : threads;
        const int usual = (is_vif ? VMAFGPU__LEAST_VIF : VMAFGPU__LEAST_BAND) / 2;
        const int least = half_share < usual ? half_share : usual;
        chain->count = wanted ? vmafgpu__cut(pairs, count, least, NULL) : 0;
        chain->first = (int *)vmafgpu__carve(c, (size_t)(chain->count + 1) * sizeof *chain->first);
        chain->done = (int *)vmafgpu__carve(c, (size_t)chain->count * sizeof *chain->done);
        if (c->base && wanted)
            (void)vmafgpu__cut(pairs, count, least, chain->first);
    }
    head->worker_count = threads;
    head->room_count = !v->plan.adm_variants ? 0 : threads < 12 ? threads : 12 + (threads - 12) / 16;
}

/* Whether the caller's frames have the form that the CPU works on. */
static int vmafgpu__is_in_place(const vmafgpu_config *c) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (c->bit_depth > 8)
        return c->layout != VMAFGPU_SEMIPLANAR_HIGH || c->bit_depth == 16;
#endif
    return c->bytes_per_sample == 1;
}

/* All memory of the backend, in one piece. `head` receives the pointers and is the piece's first part when it exists. */
static void vmafgpu__cpu_layout(const vmafgpu *v, vmafgpu__carver *c, vmafgpu__cpu *head) {
    const int w = v->config.width, h = v->config.height;
    (void)vmafgpu__carve(c, sizeof *head);
    vmafgpu__layout_chains(v, c, head);
    head->wide = v->config.bit_depth > 8;
    head->in_place = vmafgpu__is_in_place(&v->config);
    head->row_bytes = vmafgpu__padded(w) * (head->wide ? 2 : 1);
    head->ring = v->plan.motion[1] ? 2 : v->plan.motion[0];
    for (int i = 0; i < head->ring; i++)
        head->history[i] = (uint8_t *)vmafgpu__carve(c, head->row_bytes * (size_t)h);
    for (int i = 0; i < 2; i++) {
        head->edge[i] = (uint8_t *)vmafgpu__carve(c, head->row_bytes * VMAFGPU__MAX_EDGE);
        if (!head->in_place)
            head->landing[i] = (uint8_t *)vmafgpu__carve(c, head->row_bytes * (size_t)h);
    }
    if (v->plan.vif_variants) {
        if (!head->functions->vif_band)
            head->log_table = (uint16_t *)vmafgpu__carve(c, 32768 * sizeof(uint16_t));
        for (int s = 1; s < VMAFGPU__SCALES; s++)
            for (int f = 0; f < 2; f++)
                head->vif[s][f] = vmafgpu__carve_plane(c, w >> s, h >> s);
    }
    if (v->plan.adm_variants)
        for (int s = 0; s + 1 < VMAFGPU__SCALES; s++) {
            const size_t rows = (size_t)vmafgpu__adm_size(h, s), element = s ? sizeof(int32_t) : sizeof(int16_t);
            head->adm_stride[s] = (ptrdiff_t)vmafgpu__padded(vmafgpu__adm_size(w, s));
            for (int f = 0; f < 2; f++)
                head->adm[s][f] = vmafgpu__carve(c, (size_t)head->adm_stride[s] * rows * element);
        }
    head->workers = (vmafgpu__worker *)vmafgpu__carve(c, sizeof(vmafgpu__worker) * (size_t)head->worker_count);
    head->rooms = (vmafgpu__adm_room *)vmafgpu__carve(c, sizeof(vmafgpu__adm_room) * (size_t)head->room_count);
    for (int i = 0; i < head->worker_count; i++) {
        vmafgpu__worker unused, *worker = c->base ? &head->workers[i] : &unused;
        vmafgpu__carve_worker(v, head->functions, head->worker_count, c, worker);
    }
    for (int i = 0; i < head->room_count; i++) {
        vmafgpu__adm_room unused, *room = c->base ? &head->rooms[i] : &unused;
        vmafgpu__carve_room(v, head->functions, c, room);
    }
}

static vmafgpu_result vmafgpu__cpu_open(vmafgpu *v) {
    vmafgpu__carver carver = { NULL, 0 };
    vmafgpu__cpu head;
    memset(&head, 0, sizeof head);
    head.functions = vmafgpu__choose_level(v->config.cpumask);
    vmafgpu__cpu_layout(v, &carver, &head);

    unsigned char *base = (unsigned char *)vmafgpu__take(v, carver.used);
    if (!base)
        return vmafgpu__fail_memory(v, "the planes of a frame pair", carver.used);
    v->cpu = (vmafgpu__cpu *)(void *)base;
    carver.base = base;
    carver.used = 0;
    v->cpu->functions = head.functions;
    vmafgpu__cpu_layout(v, &carver, v->cpu);
    if (v->cpu->log_table)
        vmafgpu__log_table(v->cpu->log_table);
    vmafgpu_result result = vmafgpu__cambi_open(v, v->cpu->functions->cambi);
    if (result == VMAFGPU_OK)
        result = vmafgpu__speed_open(v, v->cpu->functions->speed);
    if (result != VMAFGPU_OK)
        return result;
#ifdef VMAFGPU_NO_THREADS
    return VMAFGPU_OK;
#else
    const int useful = v->cambi || v->speed ? v->config.threads : v->cpu->worker_count;
    return useful > 1 && !v->config.parallel_for ? vmafgpu__threads_open(v, useful) : VMAFGPU_OK;
#endif
}

static void vmafgpu__cpu_close(vmafgpu *v) {
#ifndef VMAFGPU_NO_THREADS
    vmafgpu__threads_close(v);
#endif
    vmafgpu__give(v, v->speed);
    vmafgpu__give(v, v->cambi);
    vmafgpu__give(v, v->cpu);
    v->speed = NULL;
    v->cambi = NULL;
    v->cpu = NULL;
}

static const vmafgpu__backend_table vmafgpu__cpu_backend = {
    "cpu", vmafgpu__cpu_open, vmafgpu__cpu_submit, vmafgpu__cpu_collect, vmafgpu__cpu_single, vmafgpu__cpu_reset,
    vmafgpu__cpu_close
};

#ifndef VMAFGPU_NO_GPU

/* ================================================================================================
 * >>kernels                                      what the launches of each kernel family look like
 * ================================================================================================ */
/* ---- motion and VIF on a GPU: motion is one launch, VIF one launch per variant and scale, in order ----
 *
 * The matrix form is in images for compute capability 8.0 and up; above 12 bits motion takes the plain form there too.
 * The plain form is everywhere. VIF's statistics are made with doubles (f64), the better way where these are at least
 * half as fast as floats (compute capability 8.0, 9.0, 10.0; CDNA), or almost without (int). All give the same sums. */
typedef enum vmafgpu__vif_form { VMAFGPU__VIF_PLAIN = 0, VMAFGPU__VIF_MATRIX, VMAFGPU__VIF_FORMS } vmafgpu__vif_form;
typedef enum vmafgpu__vif_statistic {
    VMAFGPU__VIF_F64 = 0,
    VMAFGPU__VIF_INT,
    VMAFGPU__VIF_STATISTICS
} vmafgpu__vif_statistic;

/* Inputs: scale 0 with 8, 9..12, 13..16 bits, scales 1, 2, 3. */
enum { VMAFGPU__VIF_INPUTS = 6 };
static const char *const vmafgpu__vif_kernels[VMAFGPU__VIF_FORMS][VMAFGPU__VIF_STATISTICS][VMAFGPU__VIF_INPUTS] = {
    { { "vmafgpu_vif_plain_0_8_f64", "vmafgpu_vif_plain_0_16_f64", "vmafgpu_vif_plain_0_16_f64",
        "vmafgpu_vif_plain_1_f64", "vmafgpu_vif_plain_2_f64", "vmafgpu_vif_plain_3_f64" },
      { "vmafgpu_vif_plain_0_8_int", "vmafgpu_vif_plain_0_16_int", "vmafgpu_vif_plain_0_16_int",
        "vmafgpu_vif_plain_1_int", "vmafgpu_vif_plain_2_int", "vmafgpu_vif_plain_3_int" } },
    { { "vmafgpu_vif_matrix_0_8_f64", "vmafgpu_vif_matrix_0_12_f64", "vmafgpu_vif_matrix_0_16_f64",
        "vmafgpu_vif_matrix_1_f64", "vmafgpu_vif_matrix_2_f64", "vmafgpu_vif_matrix_3_f64" },
      { "vmafgpu_vif_matrix_0_8_int", "vmafgpu_vif_matrix_0_12_int", "vmafgpu_vif_matrix_0_16_int",
        "vmafgpu_vif_matrix_1_int", "vmafgpu_vif_matrix_2_int", "vmafgpu_vif_matrix_3_int" } }
};

static int vmafgpu__vif_input(int scale, int bit_depth) {
    return scale ? scale + 2 : bit_depth == 8 ? 0 : bit_depth <= 12 ? 1 : 2;
}

static const char *vmafgpu__motion_kernel(vmafgpu__vif_form form, int bit_depth) {
    static const char *const names[VMAFGPU__VIF_FORMS][3] = {
        { "vmafgpu_motion_plain_8", "vmafgpu_motion_plain_16", "vmafgpu_motion_plain_16" },
        { "vmafgpu_motion_matrix_8", "vmafgpu_motion_matrix_12", "vmafgpu_motion_plain_16" }
    };
    return names[form][vmafgpu__vif_input(0, bit_depth)];
}

/* Threads of a block and its shared memory: above 48 KB the driver has to be asked for it. */
typedef struct vmafgpu__block { uint32_t threads, shared; } vmafgpu__block;

/* `limit`: the most that the driver gives a block on this device. */
static vmafgpu__block vmafgpu__vif_block(vmafgpu__vif_form form, int scale, int bit_depth, uint32_t limit) {
    const int input = vmafgpu__vif_input(scale, bit_depth), is_8 = input == 0;
    const uint32_t row = (is_8 ? 16 : 32) + VMAFGPU__VIF_INPUT_MARGIN;
    const uint32_t common = VMAFGPU__VIF_LOG_TABLE + VMAFGPU__VIF_FRAGMENTS * 4 + VMAFGPU__VIF_ROUNDING;
    const uint32_t of_warp = VMAFGPU__VIF_VARIANCES + VMAFGPU__VIF_DIGITS + 2 * VMAFGPU__VIF_INPUT_ROWS * row;
    uint32_t warps = is_8 ? VMAFGPU__VIF_WARPS_0_8 : input == 2 ? VMAFGPU__VIF_WARPS_0_16 : VMAFGPU__VIF_WARPS;
    vmafgpu__block block;
    while (warps > 1 && common + warps * of_warp > limit)
        warps--;
    block.threads = form == VMAFGPU__VIF_MATRIX ? warps * 32 : (uint32_t)VMAFGPU__VIF_PLAIN_THREADS;
    block.shared = form == VMAFGPU__VIF_MATRIX
                       ? common + warps * of_warp
                       : (4 * VMAFGPU__VIF_TILE_HEIGHT + VMAFGPU__VIF_TILE_HEIGHT / 2) * VMAFGPU__VIF_TILE_STRIDE * 4;
    return block;
}

/* Device memory of one pair: the images of scales 1 to 3. */
typedef struct vmafgpu__vif_scratch {
    uint64_t size;
    uint64_t image[VMAFGPU__SCALES][2];
    int32_t  pitch[VMAFGPU__SCALES];
} vmafgpu__vif_scratch;

static vmafgpu__vif_scratch vmafgpu__vif_scratch_of(int width, int height) {
    const uint64_t alignment = 256;
    vmafgpu__vif_scratch out;
    memset(&out, 0, sizeof out);
    for (int s = 1; s < VMAFGPU__SCALES; s++) {
        const uint64_t pitch = ((uint64_t)(width >> s) * 2 + alignment - 1) / alignment * alignment;
        out.pitch[s] = (int32_t)pitch;
        for (int f = 0; f < 2; f++) {
            out.image[s][f] = out.size;
            out.size += pitch * (uint64_t)(height >> s);
        }
    }
    return out;
}

/* ---- tap matrices, as the lanes of a warp hold them (PTX's m16n8k32, operand a): 4 words of each lane ----
 *
 * Word i of lane 4 * g + t holds columns k = 4 * t .. 4 * t + 3 (plus 16 for i >= 2) of row g (plus 8 for odd i). */
typedef int (*vmafgpu__matrix)(int scale, int row, int k);

static int vmafgpu__vif_tap_or_0(int scale, int i) {
    return i >= 0 && i <= 2 * vmafgpu__vif_reach(scale) ? vmafgpu__vif_taps[scale][i] : 0;
}

/* Row r makes output r of 16 from inputs 8 before to 7 after those 16; the next scale's 8 outputs are every second.
 * Low digits of the taps, high digits, next scale's: high digits in rows 0..7, low in 8..15. */
static int vmafgpu__vif_low(int scale, int row, int k) {
    return vmafgpu__vif_tap_or_0(scale, k - row - 8 + vmafgpu__vif_reach(scale)) & 255;
}
static int vmafgpu__vif_high(int scale, int row, int k) {
    return vmafgpu__vif_tap_or_0(scale, k - row - 8 + vmafgpu__vif_reach(scale)) >> 8;
}
static int vmafgpu__vif_next(int scale, int row, int k) {
    const int next = scale + 1;
    const int tap =
        next < VMAFGPU__SCALES ? vmafgpu__vif_tap_or_0(next, k - 2 * (row & 7) - 8 + vmafgpu__vif_reach(next)) : 0;
    return row < 8 ? tap >> 8 : tap & 255;
}

/* Motion has scale 2's taps, five of them. Down the columns: 8 outputs from 12 rows of the earlier frame (k < 16)
 * less those of the present one, in signed digits. */
static int vmafgpu__motion_low(int scale, int row, int k) {
    return vmafgpu__vif_tap_or_0(scale, k - row - 6) & 255;
}
static int vmafgpu__motion_high(int scale, int row, int k) {
    return vmafgpu__vif_tap_or_0(scale, k - row - 6) >> 8;
}
static int vmafgpu__motion_difference(int scale, int row, int k) {
    const int tap = vmafgpu__vif_tap_or_0(scale, (k & 15) - (row & 7)), high = (tap + 128) >> 8;
    const int digit = row < 8 ? high : tap - 256 * high;
    return k < 16 ? digit : -digit;
}

/* Which halves of k lie exchanged: those of no lane, of lanes with t >= 2, of the others, of all. */
typedef enum vmafgpu__halves {
    VMAFGPU__HALVES_KEPT = 0,
    VMAFGPU__HALVES_UPPER,
    VMAFGPU__HALVES_LOWER,
    VMAFGPU__HALVES_ALL
} vmafgpu__halves;

static uint32_t *vmafgpu__put_matrix(uint32_t *out, vmafgpu__matrix matrix, int scale, vmafgpu__halves halves) {
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
            const int g = lane / 4, t = lane % 4;
            const int is_exchanged = t >= 2 ? halves & VMAFGPU__HALVES_UPPER : halves & VMAFGPU__HALVES_LOWER;
            const int row = g + i % 2 * 8, k = 4 * t + (is_exchanged ? 1 - i / 2 : i / 2) * 16;
            uint32_t word = 0;
            for (int n = 0; n < 4; n++)
                word |= ((uint32_t)matrix(scale, row, k + n) & 255) << 8 * n;
            *out++ = word;
        }
    return out;
}

/* Of each scale: for the vertical pass, for odd and for even steps of the horizontal one. */
static void vmafgpu__vif_matrices(uint32_t *out) {
    static const vmafgpu__halves halves[3] = { VMAFGPU__HALVES_KEPT, VMAFGPU__HALVES_UPPER, VMAFGPU__HALVES_LOWER };
    for (int scale = 0; scale < VMAFGPU__SCALES; scale++)
        for (int pass = 0; pass < 3; pass++) {
            out = vmafgpu__put_matrix(out, vmafgpu__vif_low, scale, halves[pass]);
            out = vmafgpu__put_matrix(out, vmafgpu__vif_high, scale, halves[pass]);
            out = vmafgpu__put_matrix(out, vmafgpu__vif_next, scale, halves[pass]);
        }
}

/* Horizontal for odd and for even steps, then vertical. */
static void vmafgpu__motion_matrices(uint32_t *out) {
    out = vmafgpu__put_matrix(out, vmafgpu__motion_low, 2, VMAFGPU__HALVES_KEPT);
    out = vmafgpu__put_matrix(out, vmafgpu__motion_high, 2, VMAFGPU__HALVES_KEPT);
    out = vmafgpu__put_matrix(out, vmafgpu__motion_low, 2, VMAFGPU__HALVES_ALL);
    out = vmafgpu__put_matrix(out, vmafgpu__motion_high, 2, VMAFGPU__HALVES_ALL);
    (void)vmafgpu__put_matrix(out, vmafgpu__motion_difference, 2, VMAFGPU__HALVES_KEPT);
}

/* Tables that all launches share, made once: device memory of this size, alignment 256. */
enum {
    VMAFGPU__VIF_FRAGMENTS_AT = VMAFGPU__VIF_LOG_TABLE,
    VMAFGPU__MOTION_FRAGMENTS_AT = VMAFGPU__VIF_FRAGMENTS_AT + (int)VMAFGPU__SCALES * (int)VMAFGPU__VIF_FRAGMENTS * 4,
    VMAFGPU__VIF_TABLES_SIZE = 65536
};

/* The logarithms less what the kernels compute: a byte each. */
static void vmafgpu__vif_log_bytes(unsigned char *bytes) {
    uint16_t *table = (uint16_t *)(void *)bytes;   /* in place: what is written lies before what is still to be read */
    vmafgpu__log_table(table);
    for (int i = 0; i < VMAFGPU__VIF_LOG_TABLE; i++)
        bytes[i] = (unsigned char)(table[i] - 30720 - (i >> 4));
}

/* Fills a buffer of VMAFGPU__VIF_TABLES_SIZE bytes, aligned to 4. */
static void vmafgpu__vif_tables(unsigned char *buffer) {
    vmafgpu__vif_log_bytes(buffer);
    memset(buffer + VMAFGPU__VIF_LOG_TABLE, 0, (int)VMAFGPU__VIF_TABLES_SIZE - (int)VMAFGPU__VIF_LOG_TABLE);
    vmafgpu__vif_matrices((uint32_t *)(void *)(buffer + VMAFGPU__VIF_FRAGMENTS_AT));
    vmafgpu__motion_matrices((uint32_t *)(void *)(buffer + VMAFGPU__MOTION_FRAGMENTS_AT));
}

static vmafgpu__vif_gain vmafgpu__vif_gain_of(double limit) {
    vmafgpu__vif_gain gain;
    gain.limit = limit;
    gain.square = (uint64_t)(limit * limit * 1125899906842624.0);   /* 2^50; the square is at most 10^4 */
    gain.fixed = (uint32_t)(limit * 16777216.0);
    gain.low = (float)(limit * 0.999);
    return gain;
}

/* Strips for a device that runs `warps` at once: the shortest with which all get one, but not longer than 24 steps. */
static void vmafgpu__vif_strips(vmafgpu__vif_launch *out, int warps) {
    enum { LONGEST = 24 };
    const int columns = (out->width + 15) / 16, rows = (out->height + 15) / 16;
    int steps = 1;
    while (steps < LONGEST && (int64_t)((columns + steps - 1) / steps) * rows * out->batch.pairs > warps)
        steps++;
    out->strip_steps = steps;
    out->strips = (columns + steps - 1) / steps;
}

/* Fills the launch of one scale of variant `index` of the plan, the batch apart, and its shape. `scratch`: device
 * memory of the first pair; `block`: of vmafgpu__vif_block; `resident`: how many of them the device runs at once
 * (multiprocessors times occupancy); `tables`: those of vmafgpu__vif_tables; `illegal`: as in the launch;
 * `images_only`: no sums are wanted, only the next scale. */
static void vmafgpu__vif_fill(vmafgpu__vif_launch *out, vmafgpu__shape *shape, const vmafgpu__plan *plan, int index,
                              int scale, vmafgpu__vif_form form, vmafgpu__block block, int resident,
                              const vmafgpu__vif_scratch *layout, unsigned char *scratch, const unsigned char *tables,
                              uint32_t *illegal, int images_only) {
    const int next = scale + 1 < VMAFGPU__SCALES ? scale + 1 : scale;
    out->scratch = scratch;
    out->scratch_size = layout->size;
    for (int f = 0; f < 2; f++) {
        out->input[f] = layout->image[scale][f];
        out->output[f] = layout->image[next][f];
    }
    out->input_pitch = layout->pitch[scale];
    out->output_pitch = layout->pitch[next];
    out->width = out->batch.width >> scale;
    out->height = out->batch.height >> scale;
    out->log_table = tables;
    out->fragments = tables + VMAFGPU__VIF_FRAGMENTS_AT + scale * VMAFGPU__VIF_FRAGMENTS * 4;
    out->illegal = illegal;
    out->illegal_bits = (0xffffu << out->batch.bit_depth & 0xffffu) * 0x10001u;
    out->gain = vmafgpu__vif_gain_of(plan->vif_gain_limit[index]);
    out->mean_shift = vmafgpu__vif_mean_shift(scale, out->batch.bit_depth);
    out->square_shift = vmafgpu__vif_square_shift(scale, out->batch.bit_depth);
    out->mean_half = (int32_t)vmafgpu__half(out->mean_shift);
    out->square_half = (int32_t)vmafgpu__half(out->square_shift);
    out->square_factor = 65536 >> out->square_shift;
    out->scale = scale;
    out->variant = index;
    out->first = index == 0;
    out->images_only = images_only;
    out->strip_steps = out->strips = 0;
    shape->threads = block.threads;
    shape->shared = block.shared;
    shape->grid[0] = (uint32_t)((out->width + VMAFGPU__VIF_TILE_WIDTH - 1) / VMAFGPU__VIF_TILE_WIDTH);
    shape->grid[1] = (uint32_t)((out->height + VMAFGPU__VIF_TILE_HEIGHT - 1) / VMAFGPU__VIF_TILE_HEIGHT);
    shape->grid[2] = (uint32_t)out->batch.pairs;
    if (form == VMAFGPU__VIF_MATRIX) {
        vmafgpu__vif_strips(out, resident * (int)(block.threads / 32));
        const int64_t strips = (int64_t)out->strips * ((out->height + 15) / 16) * out->batch.pairs;
        shape->grid[0] = (uint32_t)(strips < resident ? strips : resident);
        shape->grid[1] = shape->grid[2] = 1;
    }
}

/* Fills the launch of motion, the batch apart, and its shape. */
static void vmafgpu__motion_fill(vmafgpu__motion_launch *out, vmafgpu__shape *shape, const vmafgpu__plan *plan,
                                 vmafgpu__vif_form form, const unsigned char *tables) {
    const int is_8 = out->batch.bit_depth == 8, is_matrix = form == VMAFGPU__VIF_MATRIX && out->batch.bit_depth <= 12;
    int width = VMAFGPU__MOTION_TILE_WIDTH, height = VMAFGPU__MOTION_TILE_HEIGHT;
    out->fragments = tables + VMAFGPU__MOTION_FRAGMENTS_AT;
    out->both = plan->motion[0] && plan->motion[1];
    out->only = !plan->motion[0];
    shape->threads = VMAFGPU__MOTION_THREADS;
    shape->shared = VMAFGPU__MOTION_TILE_HEIGHT * VMAFGPU__MOTION_STRIDE * 4 + VMAFGPU__MOTION_THREADS / 32 * 4;
    if (is_matrix) {
        const int warps = is_8 ? VMAFGPU__MOTION_MATRIX_WARPS_8 : VMAFGPU__MOTION_MATRIX_WARPS_12;
        width = VMAFGPU__MOTION_MATRIX_WIDTH;
        height = 8 * warps;
        shape->threads = (uint32_t)warps * 32;
        shape->shared = (uint32_t)(2 * (8 * warps + 8) * ((VMAFGPU__MOTION_MATRIX_WIDTH + 16) * (is_8 ? 1 : 2) +
                                                          VMAFGPU__MOTION_MATRIX_MARGIN) + 4 * warps);
    }
    shape->grid[0] = (uint32_t)((out->batch.width + width - 1) / width);
    shape->grid[1] = (uint32_t)((out->batch.height + height - 1) / height);
    shape->grid[2] = (uint32_t)(out->batch.pairs * (out->both ? 2 : 1));
}

/* ---- ADM on a GPU: per variant one launch per scale, in order, then one that rounds the row sums ---- */

typedef enum vmafgpu__adm_form { VMAFGPU__ADM_FAST = 0, VMAFGPU__ADM_GENERAL, VMAFGPU__ADM_FORMS } vmafgpu__adm_form;

/* The kernel of a form and an input: scale 0 with one or two bytes per sample, scales 1, 2, 3. */
enum { VMAFGPU__ADM_INPUTS = 5 };
static const char *const vmafgpu__adm_kernels[VMAFGPU__ADM_FORMS][VMAFGPU__ADM_INPUTS] = {
    {"vmafgpu_adm_fast_0_8", "vmafgpu_adm_fast_0_16", "vmafgpu_adm_fast_1", "vmafgpu_adm_fast_2", "vmafgpu_adm_fast_3"},
    {"vmafgpu_adm_general_0_8", "vmafgpu_adm_general_0_16", "vmafgpu_adm_general_1", "vmafgpu_adm_general_2",
     "vmafgpu_adm_general_3"}};
static const char *const vmafgpu__adm_rows_kernel = "vmafgpu_adm_rows";

static int vmafgpu__adm_input(int scale, int bit_depth) {
    return scale ? scale + 1 : bit_depth > 8;
}

/* The largest absolute values that a scale weighs: bounds of its bands h, v and d, from the absolute sums of the
 * filters, mirrored borders included. */
static const double vmafgpu__adm_band_bound[VMAFGPU__SCALES] = { 22931, 1511e6, 777e6, 773e6 };

/* Whether the fast form's integers hold what these factors make of the largest bands. */
static int vmafgpu__adm_factors_fit(const uint32_t *factor, int scale) {
    const double bound = vmafgpu__adm_band_bound[scale], f = (double)factor[0], d = (double)factor[1];
    if (scale) {
        /* A weighted value stays below 2^30, and so does a threshold, which is at most the mean of weighted values:
         * nothing wraps, the scaled square is positive, and twelve cubes fit 64 bits. */
        const double limit = 288230376151711744.0;   /* 2^58: the product before its shift by 28 */
        return f * bound < limit && d * bound < limit;
    }
    /* The products are the signals: (2^30)^2 >> 29 and (2^30.5)^2 >> 30 still fit 31 bits. */
    if (f == 0 || d == 0 || f * bound >= 1073741824.0 || d * bound >= 1518500249.0)
        return 0;
    /* The threshold, shifted left by 12 for d, must not wrap: it has to stay below 2^19. A side is 16/15 of a
     * weighted value, and nine of them are summed per band; the centre adds at most 16384 in each band. |h| + |v| +
     * |d| * share is at most 41764 for a share of 0, 44562 for one half, and convex in between. */
    const double share = d / (4 * f);
    const double weighted = f / 32768 * (41768 + 5596 * share);
    return share <= 0.5 && 9 * (weighted * 16 / 15 + 3) + 3 * 16384 < 524288;
}

/* The fast form needs a gain limit that is an integer, and factors of ordinary size: those of adm_csf_mode 0, 2 and
 * 3 are. Anything else takes the general form. Both give the same sums where both apply. */
static vmafgpu__adm_form vmafgpu__adm_form_of(const vmafgpu__adm_variant *variant, int scale) {
    const int whole = variant->gain_limit == (double)(int)variant->gain_limit;
    return whole && vmafgpu__adm_factors_fit(variant->factor[scale], scale) ? VMAFGPU__ADM_FAST : VMAFGPU__ADM_GENERAL;
}

/* Device memory of one pair. The row sums lie at its start. They have to be zero before the first launch of all; the
 * row kernel leaves them zero. */
typedef struct vmafgpu__adm_scratch {
    uint64_t size, row_sums_size;
    uint64_t row_sums[VMAFGPU__SCALES];
    uint64_t low[VMAFGPU__SCALES][2];                /* low-pass bands; none of scale 3 */
    int32_t  low_pitch[VMAFGPU__SCALES];
} vmafgpu__adm_scratch;

static vmafgpu__adm_scratch vmafgpu__adm_scratch_of(int width, int height) {
    const uint64_t alignment = 256;
    vmafgpu__adm_scratch out;
    uint64_t at = 0;
    memset(&out, 0, sizeof out);
    for (int s = 0; s < VMAFGPU__SCALES; s++) {
        const uint64_t rows = (uint64_t)vmafgpu__adm_size(height, s);
        out.row_sums[s] = at;
        at += rows * VMAFGPU__ADM_ROW_SUMS * sizeof(int64_t);
    }
    at = out.row_sums_size = (at + alignment - 1) / alignment * alignment;
    for (int s = 0; s + 1 < VMAFGPU__SCALES; s++) {
        const uint64_t columns = (uint64_t)vmafgpu__adm_size(width, s), rows = (uint64_t)vmafgpu__adm_size(height, s);
        const uint64_t pitch = (columns * (s ? sizeof(int32_t) : sizeof(int16_t)) + 127) / 128 * 128;
        out.low_pitch[s] = (int32_t)pitch;
        for (int f = 0; f < 2; f++) {
            out.low[s][f] = at;
            at = (at + pitch * rows + alignment - 1) / alignment * alignment;
        }
    }
    out.size = at;
    return out;
}

static int vmafgpu__adm_tile_width(int input, int lanes) {
    static const int width[VMAFGPU__ADM_INPUTS] = {VMAFGPU__ADM_WIDTH_0_8, VMAFGPU__ADM_WIDTH_0_16,
                                                   VMAFGPU__ADM_WIDTH_1, VMAFGPU__ADM_WIDTH_2, VMAFGPU__ADM_WIDTH_3};
    return input == 0 && lanes == 64 ? VMAFGPU__ADM_WIDTH_0_8_WAVE64 : width[input];
}

static int vmafgpu__divide_up(int a, int b) {
    return (a + b - 1) / b;
}

/* Tiles start where the region of the sums does (at an even column, for the loader), so that as few as possible are
 * mixed. */
static vmafgpu__adm_tiles vmafgpu__adm_tiles_of(const vmafgpu__adm_geometry *g, int scale, int first, int tile_width,
                                                int tile_height) {
    vmafgpu__adm_tiles t;
    const int left = g->left & ~1, before_x = vmafgpu__divide_up(left, tile_width),
              before_y = vmafgpu__divide_up(g->top, tile_height);
    t.inner_columns = vmafgpu__divide_up(g->w - g->left - left, tile_width);
    t.inner_rows = vmafgpu__divide_up(g->h - 2 * g->top, tile_height);
    t.inner_x = before_x;
    t.inner_y = before_y;
    t.x = left - before_x * tile_width;
    t.y = g->top - before_y * tile_height;
    t.columns = vmafgpu__divide_up(g->w - t.x, tile_width);
    t.rows = vmafgpu__divide_up(g->h - t.y, tile_height);
    t.count = t.inner_columns * t.inner_rows;
    if (first && scale + 1 < VMAFGPU__SCALES)
        t.count = t.columns * t.rows;
    return t;
}

static uint32_t vmafgpu__low_bits(int count) {
    return ((uint32_t)1 << count) - 1;
}

static vmafgpu__adm_fast vmafgpu__adm_fast_of(const vmafgpu__adm_variant *variant, const vmafgpu__adm_geometry *g,
                                              int scale) {
    vmafgpu__adm_fast f;
    memset(&f, 0, sizeof f);
    f.whole_gain = (uint32_t)variant->gain_limit;
    f.gain = (float)f.whole_gain;
    f.upper = 8388608.0f + 32768.0f;
    f.gain_reach = 0xffffffffu / f.whole_gain;
    f.den_mask = vmafgpu__low_bits(g->den_shift);
    f.den_half = (uint32_t)vmafgpu__half(g->den_shift);
    f.addends.vertical = vmafgpu__half(16);
    f.addends.horizontal = vmafgpu__half(vmafgpu__dwt_horizontal_shift(scale));
    f.addends.square[0] = (uint64_t)vmafgpu__half(scale ? 30 : 29);
    f.addends.square[1] = (uint64_t)vmafgpu__half(30);
    f.addends.den_square = (uint64_t)1 << (scale == 2 ? 30 : 31);   /* a whole unit */
    f.addends.weight = (uint64_t)vmafgpu__half(28);
    f.addends.side = (uint64_t)vmafgpu__half(32);
    double limit = 16383;   /* up to here a restored coefficient is the smaller of the two magnitudes */
    for (int d = 0; d < 2; d++) {
        const uint32_t factor = variant->factor[scale][d];
        const double unit = d ? 131072 : 32768;
        f.mask[d] = vmafgpu__low_bits(g->mask_shift[d ? 2 : 0]) * 0x10001u;
        f.half[d] = (uint32_t)vmafgpu__half(g->mask_shift[d ? 2 : 0]);
        if (scale)
            continue;
        f.factor[d] = (float)((double)factor / unit);
        f.factor_bias[d] = 0u - factor * 0x4b000000u;
        /* A weighted value of 15360 wraps at the centre. One that lies half way between integers is rounded up by
         * the definition, to even by floats; the smallest coefficient with such a product is half the unit over the
         * factor's power of two. */
        const double wraps = 15359 * unit / (double)factor, ties = unit / 2 / (double)(factor & (0u - factor)) - 1;
        limit = limit < wraps ? limit : wraps;
        limit = limit < ties ? limit : ties;
    }
    f.plain_limit = (float)(limit * limit * 0.99);   /* a sum of squares in float is right within far less than that */
    return f;
}

/* Fills the launch of one scale of variant `index` of the plan, the batch apart, and its shape. `scratch` is the
 * device memory of the first pair, `lanes` the device's. Variants after the first use the low-pass bands that the
 * first has left. */
static void vmafgpu__adm_fill(vmafgpu__adm_launch *out, vmafgpu__shape *shape, const vmafgpu__plan *plan, int index,
                              int scale, const vmafgpu__adm_scratch *layout, unsigned char *scratch, int lanes) {
    const vmafgpu__adm_variant *variant = &plan->adm[index];
    const int width = out->batch.width, height = out->batch.height,
              input = vmafgpu__adm_input(scale, out->batch.bit_depth);
    const int tile_width = vmafgpu__adm_tile_width(input, lanes), warps = VMAFGPU__ADM_THREADS / lanes;
    const int word_columns = scale >= 2 ? 1 : input == 0 ? 4 : 2;
    const int words = ((2 * tile_width + 8) / word_columns) | 1;
    out->geometry = vmafgpu__adm_geometry_of(width, height, scale);
    out->tiles = vmafgpu__adm_tiles_of(&out->geometry, scale, index == 0, tile_width, lanes - 2);
    out->fast = vmafgpu__adm_fast_of(variant, &out->geometry, scale);
    out->gain_limit = variant->gain_limit;
    out->first = index == 0;
    out->scratch = scratch;
    out->scratch_size = layout->size;
    out->row_sums = layout->row_sums[scale];
    out->input_width = scale ? vmafgpu__adm_size(width, scale - 1) : width;
    out->input_height = scale ? vmafgpu__adm_size(height, scale - 1) : height;
    out->input_pitch = scale ? layout->low_pitch[scale - 1] : 0;
    out->output_pitch = layout->low_pitch[scale];
    for (int k = 0; k < 2; k++) {
        out->factor[k] = variant->factor[scale][k];
        out->input[k] = scale ? layout->low[scale - 1][k] : 0;
        out->output[k] = layout->low[scale][k];
    }
    shape->grid[0] = (uint32_t)vmafgpu__divide_up(out->tiles.count, warps);
    shape->grid[1] = 1;
    shape->grid[2] = (uint32_t)out->batch.pairs;
    shape->threads = VMAFGPU__ADM_THREADS;
    shape->shared = (uint32_t)(warps * 2 * (2 * lanes + 2) * words * 4);
}

/* The same for the row sums of all scales: the last launch of a variant. */
static void vmafgpu__adm_rows_fill(vmafgpu__adm_rows_launch *out, vmafgpu__shape *shape, int index,
                                   const vmafgpu__adm_scratch *layout, unsigned char *scratch) {
    out->scratch = scratch;
    out->scratch_size = layout->size;
    out->variant = index;
    out->first = index == 0;
    for (int s = 0; s < VMAFGPU__SCALES; s++) {
        const vmafgpu__adm_geometry g = vmafgpu__adm_geometry_of(out->batch.width, out->batch.height, s);
        out->row_sums[s] = layout->row_sums[s];
        out->rows[s] = g.h;
        out->row_shift[s] = g.mask_row_shift;
        out->den_row_shift[s] = g.den_row_shift;
    }
    shape->grid[0] = VMAFGPU__ADM_ROW_SUMS;
    shape->grid[1] = VMAFGPU__SCALES;
    shape->grid[2] = (uint32_t)out->batch.pairs;
    shape->threads = VMAFGPU__ADM_ROW_THREADS;
    shape->shared = 0;
}

/* ---- CAMBI on a GPU: per picture of a variant seven launches, in order ---- */

typedef enum vmafgpu__cambi_kernel {
    VMAFGPU__CAMBI_PREPARE_8 = 0,
    VMAFGPU__CAMBI_PREPARE_16,
    VMAFGPU__CAMBI_SHRINK,
    VMAFGPU__CAMBI_COUNT_4,          /* four contrasts, windows up to VMAFGPU__CAMBI_NARROW */
    VMAFGPU__CAMBI_COUNT_4_WIDE,
    VMAFGPU__CAMBI_COUNT,            /* any contrasts */
    VMAFGPU__CAMBI_SELECT,
    VMAFGPU__CAMBI_ORDER,
    VMAFGPU__CAMBI_KERNELS
} vmafgpu__cambi_kernel;

static const char *const vmafgpu__cambi_kernel_names[VMAFGPU__CAMBI_KERNELS] = {
    "vmafgpu_cambi_prepare_8", "vmafgpu_cambi_prepare_16", "vmafgpu_cambi_shrink", "vmafgpu_cambi_count_4",
    "vmafgpu_cambi_count_4_wide", "vmafgpu_cambi_count", "vmafgpu_cambi_select", "vmafgpu_cambi_order"
};

static vmafgpu__cambi_kernel vmafgpu__cambi_count_kernel(const vmafgpu__cambi_variant *variant,
                                                         const vmafgpu__cambi_picture *p) {
    return variant->contrasts != 4 ? VMAFGPU__CAMBI_COUNT
           : p->window <= VMAFGPU__CAMBI_NARROW ? VMAFGPU__CAMBI_COUNT_4 : VMAFGPU__CAMBI_COUNT_4_WIDE;
}

/* Device memory of one pair. */
typedef struct vmafgpu__cambi_scratch {
    uint64_t size;
    uint64_t samples[VMAFGPU__CAMBI_SCALES], values[VMAFGPU__CAMBI_SCALES];
    int32_t  pitch[VMAFGPU__CAMBI_SCALES];
    uint64_t found, histograms;
    uint32_t cleared;
} vmafgpu__cambi_scratch;

static vmafgpu__cambi_scratch vmafgpu__cambi_scratch_of(const vmafgpu__cambi_variant *variant,
                                                        const vmafgpu__cambi_picture *p) {
    const uint64_t alignment = 256;
    vmafgpu__cambi_scratch out;
    memset(&out, 0, sizeof out);
    for (int s = 0; s < VMAFGPU__CAMBI_SCALES; s++) {
        const uint64_t width = (uint64_t)vmafgpu__cambi_size(variant, p->width, s);
        const uint64_t height = (uint64_t)vmafgpu__cambi_size(variant, p->height, s);
        const uint64_t pitch = (width * sizeof(uint16_t) + 127) / 128 * 128;
        out.pitch[s] = (int32_t)pitch;
        out.samples[s] = out.size;
        out.size += (pitch * height + alignment - 1) / alignment * alignment;
        out.values[s] = out.size;
        out.size += (width * height * sizeof(float) + alignment - 1) / alignment * alignment;
    }
    out.found = out.size;
    out.histograms = out.found + 64;   /* past the counts, so that no launch writes a line that it reads */
    out.cleared = (uint32_t)(out.histograms - out.found + (size_t)VMAFGPU__CAMBI_SCALES *
                             VMAFGPU__CAMBI_SELECT_PASSES * VMAFGPU__CAMBI_SELECT_BINS * sizeof(uint32_t));
    out.size = (out.found + out.cleared + alignment - 1) / alignment * alignment;
    return out;
}

/* The reach of the window as the histograms have it, which are those of pairs of columns. */
static int vmafgpu__cambi_margin(const vmafgpu__cambi_picture *p) {
    return ((p->window >> 1) + 1) & ~1;
}

/* What depends on the options alone; 0 centres: no c-value can be above 0. A histogram has as many codes as are looked at
 * and what lies around them, in whole words from any byte on; the number of words is odd, so that neighbours' lie in
 * different banks of shared memory. */
static void vmafgpu__cambi_ranges(vmafgpu__cambi_launch *out, const vmafgpu__cambi_variant *variant,
                                  const vmafgpu__cambi_picture *p) {
    const int columns = VMAFGPU__CAMBI_COUNT_WIDTH + 2 * vmafgpu__cambi_margin(p), span = (2 * variant->contrasts + 7) / 4;
    const int room = (VMAFGPU__CAMBI_COUNT_SHARED - VMAFGPU__CAMBI_COUNT_HEAD) / columns / 4;   /* words */
    int low = 0, end = variant->bins;
    while (low < end && !vmafgpu__cambi_is_counted(variant, low))
        low++;
    while (end > low && !vmafgpu__cambi_is_counted(variant, end - 1))
        end--;
    out->low = low;
    out->centres = end - low;
    out->cell = variant->contrasts == 4 ? (int)VMAFGPU__CAMBI_CELL_OF_FOUR : ((room - 1) | 1) * 4;
    out->range = 4 * (out->cell / 4 - span + 1);
}

/* Fills the launch for a picture of variant `index` of the plan; batch, tables and `pass` are the caller's. Returns 0
 * where no c-value can be above 0, and no sum either. `scratch`: device memory of the first pair. */
static int vmafgpu__cambi_fill(vmafgpu__cambi_launch *out, const vmafgpu__plan *plan, int index, int image,
                               unsigned char *scratch, uint64_t scratch_size) {
    const vmafgpu__cambi_variant *variant = &plan->cambi[index];
    const vmafgpu__cambi_picture *p = &variant->picture[image];
    const vmafgpu__cambi_scratch layout = vmafgpu__cambi_scratch_of(variant, p);
    const int depth = out->batch.bit_depth;
    int blocks = 0, parts = 0;
    vmafgpu__cambi_ranges(out, variant, p);
    out->scratch = scratch;
    out->scratch_size = scratch_size;
    out->found = layout.found;
    out->histograms = layout.histograms;
    out->cleared = layout.cleared;
    out->prepare_columns = ((uint32_t)p->width + VMAFGPU__CAMBI_TILE_WIDTH - 1) / VMAFGPU__CAMBI_TILE_WIDTH;
    out->prepare_blocks = out->prepare_columns * (((uint32_t)p->height + VMAFGPU__CAMBI_TILE_HEIGHT - 1) /
                                                  VMAFGPU__CAMBI_TILE_HEIGHT);
    out->variant = index;
    out->image = image;
    out->width = p->width;
    out->height = p->height;
    out->up = depth < 10 ? 10 - depth : 0;
    out->down = depth > 10 ? depth - 10 : 0;
    out->half = (int32_t)vmafgpu__half(out->down);
    out->softened = variant->softened;
    out->halved = variant->halved;
    out->mask_threshold = p->mask_threshold;
    out->base = variant->base;
    out->contrasts = variant->contrasts;
    out->reach = p->window >> 1;
    out->pass = 0;
    for (int s = 0; s < VMAFGPU__CAMBI_SCALES; s++) {
        vmafgpu__cambi_plane *plane = &out->scale[s];
        plane->samples = layout.samples[s];
        plane->values = layout.values[s];
        plane->pitch = layout.pitch[s];
        plane->top = vmafgpu__cambi_top_count(variant, p, s);
        plane->width = vmafgpu__cambi_size(variant, p->width, s);
        plane->height = vmafgpu__cambi_size(variant, p->height, s);
        plane->rows = s < 2 ? VMAFGPU__CAMBI_COUNT_ROWS : VMAFGPU__CAMBI_COUNT_ROWS / 2;
        plane->strips = (plane->width + VMAFGPU__CAMBI_COUNT_WIDTH - 1) / VMAFGPU__CAMBI_COUNT_WIDTH;
        plane->first_block = blocks;
        plane->first_part = parts;
        blocks += plane->strips * ((plane->height + plane->rows - 1) / plane->rows);
        parts += (plane->height + VMAFGPU__CAMBI_SELECT_ROWS - 1) / VMAFGPU__CAMBI_SELECT_ROWS;
    }
    return out->centres > 0 && out->reach > 0;
}

/* The shape of a launch that has been filled. */
static vmafgpu__shape vmafgpu__cambi_shape(const vmafgpu__cambi_launch *launch, vmafgpu__cambi_kernel kernel) {
    const vmafgpu__cambi_plane *first = &launch->scale[1], *last = &launch->scale[VMAFGPU__CAMBI_SCALES - 1];
    const uint32_t tile_rows = VMAFGPU__CAMBI_TILE_HEIGHT + 2 * VMAFGPU__CAMBI_TILE_REACH;
    vmafgpu__shape shape;
    shape.grid[0] = shape.grid[1] = 1;
    shape.grid[2] = (uint32_t)launch->batch.pairs;
    switch (kernel) {
    case VMAFGPU__CAMBI_PREPARE_8:
    case VMAFGPU__CAMBI_PREPARE_16:
        shape.grid[0] = launch->prepare_columns;
        shape.grid[1] = launch->prepare_blocks / launch->prepare_columns;
        shape.threads = VMAFGPU__CAMBI_PREPARE_THREADS;
        shape.shared = (tile_rows + 2) * (VMAFGPU__CAMBI_TILE_WIDTH + 2 * VMAFGPU__CAMBI_TILE_MARGIN) * 2 + 16 +
                       tile_rows * (VMAFGPU__CAMBI_TILE_WIDTH / 8 + 8) +
                       tile_rows * (VMAFGPU__CAMBI_TILE_WIDTH / 32) * 12 +
                       VMAFGPU__CAMBI_TILE_HEIGHT * (VMAFGPU__CAMBI_TILE_WIDTH / 32) * 4;
        break;
    case VMAFGPU__CAMBI_SHRINK:
        shape.grid[0] = ((uint32_t)first->width + VMAFGPU__CAMBI_SHRINK_TILE - 1) / VMAFGPU__CAMBI_SHRINK_TILE;
        shape.grid[1] = ((uint32_t)first->height + VMAFGPU__CAMBI_SHRINK_TILE - 1) / VMAFGPU__CAMBI_SHRINK_TILE;
        shape.threads = VMAFGPU__CAMBI_SHRINK_THREADS;
        shape.shared = 2 * VMAFGPU__CAMBI_SHRINK_SIDE * VMAFGPU__CAMBI_SHRINK_SIDE * 2;
        break;
    case VMAFGPU__CAMBI_SELECT:
        shape.grid[0] = (uint32_t)(last->first_part + (last->height + VMAFGPU__CAMBI_SELECT_ROWS - 1) /
                                                      VMAFGPU__CAMBI_SELECT_ROWS);
        shape.threads = VMAFGPU__CAMBI_SELECT_THREADS;
        shape.shared = VMAFGPU__CAMBI_SELECT_BINS * 4;
        break;
    case VMAFGPU__CAMBI_ORDER:
        shape.grid[1] = VMAFGPU__CAMBI_SCALES;
        shape.threads = VMAFGPU__CAMBI_ORDER_THREADS;
        shape.shared = VMAFGPU__CAMBI_ORDER_HEAD + VMAFGPU__CAMBI_ORDER_THREADS * VMAFGPU__CAMBI_ORDER_RUN * 4;
        break;
    default:
        shape.grid[0] = (uint32_t)(last->first_block + last->strips * ((last->height + last->rows - 1) / last->rows));
        shape.threads = VMAFGPU__CAMBI_COUNT_THREADS;
        shape.shared = VMAFGPU__CAMBI_COUNT_HEAD +
                       (uint32_t)((VMAFGPU__CAMBI_COUNT_WIDTH + 2 * ((launch->reach + 1) & ~1)) * launch->cell);
        break;
    }
    return shape;
}

/* ---- SpEED on a GPU: per variant six launches in order, before them one that looks for illegal samples ---- */

typedef enum vmafgpu__speed_kernel {
    VMAFGPU__SPEED_CHECK = 0,
    VMAFGPU__SPEED_LOW,
    VMAFGPU__SPEED_CHECK_SCALED,               /* instead, after a prescale */
    VMAFGPU__SPEED_LOW_SCALED,
    VMAFGPU__SPEED_FLAT,
    VMAFGPU__SPEED_COVARIANCE,
    VMAFGPU__SPEED_MATRIX,
    VMAFGPU__SPEED_ENTROPY,
    VMAFGPU__SPEED_SCORE,
    VMAFGPU__SPEED_KERNELS
} vmafgpu__speed_kernel;

/* `step`: bytes from one sample to the next. */
static const char *vmafgpu__speed_kernel_name(int kernel, int step) {
    static const char *const names[VMAFGPU__SPEED_KERNELS] = {
        "vmafgpu_speed_check", "vmafgpu_speed_low_1",      "vmafgpu_speed_check_scaled", "vmafgpu_speed_low_scaled",
        "vmafgpu_speed_flat",  "vmafgpu_speed_covariance", "vmafgpu_speed_matrix",       "vmafgpu_speed_entropy",
        "vmafgpu_speed_score"
    };
    return kernel != VMAFGPU__SPEED_LOW || step == 1 ? names[kernel]
           : step == 2                               ? "vmafgpu_speed_low_2"
                                                     : "vmafgpu_speed_low_4";
}

static int vmafgpu__speed_step(const vmafgpu_config *c) {
    return c->bytes_per_sample * (c->layout == VMAFGPU_PLANAR ? 1 : 2);
}

/* Makes room for a thing of so many floats per plane. Parts are 64 bytes or multiples of it. */
static vmafgpu__speed_part vmafgpu__speed_part_of(uint32_t *used, int floats) {
    vmafgpu__speed_part part;
    part.first = *used;
    part.next = ((uint32_t)floats + 15) / 16 * 16;
    *used += (uint32_t)VMAFGPU__SPEED_PLANES * part.next;
    return part;
}

/* Device memory of one pair. */
static vmafgpu__speed_scratch vmafgpu__speed_scratch_of(const vmafgpu__speed_variant *x) {
    enum { SIDE = VMAFGPU__SPEED_SIDE };
    vmafgpu__speed_scratch out;
    uint32_t used = 0;
    memset(&out, 0, sizeof out);
    out.low = vmafgpu__speed_part_of(&used, x->columns * x->rows);
    out.flat = vmafgpu__speed_part_of(&used, x->columns * x->rows);
    out.means = vmafgpu__speed_part_of(&used, SIDE);
    out.sums = vmafgpu__speed_part_of(&used, 2 * VMAFGPU__SPEED_DISTANCES * SIDE);
    out.eigenvalues = vmafgpu__speed_part_of(&used, SIDE + 1);
    out.q = vmafgpu__speed_part_of(&used, SIDE * SIDE + 1);
    out.r = vmafgpu__speed_part_of(&used, SIDE * SIDE);
    out.variance = vmafgpu__speed_part_of(&used, x->blocks_across * x->blocks_down);
    out.entropy = vmafgpu__speed_part_of(&used, x->blocks_across * x->blocks_down);
    out.size = ((uint64_t)used * sizeof(float) + 255) / 256 * 256;
    return out;
}

/* Entries of the prescale's table for each sample. */
static int vmafgpu__speed_sources(const vmafgpu__speed_variant *x) {
    vmafgpu__speed_source source;
    vmafgpu__speed_source_of(x->method, x->width, x->scaled_width, 0, &source);
    return source.count;
}

/* Entries of the table of a side with so many samples after the prescale. There are two for each at least, since those
 * of the bilinear prescale may be read before it is known to be another one. */
static size_t vmafgpu__speed_table_size(const vmafgpu__speed_variant *x, int count) {
    const int sources = vmafgpu__speed_sources(x);
    return x->resampled ? (size_t)count * (size_t)(sources < 2 ? 2 : sources) : 0;
}

/* What makes these samples, as the kernels read it. */
static void vmafgpu__speed_table(const vmafgpu__speed_variant *x, int size, int count, uint64_t *out) {
    memset(out, 0, sizeof *out * vmafgpu__speed_table_size(x, count));
    for (int i = 0; x->resampled && i < count; i++) {
        vmafgpu__speed_source source;
        vmafgpu__speed_source_of(x->method, size, count, i, &source);
        for (int k = 0; k < source.count; k++)
            *out++ = (uint64_t)vmafgpu__float_bits(source.weight[k]) << 32 | (uint32_t)source.at[k];
    }
}

static void vmafgpu__speed_shape(vmafgpu__shape *shape, int x, int y, int pairs, int threads, size_t shared) {
    shape->grid[0] = (uint32_t)x;
    shape->grid[1] = (uint32_t)y;
    shape->grid[2] = (uint32_t)pairs;
    shape->threads = (uint32_t)threads;
    shape->shared = (uint32_t)shared;
}

/* Columns of a block of low, as evenly as may be: where a thread makes a sample for the taps along the row, fewer. */
static int vmafgpu__speed_block_columns(const vmafgpu__speed_variant *x) {
    const int is_usual = !x->resampled && x->reach == VMAFGPU__SPEED_WIDE_REACH;
    const int most = is_usual ? (int)VMAFGPU__SPEED_LOW_COLUMNS : VMAFGPU__SPEED_LOW_THREADS / (2 * x->reach + 1);
    return vmafgpu__divide_up(x->columns, vmafgpu__divide_up(x->columns, most));
}

/* Of a row that flat makes: the columns that blocks have. */
static size_t vmafgpu__speed_row_bytes(const vmafgpu__speed_variant *x) {
    return sizeof(float) * VMAFGPU__SPEED_BLOCK * (size_t)x->blocks_across;
}

static int vmafgpu__speed_band_rows(const vmafgpu__speed_variant *x) {
    const int rows = (int)(VMAFGPU__SPEED_FLAT_BAND / vmafgpu__speed_row_bytes(x));
    return rows > 8 ? 8 : rows > 0 ? rows : 1;
}

static int vmafgpu__speed_chunk_columns(const vmafgpu__speed_variant *x) {
    const int used = VMAFGPU__SPEED_BLOCK * x->blocks_across;
    return used < VMAFGPU__SPEED_CHUNK ? used : VMAFGPU__SPEED_CHUNK;
}

/* The shape of a launch for so many pairs. */
static vmafgpu__shape vmafgpu__speed_shape_of(const vmafgpu__speed_variant *x, int kernel, int pairs) {
    const size_t log_table = sizeof vmafgpu__log2_table, low_taps = 2 * (size_t)x->reach + 1;
    const int planes = VMAFGPU__SPEED_PLANES, blocks = x->blocks_across * x->blocks_down;
    vmafgpu__shape out;
    memset(&out, 0, sizeof out);
    switch (kernel) {
    case VMAFGPU__SPEED_CHECK:
    case VMAFGPU__SPEED_CHECK_SCALED:
        vmafgpu__speed_shape(&out, x->rows, planes, pairs, VMAFGPU__SPEED_CHECK_THREADS, 0);
        break;
    case VMAFGPU__SPEED_LOW:
    case VMAFGPU__SPEED_LOW_SCALED:
        vmafgpu__speed_shape(&out, vmafgpu__divide_up(x->columns, vmafgpu__speed_block_columns(x)) * x->rows, planes,
                             pairs, VMAFGPU__SPEED_LOW_THREADS,
                             (size_t)vmafgpu__speed_block_columns(x) * low_taps * sizeof(float));
        break;
    case VMAFGPU__SPEED_FLAT:
        vmafgpu__speed_shape(&out, 1, planes, pairs, VMAFGPU__SPEED_FLAT_THREADS,
                             2 * (size_t)vmafgpu__speed_band_rows(x) * vmafgpu__speed_row_bytes(x) +
                                 VMAFGPU__SPEED_FLAT_AT_ONCE * sizeof(float));
        break;
    case VMAFGPU__SPEED_COVARIANCE:
        vmafgpu__speed_shape(&out, VMAFGPU__SPEED_DISTANCES, planes, pairs, VMAFGPU__SPEED_COVARIANCE_THREADS,
                             (size_t)VMAFGPU__SPEED_BLOCK * (size_t)vmafgpu__speed_chunk_columns(x) * sizeof(double));
        break;
    case VMAFGPU__SPEED_MATRIX:
        vmafgpu__speed_shape(&out, 2, planes, pairs, VMAFGPU__SPEED_MATRIX_THREADS, VMAFGPU__SPEED_MATRIX_SHARED);
        break;
    case VMAFGPU__SPEED_ENTROPY:
        vmafgpu__speed_shape(&out, vmafgpu__divide_up(blocks, VMAFGPU__SPEED_ENTROPY_BLOCKS), planes, pairs,
                             VMAFGPU__SPEED_ENTROPY_THREADS, VMAFGPU__SPEED_ENTROPY_SHARED);
        break;
    default:
        vmafgpu__speed_shape(&out, 2, 1, pairs, VMAFGPU__SPEED_SCORE_THREADS,
                             log_table + VMAFGPU__SPEED_SCORE_THREADS * sizeof(float));
    }
    return out;
}

/* Fills the launch of check and low, the chroma apart. `tables`: of this variant, or NULL without a prescale. */
static void vmafgpu__speed_fill_low(vmafgpu__speed_low_launch *out, const vmafgpu_config *c,
                                    const vmafgpu__speed_variant *x, float *scratch, const uint64_t *tables,
                                    uint32_t *illegal) {
    out->scratch = scratch;
    out->layout = vmafgpu__speed_scratch_of(x);
    out->illegal = illegal;
    out->sources = x->resampled ? vmafgpu__speed_sources(x) : 1;
    out->has_weights = x->method == VMAFGPU__SPEED_LANCZOS4;
    out->columns = x->resampled ? tables : NULL;
    out->rows = x->resampled ? tables + vmafgpu__speed_table_size(x, x->scaled_width) : NULL;
    out->width = x->width;
    out->height = x->height;
    out->scaled_width = x->scaled_width;
    out->scaled_height = x->scaled_height;
    out->low_columns = x->columns;
    out->block_columns = vmafgpu__speed_block_columns(x);
    out->reach = x->reach;
    out->bytes = c->bytes_per_sample;
    out->step = vmafgpu__speed_step(c);
    out->shift = c->layout == VMAFGPU_SEMIPLANAR_HIGH ? 16 - c->bit_depth : 0;
    out->mask = c->bytes_per_sample == 2 ? vmafgpu__chroma_illegal(c) : 0;
    out->unit = 1.0f / (float)(1 << (c->bit_depth - 8));
    memcpy(out->taps, x->taps, sizeof out->taps);
}

/* Whether low finds all illegal words by itself. */
static int vmafgpu__speed_all_wide(const vmafgpu__speed_low_launch *launch, int pairs) {
    int all = 1;
    for (int i = 0; i < 4 * pairs; i++) {
        const vmafgpu__gpu_chroma *chroma = &launch->chroma[i / 4];
        all = all && vmafgpu__speed_is_wide(launch, chroma->plane[i & 1][i >> 1 & 1], chroma->pitch[i & 1][i >> 1 & 1]);
    }
    return all;
}

/* The same for all others. */
static void vmafgpu__speed_fill(vmafgpu__speed_launch *out, const vmafgpu__speed_variant *x, int variant,
                                float *scratch, vmafgpu__sums *sums, uint32_t pairs, const void *log_table) {
    out->scratch = scratch;
    out->layout = vmafgpu__speed_scratch_of(x);
    out->sums = sums;
    out->pairs = pairs;
    out->variant = variant;
    out->columns = x->columns;
    out->rows = x->rows;
    out->blocks_across = x->blocks_across;
    out->blocks_down = x->blocks_down;
    out->band_rows = vmafgpu__speed_band_rows(x);
    out->chunk_columns = vmafgpu__speed_chunk_columns(x);
    out->log_table = log_table;
    out->local_reach = x->local_reach;
    memcpy(out->local_taps, x->local_taps, sizeof out->local_taps);
    out->noise = x->noise;
    out->base = x->base;
    out->weighting = x->weighting;
}

#endif /* !VMAFGPU_NO_GPU */

#ifndef VMAFGPU_NO_GPU

/* ================================================================================================
 * >>driver                                       a GPU vendor's API, found at run time
 * ================================================================================================
 * One table of functions; a vendor fills it from its library by name. What differs in more than names is a function of
 * the vendor (>>vendors). No other line of the engine knows which one it is. Functions of drivers and of vendors
 * return the driver's error, 0 for none, unless they say otherwise.
 */
#ifdef _WIN32
/* As windows.h declares them, which may have been included or not. */
#  ifdef __cplusplus
extern "C" {
#  endif
struct HINSTANCE__;
__declspec(dllimport) struct HINSTANCE__ *__stdcall LoadLibraryA(const char *);
__declspec(dllimport) struct HINSTANCE__ *__stdcall GetModuleHandleA(const char *);
__declspec(dllimport) int __stdcall FreeLibrary(struct HINSTANCE__ *);
__declspec(dllimport) intptr_t (__stdcall *__stdcall GetProcAddress(struct HINSTANCE__ *, const char *))(void);
__declspec(dllimport) unsigned long __stdcall GetModuleFileNameA(struct HINSTANCE__ *, char *, unsigned long);
#  ifdef __cplusplus
}
#  endif
#else
#  include <dlfcn.h>
#endif

/* only_loaded: not if the process has it not loaded yet. is_kept: it stays loaded to the end of the process. */
static void *vmafgpu__library_open(const char *path, int only_loaded, int is_kept) {
#ifdef _WIN32
    void *library = only_loaded && !GetModuleHandleA(path) ? NULL : LoadLibraryA(path);
    if (library && is_kept)
        (void)LoadLibraryA(path);   /* one time more than it is freed */
    return library;
#else
    int flags = RTLD_NOW | RTLD_LOCAL;
#  ifdef RTLD_NOLOAD
    flags |= only_loaded ? RTLD_NOLOAD : 0;
#  endif
#  ifdef RTLD_NODELETE
    flags |= is_kept ? RTLD_NODELETE : 0;
#  endif
    return dlopen(path, flags);
#endif
}

static void *vmafgpu__library_symbol(void *library, const char *name) {
#ifdef _WIN32
    intptr_t (__stdcall *symbol)(void) = GetProcAddress((struct HINSTANCE__ *)library, name);
    void *pointer;
    memcpy(&pointer, &symbol, sizeof pointer);
    return pointer;
#else
    return dlsym(library, name);
#endif
}

static void vmafgpu__library_close(void *library) {
#ifdef _WIN32
    FreeLibrary((struct HINSTANCE__ *)library);
#else
    dlclose(library);
#endif
}

/* What is copied by rows, in the layout of CUDA_MEMCPY2D. */
typedef struct vmafgpu__copy_rows {
    size_t source_x, source_y;
    int source_kind;
    const void *source_host;
    uint64_t source_device;
    void *source_array;
    size_t source_pitch;
    size_t target_x, target_y;
    int target_kind;
    void *target_host;
    uint64_t target_device;
    void *target_array;
    size_t target_pitch;
    size_t width, height;
} vmafgpu__copy_rows;

/* name in the table, result, arguments, CUDA's and HIP's name. NULL: not needed there; a '?' in front: old libraries
 * may lack it. Handles are opaque pointers, devices ints, device addresses 64 bits. */
#define VMAFGPU__DRIVER_FUNCTIONS(X) \
    X(init,              int, (unsigned flags), "cuInit", "hipInit") \
    X(device_count,      int, (int *count), "cuDeviceGetCount", "hipGetDeviceCount") \
    X(device_get,        int, (int *device, int ordinal), "cuDeviceGet", NULL) \
    X(device_name,       int, (char *name, int size, int device), "cuDeviceGetName", NULL) \
    X(device_attribute,  int, (int *value, int attribute, int device), "cuDeviceGetAttribute", NULL) \
    X(properties,        int, (void *properties, int device), NULL, "?hipGetDevicePropertiesR0600") \
    X(old_properties,    int, (void *properties, int device), NULL, "?hipGetDeviceProperties") \
    X(context_retain,    int, (void **context, int device), "cuDevicePrimaryCtxRetain", NULL) \
    X(context_release,   int, (int device), "cuDevicePrimaryCtxRelease_v2", NULL) \
    X(context_push,      int, (void *context), "cuCtxPushCurrent_v2", NULL) \
    X(context_pop,       int, (void **context), "cuCtxPopCurrent_v2", NULL) \
    X(context_device,    int, (int *device), "cuCtxGetDevice", NULL) \
    X(current_device,    int, (int *device), NULL, "hipGetDevice") \
    X(use_device,        int, (int device), NULL, "hipSetDevice") \
    X(pending_error,     int, (void), NULL, "?hipPeekAtLastError") \
    X(clear_error,       int, (void), NULL, "?hipGetLastError") \
    X(module_load,       int, (void **module, const void *image, unsigned count, int *options, void **values), \
      "cuModuleLoadDataEx", "hipModuleLoadDataEx") \
    X(module_unload,     int, (void *module), "cuModuleUnload", "hipModuleUnload") \
    X(module_function,   int, (void **function, void *module, const char *name), \
      "cuModuleGetFunction", "hipModuleGetFunction") \
    X(function_set,      int, (void *function, int attribute, int value), "cuFuncSetAttribute", NULL) \
    X(occupancy,         int, (int *blocks, void *function, int threads, size_t shared), \
      "cuOccupancyMaxActiveBlocksPerMultiprocessor", NULL) \
    X(memory_info,       int, (size_t *available, size_t *total), "cuMemGetInfo_v2", "hipMemGetInfo") \
    X(memory_take,       int, (uint64_t *address, size_t size), "cuMemAlloc_v2", "hipMalloc") \
    X(memory_give,       int, (uint64_t address), "cuMemFree_v2", "hipFree") \
    X(pinned_take,       int, (void **pointer, size_t size, unsigned flags), "cuMemHostAlloc", "hipHostMalloc") \
    X(pinned_give,       int, (void *pointer), "cuMemFreeHost", "hipHostFree") \
    X(copy_in,           int, (uint64_t to, const void *from, size_t size, void *stream), \
      "cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync") \
    X(copy_rows,         int, (const vmafgpu__copy_rows *what, void *stream), "cuMemcpy2DAsync_v2", NULL) \
    X(copy_2d,           int, (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, \
                               size_t height, int direction, void *stream), NULL, "hipMemcpy2DAsync") \
    X(copy_out,          int, (void *to, uint64_t from, size_t size, void *stream), \
      "cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync") \
    X(fill,              int, (uint64_t to, unsigned char value, size_t size, void *stream), \
      "cuMemsetD8Async", "hipMemsetD8Async") \
    X(stream_create,     int, (void **stream, unsigned flags), "cuStreamCreate", "hipStreamCreateWithFlags") \
    X(stream_destroy,    int, (void *stream), "cuStreamDestroy_v2", "hipStreamDestroy") \
    X(stream_wait,       int, (void *stream), "cuStreamSynchronize", "hipStreamSynchronize") \
    X(stream_wait_event, int, (void *stream, void *event, unsigned flags), "cuStreamWaitEvent", "hipStreamWaitEvent") \
    X(event_create,      int, (void **event, unsigned flags), "cuEventCreate", "hipEventCreateWithFlags") \
    X(event_destroy,     int, (void *event), "cuEventDestroy_v2", "hipEventDestroy") \
    X(event_record,      int, (void *event, void *stream), "cuEventRecord", "hipEventRecord") \
    X(event_query,       int, (void *event), "cuEventQuery", "hipEventQuery") \
    X(event_wait,        int, (void *event), "cuEventSynchronize", "hipEventSynchronize") \
    X(launch,            int, (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned x, \
                               unsigned y, unsigned z, unsigned shared, void *stream, void **arguments, void **extra), \
      "cuLaunchKernel", "hipModuleLaunchKernel") \
    X(error_name,        int, (int error, const char **name), "cuGetErrorName", NULL) \
    X(error_text,        const char *, (int error), NULL, "?hipGetErrorName")

typedef struct vmafgpu__driver {
#define VMAFGPU__DRIVER_FIELD(name, result, arguments, cuda, hip) result (*name) arguments;
    VMAFGPU__DRIVER_FUNCTIONS(VMAFGPU__DRIVER_FIELD)
#undef VMAFGPU__DRIVER_FIELD
} vmafgpu__driver;

enum {
#define VMAFGPU__DRIVER_INDEX(name, result, arguments, cuda, hip) VMAFGPU__DRIVER_##name,
    VMAFGPU__DRIVER_FUNCTIONS(VMAFGPU__DRIVER_INDEX)
#undef VMAFGPU__DRIVER_INDEX
    VMAFGPU__DRIVER_COUNT
};

/* Errors, and what an event answers with while work is under way, have the same numbers at both vendors. */
enum { VMAFGPU__DRIVER_NOT_READY = 600 };

/* The kernels as a driver takes them. */
typedef struct vmafgpu__image {
    char  *data;                           /* ends with NUL, as CUDA wants text; taken from the allocator */
    size_t size;
    char   name[256];                      /* for sentences */
} vmafgpu__image;

/* What differs between the vendors. */
typedef struct vmafgpu__vendor {
    const char *name;
    const char *library;                          /* for sentences */
    const char *libraries[12];                    /* to try, in this order */
    int         is_kept;                          /* whether the library must not be unloaded */
    const char *symbols[VMAFGPU__DRIVER_COUNT];   /* in the order of the table */
    const char *image_files[3];                   /* to look for beside the program, best first */
    int         is_built_in;                      /* whether images are compiled in */
    int         enter_function;                   /* what `enter` calls, for a sentence */

    /* Takes what keeps the device in use, which `close` gives back; 1 on success, else there may be a reason. */
    int (*open)(vmafgpu *v, char *reason, size_t size);
    void (*close)(vmafgpu__gpu *g);
    /* Makes the device current on this thread, and what was so before. */
    int (*enter)(vmafgpu__gpu *g);
    void (*leave)(vmafgpu__gpu *g);
    /* Fills what the engine wants to know of the device, which is current; 1 on success. */
    int (*describe)(vmafgpu *v, char *reason, size_t size);
    /* From pinned to device memory. */
    int (*copy_rows)(vmafgpu__gpu *g, uint64_t to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                     size_t height, void *stream);
    const char *(*error_name)(const vmafgpu__gpu *g, int error);   /* or NULL */
    /* The i-th image that is compiled in; VMAFGPU_END behind the last, VMAFGPU_ERROR_NOT_FOUND: not for this device. */
    vmafgpu_result (*built_in)(vmafgpu *v, int i, vmafgpu__image *image, char *reason, size_t size);
    /* Gives the image to the driver and finds the kernels in it; 1 on success. */
    int (*load_image)(vmafgpu *v, vmafgpu__image *image, char *reason, size_t size);
} vmafgpu__vendor;

/* Loads the library and its functions; a reason on failure. */
static void *vmafgpu__driver_load(const vmafgpu__vendor *vendor, const char *path, vmafgpu__driver *driver,
                                  char *reason, size_t size) {
    void *library = path ? vmafgpu__library_open(path, 0, vendor->is_kept) : NULL;
    /* Where the program has one loaded, its streams and addresses are that one's. */
    for (int only_loaded = 1; !path && only_loaded >= 0; only_loaded--)
        for (int i = 0; !library && vendor->libraries[i]; i++)
            library = vmafgpu__library_open(vendor->libraries[i], only_loaded, vendor->is_kept);
    if (!library) {
        vmafgpu__sentence(reason, size, "the driver library %.200s cannot be loaded",
                          path ? path : vendor->library);
        return NULL;
    }
    void *found[VMAFGPU__DRIVER_COUNT];
    for (int i = 0; i < VMAFGPU__DRIVER_COUNT; i++) {
        const char *symbol = vendor->symbols[i];
        const int is_optional = !symbol || symbol[0] == '?';
        found[i] = symbol ? vmafgpu__library_symbol(library, symbol + is_optional) : NULL;
        if (!found[i] && !is_optional) {
            vmafgpu__sentence(reason, size, "the driver library has no %s: it does not fit", symbol);
            vmafgpu__library_close(library);
            return NULL;
        }
    }
#define VMAFGPU__DRIVER_FILL(name, result, arguments, cuda, hip) \
    memcpy(&driver->name, &found[VMAFGPU__DRIVER_##name], sizeof driver->name);
    VMAFGPU__DRIVER_FUNCTIONS(VMAFGPU__DRIVER_FILL)
#undef VMAFGPU__DRIVER_FILL
    return library;
}

/* The folder of the running program, with its separator; "" when the system does not say. */
static void vmafgpu__program_folder(char *out, size_t size) {
    size_t used = 0;
#ifdef _WIN32
    used = (size_t)GetModuleFileNameA(NULL, out, (unsigned long)size);
#elif defined(__linux__)
    /* readlink() is no part of C99: strict modes hide its declaration. */
    long (*read_link)(const char *, char *, size_t) = NULL;
    void *self = dlopen(NULL, RTLD_NOW), *symbol = self ? dlsym(self, "readlink") : NULL;
    if (symbol) {
        memcpy(&read_link, &symbol, sizeof read_link);
        const long length = read_link("/proc/self/exe", out, size);
        used = length > 0 ? (size_t)length : 0;
    }
    if (self)
        dlclose(self);
#endif
    used = used < size ? used : 0;
    while (used && out[used - 1] != '/' && out[used - 1] != '\\')
        used--;
    out[used] = '\0';
}

/* ================================================================================================
 * >>gpu                                          the backend on a GPU
 * ================================================================================================
 * Pairs gather in a slot until its batch is full; then one launch of each kernel covers them all. A slot has streams
 * for what may run side by side, device memory for intermediates, and events. Slots are used in turn; only when the oldest one is needed again the host waits for it. What was submitted is known by its position
 * (seeds, pairs, tails).
 *
 * Positions:  collected <= retired <= launched <= submitted. Those below `retired` have their sums on the host.
 *
 * Rings of planes, by position: `history + in flight` references, so that a frame's motion finds the frames before
 * it, and `in flight` distorted frames; on the device, and pinned on the host for frames from pageable memory. No
 * plane is written before all that reads it is retired. The pinned planes stay until their pair is collected and
 * serve the CPU if the GPU fails.
 */
enum { VMAFGPU__LARGEST_IMAGE = 64 << 20 };   /* bytes of a file with kernels */
enum { VMAFGPU__STREAMS = 3 };                /* of a slot: motion, VIF and CAMBI; ADM; SpEED */

/* Functions of CAMBI and SpEED in the image. */
typedef struct vmafgpu__cambi_kernels {
    void    *function[VMAFGPU__CAMBI_KERNELS];
} vmafgpu__cambi_kernels;
typedef struct vmafgpu__speed_kernels { void *functions[VMAFGPU__SPEED_KERNELS]; } vmafgpu__speed_kernels;

/* The functions of the image, and what they need in device memory. */
typedef struct vmafgpu__kernels {
    void *handshake, *import;
    void *motion, *vif[VMAFGPU__SCALES];
    vmafgpu__vif_form vif_form;
    vmafgpu__block vif_block[VMAFGPU__SCALES];
    int   vif_resident[VMAFGPU__SCALES];   /* blocks that the device runs at once */
    void *adm[VMAFGPU__ADM_FORMS][VMAFGPU__ADM_INPUTS], *adm_rows;
    vmafgpu__cambi_kernels cambi;
    vmafgpu__speed_kernels speed;
    uint64_t tables;
    size_t   tables_size;                  /* those of VIF, then those of CAMBI and SpEED at their offsets */
    size_t   cambi_tables, speed_tables;
    size_t   scratch_size;                 /* of a slot: that of VIF for each pair, then those of the others */
    size_t   adm_offset, cambi_offset, speed_offset;
    vmafgpu__vif_scratch vif_layout;
    vmafgpu__adm_scratch adm_layout;
} vmafgpu__kernels;

/* A frame or pair on its way. */
typedef struct vmafgpu__item {
    vmafgpu_frame reference, distorted;    /* where the CPU finds them if the GPU fails; the kind of memory says
                                              whether it can */
    int has_distorted;
    int canonical[2];                      /* whether they are planes of ours */
    int history;
} vmafgpu__item;

/* What the GPU says of a pair. */
typedef struct vmafgpu__outcome {
    vmafgpu__sums sums;
    uint32_t      illegal;                 /* bit 0: a sample of the reference does not fit the bit depth; bit 1: of
                                              the distorted; bits 2, 3: the same of chroma */
} vmafgpu__outcome;

typedef struct vmafgpu__slot {
    void    *streams[VMAFGPU__STREAMS];
    void    *arrived, *done;               /* events: frames are on the device; all is done */
    void    *branch[VMAFGPU__STREAMS];     /* the work of a stream is done; not of the first one */
    uint64_t scratch;                      /* the slot's part of the device memory */
    uint64_t device_results;
    unsigned char *results;                /* pinned; sums of each pair, then their `illegal` */
    vmafgpu__batch batch;
    vmafgpu__gpu_chroma chroma[VMAFGPU__MAX_BATCH];
    vmafgpu__import_launch imports;
    int64_t  first;
    int      is_running;
} vmafgpu__slot;

struct vmafgpu__gpu {
    const vmafgpu__vendor *vendor;
    vmafgpu__driver driver;
    void   *library, *context, *module;
    int     device, has_device, owns_context, is_inside;
    int     caller_device, caller_error;   /* of the thread that is inside; HIP only */
    char    name[128];
    char    architecture[32];              /* "sm_90", "gfx1100" */
    int     capability;                    /* 90; NVIDIA only */
    int     lanes, multiprocessors, shared_limit;
    int     uses_integers;                 /* for the statistics of VIF */
    int     is_dead;                       /* a call failed; the note says which */
    int     is_drained;                    /* and nothing of ours runs there any more */

    int     batch, queue;
    int     history;                       /* frames before a pair that its motion looks at, 0..2 */
    int     ring, flight;                  /* planes of references and of distorted frames */
    int     sample_bytes;                  /* of canonical planes */
    int     is_canonical;                  /* whether the caller's planes may be read as they are */
    int     is_checked;                    /* whether samples can be illegal */
    size_t  plane_pitch, plane_size, results_size;
    int     chroma_planes;                 /* that a frame has: 2, or 1 with u and v in turn; 0: nobody looks at chroma */
    size_t  chroma_width;                  /* of a row of such a plane, in bytes */
    size_t  chroma_pitch, chroma_size;     /* where they are copied to */
    size_t  frame_size;                    /* of our copy of a frame: luma, then chroma if frames may have to be copied */

    uint64_t memory;                       /* all device memory, one allocation; vmafgpu__gpu_close() frees it */
    size_t   memory_size;
    unsigned char *pinned;                 /* all pinned memory, one allocation; vmafgpu__gpu_close() frees it */
    size_t   pinned_size;
    uint64_t device_references, device_distorted;
    uint64_t device_single;                /* a plane for the previous reference of a detached pair */
    unsigned char *staged_references, *staged_distorted, *staged_single;
    char   *image;                         /* HIP: the code object that is loaded */
    unsigned char *kept;                   /* pageable: the latest references that were in pinned memory, once that is
                                              given back */

    vmafgpu__item    *items;               /* [ring] */
    vmafgpu__outcome *outcomes;            /* [ring] */
    int64_t submitted, launched, retired, collected;
    int64_t fed;                           /* after a failure: how far the CPU has come */
    vmafgpu__slot slots[VMAFGPU__MAX_QUEUE];
    int     next_slot;                     /* being filled */
    void   *caller_event;
    vmafgpu__kernels kernels;
};

/* ---- failure ---- */

/* The GPU is not used any more, and the note says why. */
static void vmafgpu__gpu_die(vmafgpu *v, const char *what, int error) {
    vmafgpu__gpu *g = v->gpu;
    if (g->is_dead)
        return;
    g->is_dead = 1;
    const char *name = g->vendor->error_name(g, error);
    vmafgpu__sentence(v->note, sizeof v->note, "the GPU failed: %s returned %d (%.80s)", what, error,
                      name ? name : "unknown error");
    if (v->is_open)   /* an open says by itself what it makes of it */
        vmafgpu__log(v, VMAFGPU_LOG_WARNING, v->note);
}

static int vmafgpu__gpu_ok(vmafgpu *v, int function, int error) {
    if (error != 0)
        vmafgpu__gpu_die(v, v->gpu->vendor->symbols[function], error);
    return error == 0;
}

/* Calls the driver, unless something failed before; 1 on success. */
#define VMAFGPU__GPU_CALL(v, function, arguments) \
    (!(v)->gpu->is_dead && vmafgpu__gpu_ok(v, VMAFGPU__DRIVER_##function, (v)->gpu->driver.function arguments))

/* Every way in makes the device current, and the way out gives the caller's back. */
static void vmafgpu__gpu_enter(vmafgpu *v) {
    vmafgpu__gpu *g = v->gpu;
    g->is_inside = !g->is_dead && vmafgpu__gpu_ok(v, g->vendor->enter_function, g->vendor->enter(g));
}

static void vmafgpu__gpu_leave(vmafgpu *v) {
    if (v->gpu->is_inside)
        v->gpu->vendor->leave(v->gpu);
    v->gpu->is_inside = 0;
}

/* With the device current: until nothing of ours is under way. */
static void vmafgpu__gpu_finish(vmafgpu__gpu *g) {
    for (int i = 0; i < VMAFGPU__MAX_QUEUE; i++)
        for (int k = 0; k < VMAFGPU__STREAMS; k++)
            if (g->slots[i].streams[k])
                (void)g->driver.stream_wait(g->slots[i].streams[k]);
}

/* After a failure that leaves the device alive, earlier batches may still run: waits until they have let go of the
 * caller's frames. */
static void vmafgpu__gpu_drain(vmafgpu *v) {
    vmafgpu__gpu *g = v->gpu;
    if (!g->is_dead || g->is_drained)
        return;
    g->is_drained = 1;
    if (g->vendor->enter(g) != 0)
        return;
    vmafgpu__gpu_finish(g);
    g->vendor->leave(g);
}

/* ---- planes ---- */

static uint32_t *vmafgpu__device_illegal(const vmafgpu__gpu *g, const vmafgpu__slot *slot) {
    return (uint32_t *)(uintptr_t)(slot->device_results + sizeof(vmafgpu__sums) * (size_t)g->batch);
}

static uint64_t vmafgpu__device_plane(const vmafgpu__gpu *g, uint64_t first, int64_t index) {
    return first + (uint64_t)index * g->frame_size;
}

static unsigned char *vmafgpu__host_plane(const vmafgpu__gpu *g, unsigned char *first, int64_t index) {
    return first ? first + (size_t)index * g->frame_size : NULL;
}

/* A canonical plane in host memory as a frame, with the chroma that lies behind it. */
static vmafgpu_frame vmafgpu__plane_frame(const vmafgpu__gpu *g, const unsigned char *plane, int with_chroma) {
    vmafgpu_frame frame;
    memset(&frame, 0, sizeof frame);
    frame.data[0] = plane;
    frame.pitch[0] = (ptrdiff_t)g->plane_pitch;
    for (int i = 0; with_chroma && i < g->chroma_planes; i++) {
        frame.data[1 + i] = plane + g->plane_size + (size_t)i * g->chroma_size;
        frame.pitch[1 + i] = (ptrdiff_t)g->chroma_pitch;
    }
    return frame;
}

/* Whether the kernels can read a frame in device memory as it is. */
static int vmafgpu__is_direct(const vmafgpu *v, const vmafgpu_frame *frame) {
    const ptrdiff_t pitch = vmafgpu__luma_pitch(&v->config, frame);
    return v->gpu->is_canonical && (uintptr_t)frame->data[0] % 16 == 0 && pitch % 16 == 0 && pitch <= INT32_MAX &&
           pitch >= -(ptrdiff_t)INT32_MAX;
}

/* Whether a copy can have rows that far apart. */
static int vmafgpu__is_copied(ptrdiff_t pitch) {
    return pitch >= 0 && pitch <= INT32_MAX;
}

/* Whether the CPU writes a frame to planes of ours first: pageable memory, and pinned memory that no copy can
 * convert. */
static int vmafgpu__is_staged(const vmafgpu *v, const vmafgpu_frame *frame, int with_chroma) {
    int is_copied = v->gpu->is_canonical && vmafgpu__is_copied(vmafgpu__luma_pitch(&v->config, frame));
    for (int i = 0; with_chroma && i < v->gpu->chroma_planes; i++)
        is_copied = is_copied && vmafgpu__is_copied(vmafgpu__chroma_pitch(&v->config, frame, i));
    return frame->memory == VMAFGPU_MEMORY_HOST || (frame->memory == VMAFGPU_MEMORY_PINNED && !is_copied);
}

/* Checks the luma of a frame in host memory and writes it as a canonical plane; behind it the chroma as it is. */
static vmafgpu_result vmafgpu__stage(vmafgpu *v, const char *name, const vmafgpu_frame *frame, unsigned char *plane,
                                     int with_chroma) {
    const vmafgpu_config *c = &v->config;
    const vmafgpu__gpu *g = v->gpu;
    const ptrdiff_t pitch = vmafgpu__luma_pitch(c, frame);
    const int low = c->layout == VMAFGPU_SEMIPLANAR_HIGH ? 0 : 1;   /* which byte of an 8-bit sample's word is none of
                                                                       it */
    for (int y = 0; y < c->height; y++) {
        const uint8_t *source = (const uint8_t *)frame->data[0] + y * pitch;
        unsigned char *row = plane + (size_t)y * g->plane_pitch;
        uint32_t illegal = 0;
        if (c->bytes_per_sample == 1) {
            memcpy(row, source, (size_t)c->width);
        } else if (g->sample_bytes == 2) {
            illegal = vmafgpu__import_row(c, 0, source, (uint16_t *)(void *)row);
        } else {
            for (int x = 0; x < c->width; x++) {
                illegal |= source[2 * x + low];
                row[x] = source[2 * x + 1 - low];
            }
        }
        if (illegal)
            return vmafgpu__illegal_sample(v, name, frame, y);
    }
    for (int i = 0; with_chroma && i < g->chroma_planes; i++) {
        const ptrdiff_t chroma_pitch = vmafgpu__chroma_pitch(c, frame, i);
        unsigned char *to = plane + g->plane_size + (size_t)i * g->chroma_size;
        for (int y = 0; y < vmafgpu__chroma_height(c); y++)
            memcpy(to + (size_t)y * g->chroma_pitch, (const uint8_t *)frame->data[1 + i] + y * chroma_pitch,
                   g->chroma_width);
    }
    return VMAFGPU_OK;
}

/* Has the GPU read a plane of the device before the kernels run: to write it to another one, canonical, unless `to`
 * is 0, and to set bits of the pair's `illegal`. */
static void vmafgpu__add_import(vmafgpu *v, vmafgpu__slot *slot, const void *from, ptrdiff_t pitch, int canonical,
                                uint64_t to, uint32_t illegal) {
    const vmafgpu_config *c = &v->config;
    vmafgpu__import_item *item = &slot->imports.items[slot->imports.count++];
    item->source = from;
    item->source_pitch = pitch;
    item->target = (void *)(uintptr_t)to;
    item->source_bytes = canonical ? v->gpu->sample_bytes : c->bytes_per_sample;
    item->shift = !canonical && c->layout == VMAFGPU_SEMIPLANAR_HIGH ? 16 - c->bit_depth : 0;
    item->illegal = illegal;
    item->pair = slot->batch.pairs;
}

/* Where the kernels find a frame. */
typedef struct vmafgpu__target {
    const void *data;
    int32_t     pitch;
    const void *chroma[2];
    int64_t     chroma_pitch[2];
} vmafgpu__target;

/* Where u and v of a frame are. */
static void vmafgpu__aim_at_chroma(const vmafgpu *v, const vmafgpu_frame *frame, vmafgpu__target *target) {
    int step;
    for (int i = 0; i < 2; i++) {
        target->chroma[i] = vmafgpu__chroma_row(&v->config, frame, i, 0, &step);
        target->chroma_pitch[i] = vmafgpu__chroma_pitch(&v->config, frame, i);
    }
}

/* Starts the copy of a plane in pinned memory to the device. */
static void vmafgpu__copy_plane(vmafgpu *v, uint64_t to, size_t to_pitch, const void *from, ptrdiff_t pitch,
                                size_t width, int height, void *stream) {
    vmafgpu__gpu *g = v->gpu;
    if ((size_t)pitch == to_pitch)
        (void)VMAFGPU__GPU_CALL(v, copy_in, (to, from, to_pitch * (size_t)(height - 1) + width, stream));
    else if (!g->is_dead)
        (void)vmafgpu__gpu_ok(v, VMAFGPU__DRIVER_copy_rows,
                              g->vendor->copy_rows(g, to, to_pitch, from, (size_t)pitch, width, (size_t)height, stream));
}

/* Starts the transfer of a frame to the plane `to` of the device, chroma behind it: from `staged`, if that is a plane, or
 * from the caller's memory, or finds that none is needed. is_seen: VIF looks at its samples and finds illegal ones. */
static vmafgpu__target vmafgpu__transfer(vmafgpu *v, vmafgpu__slot *slot, const vmafgpu_frame *frame,
                                         const unsigned char *staged, uint64_t to, int with_chroma, int is_seen,
                                         uint32_t illegal) {
    vmafgpu__gpu *g = v->gpu;
    const ptrdiff_t pitch = vmafgpu__luma_pitch(&v->config, frame);
    vmafgpu__target target;
    memset(&target, 0, sizeof target);
    target.data = (const void *)(uintptr_t)to;
    target.pitch = (int32_t)g->plane_pitch;
    if (with_chroma && g->chroma_planes) {
        const vmafgpu_frame copy = vmafgpu__plane_frame(g, (const unsigned char *)(uintptr_t)to, 1);
        vmafgpu__aim_at_chroma(v, frame->memory == VMAFGPU_MEMORY_DEVICE ? frame : &copy, &target);
    }
    if (staged) {
        (void)VMAFGPU__GPU_CALL(v, copy_in, (to, staged, with_chroma ? g->frame_size : g->plane_size, slot->streams[0]));
        return target;
    }
    if (frame->memory == VMAFGPU_MEMORY_PINNED) {
        vmafgpu__copy_plane(v, to, g->plane_pitch, frame->data[0], pitch,
                            (size_t)v->config.width * (size_t)g->sample_bytes, v->config.height, slot->streams[0]);
        for (int i = 0; with_chroma && i < g->chroma_planes; i++)
            vmafgpu__copy_plane(v, to + g->plane_size + (uint64_t)i * g->chroma_size, g->chroma_pitch, frame->data[1 + i],
                                vmafgpu__chroma_pitch(&v->config, frame, i), g->chroma_width,
                                vmafgpu__chroma_height(&v->config), slot->streams[0]);
    } else if (vmafgpu__is_direct(v, frame)) {
        target.data = frame->data[0];
        target.pitch = (int32_t)pitch;
    } else {
        vmafgpu__add_import(v, slot, frame->data[0], pitch, 0, to, g->is_checked ? illegal : 0);
        return target;
    }
    if (g->is_checked && !is_seen)
        vmafgpu__add_import(v, slot, target.data, target.pitch, 1, 0, illegal);
    return target;
}

/* ---- the kernels of a batch ---- */

static void vmafgpu__launch(vmafgpu *v, void *function, const vmafgpu__shape *shape, void *stream, void *launch) {
    void *arguments[1];
    arguments[0] = launch;
    (void)VMAFGPU__GPU_CALL(v, launch, (function, shape->grid[0], shape->grid[1], shape->grid[2], shape->threads, 1, 1,
                                        shape->shared, stream, arguments, NULL));
}

static void vmafgpu__launch_adm(vmafgpu *v, const vmafgpu__slot *slot) {
    vmafgpu__gpu *g = v->gpu;
    const vmafgpu__kernels *k = &g->kernels;
    unsigned char *scratch = (unsigned char *)(uintptr_t)(slot->scratch + k->adm_offset);
    vmafgpu__shape shape;
    for (int i = 0; i < v->plan.adm_variants; i++) {
        vmafgpu__adm_rows_launch rows;
        for (int s = 0; s < VMAFGPU__SCALES; s++) {
            vmafgpu__adm_launch launch;
            launch.batch = slot->batch;
            vmafgpu__adm_fill(&launch, &shape, &v->plan, i, s, &k->adm_layout, scratch, g->lanes);
            vmafgpu__launch(
                v, k->adm[vmafgpu__adm_form_of(&v->plan.adm[i], s)][vmafgpu__adm_input(s, v->config.bit_depth)], &shape,
                slot->streams[1], &launch);
        }
        rows.batch = slot->batch;
        vmafgpu__adm_rows_fill(&rows, &shape, i, &k->adm_layout, scratch);
        vmafgpu__launch(v, k->adm_rows, &shape, slot->streams[1], &rows);
    }
}

static void vmafgpu__launch_motion_and_vif(vmafgpu *v, const vmafgpu__slot *slot) {
    vmafgpu__gpu *g = v->gpu;
    const vmafgpu__kernels *k = &g->kernels;
    const unsigned char *tables = (const unsigned char *)(uintptr_t)k->tables;
    vmafgpu__shape shape;
    if (v->plan.motion[0] || v->plan.motion[1]) {
        vmafgpu__motion_launch launch;
        launch.batch = slot->batch;
        vmafgpu__motion_fill(&launch, &shape, &v->plan, k->vif_form, tables);
        vmafgpu__launch(v, k->motion, &shape, slot->streams[0], &launch);
    }
    for (int i = 0; i < v->plan.vif_variants; i++)
        for (int s = 0; s < VMAFGPU__SCALES; s++) {
            const int images_only = s == 0 && v->plan.vif_skips_scale_0;
            vmafgpu__vif_launch launch;
            if (images_only && i > 0)
                continue;
            launch.batch = slot->batch;
            vmafgpu__vif_fill(&launch, &shape, &v->plan, i, s, k->vif_form, k->vif_block[s], k->vif_resident[s],
                              &k->vif_layout, (unsigned char *)(uintptr_t)slot->scratch, tables,
                              g->is_checked ? vmafgpu__device_illegal(g, slot) : NULL, images_only);
            vmafgpu__launch(v, k->vif[s], &shape, slot->streams[0], &launch);
        }
}

/* ---- kernels by name ---- */

/* A kernel that this context uses: its name, and where its handle goes. */
typedef struct vmafgpu__wanted { const char *name; void **function; } vmafgpu__wanted;

/* Handshake, import, motion and ADM's rows, and what each feature has. */
enum {
    VMAFGPU__MAX_WANTED = 4 + (int)VMAFGPU__SCALES + (int)VMAFGPU__ADM_FORMS * (int)VMAFGPU__ADM_INPUTS +
                          (int)VMAFGPU__CAMBI_KERNELS + (int)VMAFGPU__SPEED_KERNELS
};

static void vmafgpu__want(vmafgpu__wanted *list, int *count, const char *name, void **function) {
    for (int i = 0; i < *count; i++)
        if (list[i].function == function)
            return;
    list[*count].name = name;
    list[(*count)++].function = function;
}

/* ---- CAMBI's launches ---- */

/* Of a pair; pictures and variants use it in turn. */
static uint64_t vmafgpu__gpu_cambi_pair(const vmafgpu *v) {
    uint64_t most = 0;
    for (int i = 0; i < v->plan.cambi_variants; i++)
        for (int k = 0; k < v->plan.cambi[i].pictures; k++) {
            const uint64_t size = vmafgpu__cambi_scratch_of(&v->plan.cambi[i], &v->plan.cambi[i].picture[k]).size;
            most = size > most ? size : most;
        }
    return most;
}

static size_t vmafgpu__gpu_cambi_scratch(const vmafgpu *v, int pairs) {
    return (size_t)vmafgpu__gpu_cambi_pair(v) * (size_t)pairs;
}

/* Where the tables of a picture lie in those of CAMBI. */
typedef struct vmafgpu__cambi_tables {
    size_t weights;                              /* of the variant */
    size_t column, row;                          /* of the picture, if its size is not the frames' */
    size_t size;                                 /* up to here */
} vmafgpu__cambi_tables;

/* After a first table, the reciprocals. Pictures have theirs one after the other, each with its variant's. */
static vmafgpu__cambi_tables vmafgpu__cambi_tables_of(const vmafgpu *v, int index, int image) {
    vmafgpu__cambi_tables t;
    memset(&t, 0, sizeof t);
    t.size = sizeof(float) * (VMAFGPU__CAMBI_MAX_WINDOW * VMAFGPU__CAMBI_MAX_WINDOW + 1);
    for (int i = 0; i <= index && i < v->plan.cambi_variants; i++) {
        const vmafgpu__cambi_variant *variant = &v->plan.cambi[i];
        for (int k = 0; k < variant->pictures && (i < index || k <= image); k++) {
            t.weights = (t.size + 15) / 16 * 16;
            t.column = (t.weights + (size_t)variant->bins * (size_t)variant->contrasts + 15) / 16 * 16;
            t.row = t.column + sizeof(int32_t) * (size_t)variant->picture[k].width;
            t.size = t.row + sizeof(int32_t) * (size_t)variant->picture[k].height;
        }
    }
    return t;
}

static size_t vmafgpu__gpu_cambi_tables(const vmafgpu *v, unsigned char *out) {
    if (!v->plan.cambi_variants)
        return 0;
    if (out)
        vmafgpu__cambi_reciprocals((float *)(void *)out);
    for (int i = 0; out && i < v->plan.cambi_variants; i++)
        for (int k = 0; k < v->plan.cambi[i].pictures; k++) {
            const vmafgpu__cambi_tables t = vmafgpu__cambi_tables_of(v, i, k);
            const vmafgpu__cambi_picture *p = &v->plan.cambi[i].picture[k];
            vmafgpu__cambi_weigh(&v->plan.cambi[i], out + t.weights);
            vmafgpu__cambi_positions(v->config.width, p->width, (int *)(void *)(out + t.column));
            vmafgpu__cambi_positions(v->config.height, p->height, (int *)(void *)(out + t.row));
        }
    const int last = v->plan.cambi_variants - 1;
    return vmafgpu__cambi_tables_of(v, last, v->plan.cambi[last].pictures - 1).size;
}

static vmafgpu__cambi_kernel vmafgpu__cambi_prepare_kernel(const vmafgpu *v) {
    return v->config.bit_depth == 8 ? VMAFGPU__CAMBI_PREPARE_8 : VMAFGPU__CAMBI_PREPARE_16;
}

static void vmafgpu__want_cambi(vmafgpu *v, vmafgpu__wanted *list, int *count) {
    void **function = v->gpu->kernels.cambi.function;
    for (int i = 0; i < v->plan.cambi_variants; i++)
        for (int k = 0; k < v->plan.cambi[i].pictures; k++) {
            const vmafgpu__cambi_kernel counting =
                vmafgpu__cambi_count_kernel(&v->plan.cambi[i], &v->plan.cambi[i].picture[k]);
            vmafgpu__want(list, count, vmafgpu__cambi_kernel_names[counting], &function[counting]);
        }
    if (v->plan.cambi_variants) {
        const vmafgpu__cambi_kernel always[4] = { vmafgpu__cambi_prepare_kernel(v), VMAFGPU__CAMBI_SHRINK,
                                                  VMAFGPU__CAMBI_SELECT, VMAFGPU__CAMBI_ORDER };
        for (int i = 0; i < 4; i++)
            vmafgpu__want(list, count, vmafgpu__cambi_kernel_names[always[i]], &function[always[i]]);
    }
}

static void vmafgpu__launch_cambi_kernel(vmafgpu *v, vmafgpu__cambi_launch *launch, vmafgpu__cambi_kernel kernel,
                                         void *stream) {
    const vmafgpu__shape shape = vmafgpu__cambi_shape(launch, kernel);
    vmafgpu__launch(v, v->gpu->kernels.cambi.function[kernel], &shape, stream, launch);
}

static void vmafgpu__launch_cambi(vmafgpu *v, const vmafgpu__slot *slot, uint64_t scratch, uint64_t tables,
                                  void *stream) {
    const unsigned char *table = (const unsigned char *)(uintptr_t)tables;
    const uint64_t size = vmafgpu__gpu_cambi_pair(v);
    for (int i = 0; i < v->plan.cambi_variants; i++)
        for (int k = 0; k < v->plan.cambi[i].pictures; k++) {
            const vmafgpu__cambi_variant *variant = &v->plan.cambi[i];
            const vmafgpu__cambi_picture *p = &variant->picture[k];
            const vmafgpu__cambi_tables t = vmafgpu__cambi_tables_of(v, i, k);
            const int is_whole = p->width == v->config.width && p->height == v->config.height;
            vmafgpu__cambi_launch launch;
            launch.batch = slot->batch;
            if (!vmafgpu__cambi_fill(&launch, &v->plan, i, k, (unsigned char *)(uintptr_t)scratch, size))
                continue;
            launch.reciprocal = (const uint32_t *)(const void *)table;
            launch.weights = table + t.weights;
            launch.source_column = is_whole ? NULL : (const int32_t *)(const void *)(table + t.column);
            launch.source_row = is_whole ? NULL : (const int32_t *)(const void *)(table + t.row);
            vmafgpu__launch_cambi_kernel(v, &launch, vmafgpu__cambi_prepare_kernel(v), stream);
            vmafgpu__launch_cambi_kernel(v, &launch, VMAFGPU__CAMBI_SHRINK, stream);
            vmafgpu__launch_cambi_kernel(v, &launch, vmafgpu__cambi_count_kernel(variant, p), stream);
            for (launch.pass = 0; launch.pass <= VMAFGPU__CAMBI_SELECT_PASSES; launch.pass++)
                vmafgpu__launch_cambi_kernel(v, &launch, VMAFGPU__CAMBI_SELECT, stream);
            vmafgpu__launch_cambi_kernel(v, &launch, VMAFGPU__CAMBI_ORDER, stream);
        }
}

/* ---- SpEED's launches ---- */

enum { VMAFGPU__SPEED_LOG_ENTRIES = sizeof vmafgpu__log2_table / sizeof(uint64_t) };

/* The variants run one after another and share it. */
static size_t vmafgpu__gpu_speed_scratch(const vmafgpu *v, int pairs) {
    size_t most = 0;
    for (int i = 0; i < v->plan.speed_variants; i++) {
        const size_t size = (size_t)vmafgpu__speed_scratch_of(&v->plan.speed[i]).size;
        most = size > most ? size : most;
    }
    return most * (size_t)pairs;
}

/* The table of the logarithm, then of each variant with a prescale those of the columns and of the rows. */
static size_t vmafgpu__gpu_speed_tables(const vmafgpu *v, unsigned char *out) {
    uint64_t *to = (uint64_t *)(void *)out;
    size_t used = v->plan.speed_variants ? VMAFGPU__SPEED_LOG_ENTRIES : 0;
    if (used && out)
        memcpy(out, vmafgpu__log2_table, sizeof vmafgpu__log2_table);
    for (int i = 0; i < v->plan.speed_variants; i++) {
        const vmafgpu__speed_variant *x = &v->plan.speed[i];
        const size_t columns = vmafgpu__speed_table_size(x, x->scaled_width);
        if (to) {
            vmafgpu__speed_table(x, x->width, x->scaled_width, to + used);
            vmafgpu__speed_table(x, x->height, x->scaled_height, to + used + columns);
        }
        used += columns + vmafgpu__speed_table_size(x, x->scaled_height);
    }
    return used * sizeof(uint64_t);
}

static void vmafgpu__want_speed(vmafgpu *v, vmafgpu__wanted *list, int *count) {
    for (int i = 0; v->plan.speed_variants && i < VMAFGPU__SPEED_KERNELS; i++)
        vmafgpu__want(list, count, vmafgpu__speed_kernel_name(i, vmafgpu__speed_step(&v->config)),
                      &v->gpu->kernels.speed.functions[i]);
}

static void vmafgpu__launch_speed(vmafgpu *v, const vmafgpu__slot *slot, uint64_t scratch, uint64_t tables,
                                  void *stream) {
    const vmafgpu__speed_kernels *k = &v->gpu->kernels.speed;
    const void *log_table = (const void *)(uintptr_t)tables;
    const uint64_t *table = (const uint64_t *)log_table + VMAFGPU__SPEED_LOG_ENTRIES;
    float *memory = (float *)(uintptr_t)scratch;
    uint32_t pairs = 0;
    for (int i = 0; i < slot->batch.pairs && i < VMAFGPU__MAX_BATCH; i++)
        pairs |= (uint32_t)(slot->chroma[i].plane[1][0] != NULL) << i;
    for (int i = 0; pairs && i < v->plan.speed_variants; i++) {
        const vmafgpu__speed_variant *x = &v->plan.speed[i];
        vmafgpu__speed_low_launch low;
        vmafgpu__speed_launch launch;
        vmafgpu__speed_fill_low(&low, &v->config, x, memory, table, vmafgpu__device_illegal(v->gpu, slot));
        memcpy(low.chroma, slot->chroma, sizeof low.chroma);
        vmafgpu__speed_fill(&launch, x, i, memory, slot->batch.sums, pairs, log_table);
        const int is_checked = !low.mask || vmafgpu__speed_all_wide(&low, slot->batch.pairs);
        for (int kernel = 0; kernel < VMAFGPU__SPEED_KERNELS; kernel++) {
            const vmafgpu__shape shape = vmafgpu__speed_shape_of(x, kernel, slot->batch.pairs);
            const int is_check = kernel == VMAFGPU__SPEED_CHECK || kernel == VMAFGPU__SPEED_CHECK_SCALED;
            const int is_first = kernel < VMAFGPU__SPEED_FLAT, is_scaled = kernel >= VMAFGPU__SPEED_CHECK_SCALED;
            if ((is_first && is_scaled != x->resampled) || (is_check && is_checked))
                continue;
            vmafgpu__launch(v, k->functions[kernel], &shape, stream, is_first ? (void *)&low : (void *)&launch);
        }
        table += vmafgpu__speed_table_size(x, x->scaled_width) + vmafgpu__speed_table_size(x, x->scaled_height);
    }
}

/* ---- the launches of a batch ---- */

/* Every stream starts when the frames are there; the first one goes on when all are done. */
static void vmafgpu__launch_kernels(vmafgpu *v, const vmafgpu__slot *slot) {
    const vmafgpu__kernels *k = &v->gpu->kernels;
    const int has_branch[VMAFGPU__STREAMS] = { 0, v->plan.adm_variants > 0, v->plan.speed_variants > 0 };
    for (int i = 1; i < VMAFGPU__STREAMS; i++)
        if (has_branch[i])
            (void)VMAFGPU__GPU_CALL(v, stream_wait_event, (slot->streams[i], slot->arrived, 0));
    vmafgpu__launch_adm(v, slot);
    vmafgpu__launch_speed(v, slot, slot->scratch + k->speed_offset, k->tables + k->speed_tables, slot->streams[2]);
    vmafgpu__launch_motion_and_vif(v, slot);
    vmafgpu__launch_cambi(v, slot, slot->scratch + k->cambi_offset, k->tables + k->cambi_tables, slot->streams[0]);
    for (int i = 1; i < VMAFGPU__STREAMS; i++)
        if (has_branch[i]) {
            (void)VMAFGPU__GPU_CALL(v, event_record, (slot->branch[i], slot->streams[i]));
            (void)VMAFGPU__GPU_CALL(v, stream_wait_event, (slot->streams[0], slot->branch[i], 0));
        }
}

/* ---- what the kernels need ---- */

/* All of them, for an image in which VIF has that form; their number. */
static int vmafgpu__list_kernels(vmafgpu *v, vmafgpu__vif_form form, vmafgpu__wanted *list) {
    const int depth = v->config.bit_depth;
    vmafgpu__kernels *k = &v->gpu->kernels;
    int count = 0;
    k->vif_form = form;
    vmafgpu__want(list, &count, "vmafgpu_interface_2", &k->handshake);
    vmafgpu__want(list, &count, "vmafgpu_import", &k->import);
    if (v->plan.motion[0] || v->plan.motion[1])
        vmafgpu__want(list, &count, vmafgpu__motion_kernel(form, depth), &k->motion);
    for (int s = 0; v->plan.vif_variants && s < VMAFGPU__SCALES; s++)
        vmafgpu__want(list, &count, vmafgpu__vif_kernels[form][v->gpu->uses_integers][vmafgpu__vif_input(s, depth)],
                      &k->vif[s]);
    for (int i = 0; i < v->plan.adm_variants; i++)
        for (int s = 0; s < VMAFGPU__SCALES; s++) {
            const int adm_form = (int)vmafgpu__adm_form_of(&v->plan.adm[i], s), input = vmafgpu__adm_input(s, depth);
            vmafgpu__want(list, &count, vmafgpu__adm_kernels[adm_form][input], &k->adm[adm_form][input]);
        }
    if (v->plan.adm_variants)
        vmafgpu__want(list, &count, vmafgpu__adm_rows_kernel, &k->adm_rows);
    vmafgpu__want_cambi(v, list, &count);
    vmafgpu__want_speed(v, list, &count);
    return count;
}

/* Looks up what this context needs in the module; the name of what is missing, or NULL. */
static const char *vmafgpu__find_kernels(vmafgpu *v, vmafgpu__vif_form form) {
    vmafgpu__wanted list[VMAFGPU__MAX_WANTED];
    const int count = vmafgpu__list_kernels(v, form, list);
    for (int i = 0; i < count; i++)
        if (v->gpu->driver.module_function(list[i].function, v->gpu->module, list[i].name) != 0)
            return list[i].name;
    return NULL;
}

/* Adds a part to memory; where it begins. */
static size_t vmafgpu__append(size_t *size, size_t part) {
    const size_t at = *size;
    *size = (at + part + 255) / 256 * 256;
    return at;
}

/* How much device memory the kernels want. */
static void vmafgpu__plan_kernels(vmafgpu *v) {
    vmafgpu__gpu *g = v->gpu;
    vmafgpu__kernels *k = &g->kernels;
    const size_t batch = (size_t)g->batch;
    k->tables_size = VMAFGPU__VIF_TABLES_SIZE;
    k->cambi_tables = vmafgpu__append(&k->tables_size, vmafgpu__gpu_cambi_tables(v, NULL));
    k->speed_tables = vmafgpu__append(&k->tables_size, vmafgpu__gpu_speed_tables(v, NULL));
    k->vif_layout = vmafgpu__vif_scratch_of(v->config.width, v->config.height);
    k->adm_layout = vmafgpu__adm_scratch_of(v->config.width, v->config.height);
    k->scratch_size = 0;
    (void)vmafgpu__append(&k->scratch_size, v->plan.vif_variants ? (size_t)k->vif_layout.size * batch : 0);
    k->adm_offset =
        vmafgpu__append(&k->scratch_size, v->plan.adm_variants ? (size_t)k->adm_layout.size * batch : 0);
    k->cambi_offset = vmafgpu__append(&k->scratch_size, vmafgpu__gpu_cambi_scratch(v, g->batch));
    k->speed_offset = vmafgpu__append(&k->scratch_size, vmafgpu__gpu_speed_scratch(v, g->batch));
}

/* Once, when the memory is there: the tables, and what has to be zero before the first launch. */
static int vmafgpu__prepare_kernels(vmafgpu *v, char *reason, size_t size) {
    vmafgpu__gpu *g = v->gpu;
    vmafgpu__kernels *k = &g->kernels;
    void *stream = g->slots[0].streams[0];
    enum { LARGEST_SHARED = 8 };   /* attribute of a function */
    for (int i = 0; v->plan.adm_variants && i < g->queue; i++)
        (void)VMAFGPU__GPU_CALL(v, fill,
                                (g->slots[i].scratch + k->adm_offset, 0, k->cambi_offset - k->adm_offset, stream));
    for (int s = 0; v->plan.vif_variants && s < VMAFGPU__SCALES; s++) {
        const vmafgpu__block block = vmafgpu__vif_block(k->vif_form, s, v->config.bit_depth, (uint32_t)g->shared_limit);
        int blocks = 1;
        k->vif_block[s] = block;
        if (g->driver.function_set)   /* who has none gives what there is without being asked */
            (void)VMAFGPU__GPU_CALL(v, function_set, (k->vif[s], LARGEST_SHARED, (int)block.shared));
        if (k->vif_form == VMAFGPU__VIF_MATRIX)   /* the only one whose grid depends on it */
            (void)VMAFGPU__GPU_CALL(v, occupancy, (&blocks, k->vif[s], (int)block.threads, block.shared));
        k->vif_resident[s] = (blocks > 0 ? blocks : 1) * g->multiprocessors;
    }
    unsigned char *tables = (unsigned char *)vmafgpu__take(v, k->tables_size);
    if (!tables) {
        vmafgpu__sentence(reason, size, "no host memory for the tables");
        return 0;
    }
    vmafgpu__vif_tables(tables);
    (void)vmafgpu__gpu_cambi_tables(v, tables + k->cambi_tables);
    (void)vmafgpu__gpu_speed_tables(v, tables + k->speed_tables);
    (void)VMAFGPU__GPU_CALL(v, copy_in, (k->tables, tables, k->tables_size, stream));
    const int is_ready = VMAFGPU__GPU_CALL(v, stream_wait, (stream));
    vmafgpu__give(v, tables);
    return is_ready;
}

/* ---- a batch ---- */

/* Adds a pair, whose planes are on their way, to the slot's batch. */
static void vmafgpu__add_pair(vmafgpu__slot *slot, vmafgpu__target reference, vmafgpu__target distorted,
                              const vmafgpu__target *before) {
    vmafgpu__gpu_chroma *chroma = &slot->chroma[slot->batch.pairs];
    vmafgpu__gpu_pair *pair = &slot->batch.pair[slot->batch.pairs++];
    pair->reference = reference.data;
    pair->reference_pitch = reference.pitch;
    pair->distorted = distorted.data;
    pair->distorted_pitch = distorted.pitch;
    for (int i = 0; i < 2; i++) {
        pair->before[i] = before[i].data;
        pair->before_pitch[i] = before[i].pitch;
        chroma->plane[0][i] = reference.chroma[i];
        chroma->pitch[0][i] = reference.chroma_pitch[i];
        chroma->plane[1][i] = distorted.chroma[i];
        chroma->pitch[1][i] = distorted.chroma_pitch[i];
    }
}

/* Makes the slot wait for the caller's stream: what a pair's import or kernels read is ready then. */
static void vmafgpu__await_caller(vmafgpu *v, vmafgpu__slot *slot) {
    vmafgpu__gpu *g = v->gpu;
    if (!v->config.gpu.stream)
        return;
    (void)VMAFGPU__GPU_CALL(v, event_record, (g->caller_event, v->config.gpu.stream));
    (void)VMAFGPU__GPU_CALL(v, stream_wait_event, (slot->streams[0], g->caller_event, 0));
}

/* Puts the work of the slot's batch on its streams. `earlier`: what has
 * arrived with earlier batches is needed; the event of the latest. */
static void vmafgpu__launch_batch(vmafgpu *v, vmafgpu__slot *slot, void *earlier) {
    vmafgpu__gpu *g = v->gpu;
    vmafgpu__await_caller(v, slot);
    (void)VMAFGPU__GPU_CALL(v, fill, (slot->device_results, 0, g->results_size, slot->streams[0]));
    if (slot->imports.count) {
        void *arguments[1];
        arguments[0] = &slot->imports;
        slot->imports.illegal = vmafgpu__device_illegal(g, slot);
        slot->imports.target_pitch = (int32_t)g->plane_pitch;
        slot->imports.target_bytes = g->sample_bytes;
        slot->imports.width = v->config.width;
        slot->imports.height = v->config.height;
        slot->imports.bit_depth = v->config.bit_depth;
        (void)VMAFGPU__GPU_CALL(v, launch, (g->kernels.import, ((unsigned)v->config.height + 7) / 8, 1,
                                            (unsigned)slot->imports.count, VMAFGPU__IMPORT_THREADS, 1, 1, 0,
                                            slot->streams[0], arguments, NULL));
    }
    /* What has arrived here has arrived in all batches before, too. */
    if (earlier)
        (void)VMAFGPU__GPU_CALL(v, stream_wait_event, (slot->streams[0], earlier, 0));
    (void)VMAFGPU__GPU_CALL(v, event_record, (slot->arrived, slot->streams[0]));
    vmafgpu__launch_kernels(v, slot);
    (void)VMAFGPU__GPU_CALL(v, copy_out, (slot->results, slot->device_results, g->results_size, slot->streams[0]));
    (void)VMAFGPU__GPU_CALL(v, event_record, (slot->done, slot->streams[0]));
    slot->is_running = 1;
}

/* Launches the batch that is being filled, full or not. */
static void vmafgpu__launch_filling(vmafgpu *v) {
    vmafgpu__gpu *g = v->gpu;
    vmafgpu__slot *slot = &g->slots[g->next_slot];
    if (g->launched == g->submitted)
        return;
    /* References that the next batch looks at stay on the device although the caller takes the frames back. */
    for (int64_t position = g->submitted - g->history; position < g->submitted; position++) {
        const int64_t i = position - slot->first;
        const uint64_t plane = vmafgpu__device_plane(g, g->device_references, (position + g->ring) % g->ring);
        if (i < 0 || (uintptr_t)slot->batch.pair[i].reference == (uintptr_t)plane)
            continue;
        vmafgpu__add_import(v, slot, slot->batch.pair[i].reference, slot->batch.pair[i].reference_pitch, 1, plane, 0);
    }
    vmafgpu__launch_batch(
        v, slot, g->history && slot->first ? g->slots[(g->next_slot + g->queue - 1) % g->queue].arrived : NULL);
    g->launched = g->submitted;
    g->next_slot = (g->next_slot + 1) % g->queue;
}

/* Reads what the GPU says of pair i of a slot that is done. */
static void vmafgpu__read_outcome(const vmafgpu__gpu *g, const vmafgpu__slot *slot, int i, vmafgpu__outcome *outcome) {
    const unsigned char *illegal = slot->results + sizeof(vmafgpu__sums) * (size_t)g->batch;
    memcpy(&outcome->sums, slot->results + sizeof(vmafgpu__sums) * (size_t)i, sizeof outcome->sums);
    memcpy(&outcome->illegal, illegal + sizeof outcome->illegal * (size_t)i, sizeof outcome->illegal);
}

/* Takes the results of the oldest batch that runs, if it is done or shall be waited for. */
static void vmafgpu__retire(vmafgpu *v, int wait) {
    vmafgpu__gpu *g = v->gpu;
    int oldest = g->next_slot;
    if (g->is_dead || g->retired == g->launched)
        return;
    while (!g->slots[oldest].is_running)
        oldest = (oldest + 1) % g->queue;
    vmafgpu__slot *slot = &g->slots[oldest];
    if (wait) {
        if (!VMAFGPU__GPU_CALL(v, event_wait, (slot->done)))
            return;
    } else {
        const int error = g->driver.event_query(slot->done);
        if (error == VMAFGPU__DRIVER_NOT_READY || !vmafgpu__gpu_ok(v, VMAFGPU__DRIVER_event_query, error))
            return;
    }
    for (int i = 0; i < slot->batch.pairs; i++)
        vmafgpu__read_outcome(g, slot, i, &g->outcomes[(slot->first + i) % g->ring]);
    slot->is_running = 0;
    g->retired = slot->first + slot->batch.pairs;
}

/* The slot to be filled, empty of earlier work. */
static vmafgpu__slot *vmafgpu__open_slot(vmafgpu *v) {
    vmafgpu__gpu *g = v->gpu;
    vmafgpu__slot *slot = &g->slots[g->next_slot];
    if (slot->is_running)
        vmafgpu__retire(v, 1);
    if (g->launched == g->submitted) {
        slot->first = g->submitted;
        slot->batch.pairs = 0;
        slot->imports.count = 0;
    }
    return slot;
}

/* ---- when the GPU fails ---- */

/* The sums of the oldest pair from the CPU; a failure if its frames, or those that its motion needs, were in device
 * memory. */
static vmafgpu_result vmafgpu__take_over(vmafgpu *v, vmafgpu__sums *sums) {
    vmafgpu__gpu *g = v->gpu;
    vmafgpu__gpu_drain(v);
    const int64_t position = g->collected++;
    const vmafgpu__item *item = &g->items[position % g->ring];
    const int history = item->history < g->history ? item->history : g->history;
    int is_readable = item->distorted.memory != VMAFGPU_MEMORY_DEVICE;
    for (int k = 0; k <= history; k++)
        is_readable = is_readable && g->items[(position - k) % g->ring].reference.memory != VMAFGPU_MEMORY_DEVICE;
    if (!is_readable)
        return vmafgpu__fail(v, VMAFGPU_ERROR_DEVICE, "%.440s", v->note);
    vmafgpu_result result = v->cpu ? VMAFGPU_OK : vmafgpu__cpu_open(v);
    for (int k = g->fed == position ? 0 : history; result == VMAFGPU_OK && k >= 0; k--) {
        const vmafgpu__item *at = &g->items[(position - k) % g->ring];
        vmafgpu__job job;
        memset(&job, 0, sizeof job);
        job.reference = &at->reference;
        job.distorted = k == 0 && at->has_distorted ? &at->distorted : NULL;
        job.canonical[0] = at->canonical[0];
        job.canonical[1] = at->canonical[1];
        job.history = g->fed == position ? history : history - k;
        result = vmafgpu__cpu_submit(v, &job);
    }
    g->fed = position + 1;
    return result == VMAFGPU_OK ? vmafgpu__cpu_collect(v, VMAFGPU__WAIT, sums) : result;
}

/* ---- the backend ---- */

static const char *const vmafgpu__memory_names[] = { "host", "pinned", "device" };

/* Whether the frame is in memory that config.gpu.frames allows. */
static vmafgpu_result vmafgpu__check_memory(vmafgpu *v, const char *name, const vmafgpu_frame *frame,
                                            int with_chroma) {
    const vmafgpu_memory_kind promised = v->config.gpu.frames;
    if (!frame)
        return VMAFGPU_OK;
    if (frame->memory < promised)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT,
                             "%s, %s: the frame is in %s memory, but config.gpu.frames is %s", v->subject, name,
                             vmafgpu__memory_names[frame->memory], vmafgpu__memory_names[promised]);
    if (vmafgpu__is_staged(v, frame, with_chroma) && !v->gpu->staged_single)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT,
                             "%s, %s: a negative or huge pitch in pinned memory needs config.gpu.frames to be host",
                             v->subject, name);
    return VMAFGPU_OK;
}

/* Stages a frame if it must be; *use is the frame that the CPU would read later. */
static vmafgpu_result vmafgpu__stage_if_needed(vmafgpu *v, const char *name, const vmafgpu_frame *frame,
                                               unsigned char *plane, int with_chroma, vmafgpu_frame *use,
                                               int *is_staged) {
    *is_staged = vmafgpu__is_staged(v, frame, with_chroma);
    *use = *is_staged ? vmafgpu__plane_frame(v->gpu, plane, with_chroma) : *frame;
    return *is_staged ? vmafgpu__stage(v, name, frame, plane, with_chroma) : VMAFGPU_OK;
}

static vmafgpu_result vmafgpu__gpu_submit(vmafgpu *v, const vmafgpu__job *job) {
    vmafgpu__gpu *g = v->gpu;
    const int64_t position = g->submitted;
    const int64_t r = position % g->ring, d = position % g->flight;
    vmafgpu__item *item = &g->items[r], staged;
    memset(&staged, 0, sizeof staged);
    staged.history = job->history;
    staged.has_distorted = job->distorted != NULL;
    const int with_chroma = staged.has_distorted;
    vmafgpu_result result = vmafgpu__check_memory(v, "reference", job->reference, with_chroma);
    if (result == VMAFGPU_OK)
        result = vmafgpu__check_memory(v, "distorted", job->distorted, with_chroma);
    if (result != VMAFGPU_OK)
        return result;

    /* First what may fail; then the pair is taken. */
    vmafgpu__gpu_enter(v);
    vmafgpu__slot *slot = vmafgpu__open_slot(v);
    if (g->is_dead && g->collected < g->submitted) {   /* the CPU needs their planes first */
        vmafgpu__gpu_leave(v);
        return VMAFGPU_AGAIN;
    }
    unsigned char *planes[2];
    planes[0] = vmafgpu__host_plane(g, g->staged_references, r);
    planes[1] = vmafgpu__host_plane(g, g->staged_distorted, d);
    result = vmafgpu__stage_if_needed(v, "reference", job->reference, planes[0], with_chroma, &staged.reference,
                                      &staged.canonical[0]);
    if (result == VMAFGPU_OK && job->distorted)
        result = vmafgpu__stage_if_needed(v, "distorted", job->distorted, planes[1], with_chroma, &staged.distorted,
                                          &staged.canonical[1]);
    if (result != VMAFGPU_OK) {
        vmafgpu__gpu_leave(v);
        return result;
    }
    *item = staged;
    g->submitted++;
    if (!g->is_dead) {
        const int is_seen = v->plan.vif_variants && job->distorted;
        vmafgpu__target before[2], none, distorted;
        memset(&none, 0, sizeof none);
        distorted = none;
        const vmafgpu__target reference =
            vmafgpu__transfer(v, slot, job->reference, staged.canonical[0] ? planes[0] : NULL,
                              vmafgpu__device_plane(g, g->device_references, r), with_chroma, is_seen, 1);
        if (job->distorted)
            distorted = vmafgpu__transfer(v, slot, job->distorted, staged.canonical[1] ? planes[1] : NULL,
                                          vmafgpu__device_plane(g, g->device_distorted, d), with_chroma, is_seen, 2);
        for (int k = 0; k < 2; k++) {
            const int64_t earlier = position - 1 - k, i = earlier - slot->first;
            before[k] = none;
            if (job->history <= k || !v->plan.motion[k])
                continue;
            before[k].data = i >= 0 ? slot->batch.pair[i].reference
                                    : (const void *)(uintptr_t)vmafgpu__device_plane(g, g->device_references,
                                                                                     earlier % g->ring);
            before[k].pitch = i >= 0 ? slot->batch.pair[i].reference_pitch : (int32_t)g->plane_pitch;
        }
        vmafgpu__add_pair(slot, reference, distorted, before);
        if (slot->batch.pairs == g->batch)
            vmafgpu__launch_filling(v);
    }
    vmafgpu__gpu_leave(v);
    return VMAFGPU_OK;
}

/* What an outcome's flags mean. */
static vmafgpu_result vmafgpu__check_outcome(vmafgpu *v, const vmafgpu__outcome *outcome) {
    if (!outcome->illegal)
        return VMAFGPU_OK;
    return vmafgpu__fail(v, VMAFGPU_ERROR_FRAME, "a %s sample of the %s does not fit %d bits",
                         outcome->illegal & 3 ? "luma" : "chroma",
                         outcome->illegal & (outcome->illegal & 3 ? 1 : 4) ? "reference" : "distorted frame",
                         v->config.bit_depth);
}

static vmafgpu_result vmafgpu__gpu_collect(vmafgpu *v, vmafgpu__patience patience, vmafgpu__sums *sums) {
    vmafgpu__gpu *g = v->gpu;
    if (!g->is_dead && g->collected == g->retired &&
        (patience != VMAFGPU__GLANCE || (g->launched == g->submitted && g->launched > g->retired))) {
        vmafgpu__gpu_enter(v);
        if (patience == VMAFGPU__WAIT && g->retired == g->launched)
            vmafgpu__launch_filling(v);
        vmafgpu__retire(v, patience == VMAFGPU__WAIT);
        vmafgpu__gpu_leave(v);
    }
    if (g->collected < g->retired) {
        const vmafgpu__outcome *outcome = &g->outcomes[g->collected++ % g->ring];
        *sums = outcome->sums;
        return vmafgpu__check_outcome(v, outcome);
    }
    return g->is_dead ? vmafgpu__take_over(v, sums) : VMAFGPU_AGAIN;
}

/* A detached pair has the next slot for itself; what was gathering there goes on its way first. */
static vmafgpu_result vmafgpu__gpu_single(vmafgpu *v, const vmafgpu__job *job, vmafgpu__sums *sums) {
    static const char *const names[] = { "previous reference", "reference", "distorted" };
    vmafgpu__gpu *g = v->gpu;
    const vmafgpu_frame *frames[3];
    vmafgpu__outcome outcome;
    vmafgpu__target targets[3], before[2];
    vmafgpu_result result = VMAFGPU_OK;
    int is_readable = 1;
    frames[0] = job->previous;
    frames[1] = job->reference;
    frames[2] = job->distorted;
    memset(targets, 0, sizeof targets);
    for (int i = 0; i < 3 && result == VMAFGPU_OK; i++) {
        result = vmafgpu__check_memory(v, names[i], frames[i], i > 0);
        is_readable = is_readable && !(frames[i] && frames[i]->memory == VMAFGPU_MEMORY_DEVICE);
    }
    if (result != VMAFGPU_OK)
        return result;

    vmafgpu__gpu_enter(v);
    vmafgpu__launch_filling(v);
    vmafgpu__slot *slot = vmafgpu__open_slot(v);
    /* The planes that the next pair of the clip will have are free until then. */
    const int64_t r = g->submitted % g->ring, d = g->submitted % g->flight;
    const uint64_t to[3] = { g->device_single, vmafgpu__device_plane(g, g->device_references, r),
                             vmafgpu__device_plane(g, g->device_distorted, d) };
    unsigned char *planes[3];
    planes[0] = g->staged_single;
    planes[1] = vmafgpu__host_plane(g, g->staged_references, r);
    planes[2] = vmafgpu__host_plane(g, g->staged_distorted, d);
    for (int i = 0; i < 3 && !g->is_dead; i++) {
        vmafgpu_frame ignored;
        int is_staged;
        if (!frames[i])
            continue;
        result = vmafgpu__stage_if_needed(v, names[i], frames[i], planes[i], i > 0, &ignored, &is_staged);
        if (result != VMAFGPU_OK)
            break;
        targets[i] = vmafgpu__transfer(v, slot, frames[i], is_staged ? planes[i] : NULL, to[i], i > 0,
                                       i > 0 && v->plan.vif_variants, i < 2 ? 1 : 2);
    }
    if (result == VMAFGPU_OK && !g->is_dead) {
        memset(before, 0, sizeof before);
        if (v->plan.motion[0])
            before[0] = targets[0];
        vmafgpu__add_pair(slot, targets[1], targets[2], before);
        vmafgpu__launch_batch(v, slot, NULL);
        slot->is_running = 0;
        if (VMAFGPU__GPU_CALL(v, event_wait, (slot->done))) {
            vmafgpu__read_outcome(g, slot, 0, &outcome);
            *sums = outcome.sums;
            result = vmafgpu__check_outcome(v, &outcome);
        }
    } else if (!g->is_dead) {
        (void)VMAFGPU__GPU_CALL(v, stream_wait, (slot->streams[0]));   /* transfers that began use planes that are
                                                                          used again */
    }
    vmafgpu__gpu_leave(v);
    if (!g->is_dead)
        return result;
    vmafgpu__gpu_drain(v);
    if (!is_readable)
        return vmafgpu__fail(v, VMAFGPU_ERROR_DEVICE, "%s: %.400s", v->subject, v->note);
    result = v->cpu ? VMAFGPU_OK : vmafgpu__cpu_open(v);
    return result == VMAFGPU_OK ? vmafgpu__cpu_single(v, job, sums) : result;
}

static void vmafgpu__gpu_reset(vmafgpu *v) {
    vmafgpu__gpu *g = v->gpu;
    vmafgpu__gpu_enter(v);
    while (!g->is_dead && g->retired < g->launched)
        vmafgpu__retire(v, 1);
    if (g->launched < g->submitted)   /* transfers of a batch that is given up */
        (void)VMAFGPU__GPU_CALL(v, stream_wait, (g->slots[g->next_slot].streams[0]));
    vmafgpu__gpu_leave(v);
    vmafgpu__gpu_drain(v);
    g->submitted = g->launched = g->retired = g->collected = 0;
    g->fed = -1;
}

/* How many positions are done with. The reference of a pair in pinned memory is needed for as long as the next pair's
 * motion might have to be computed on the CPU. */
static int64_t vmafgpu__gpu_released(const vmafgpu__gpu *g) {
    const int64_t done = g->is_dead ? g->collected : g->retired;
    for (int k = g->history; k > 0; k--)
        if (done >= k && g->items[(done - k) % g->ring].reference.memory == VMAFGPU_MEMORY_PINNED)
            return done - k;
    return done;
}

/* Copies such references, so that all that is done with can be given back. */
static void vmafgpu__gpu_keep(vmafgpu *v) {
    vmafgpu__gpu *g = v->gpu;
    const int64_t done = g->is_dead ? g->collected : g->retired;
    for (int64_t position = done > g->history ? done - g->history : 0; position < done; position++) {
        vmafgpu__item *item = &g->items[position % g->ring];
        if (item->reference.memory != VMAFGPU_MEMORY_PINNED)
            continue;
        unsigned char *plane = g->kept + (size_t)(position % g->history) * g->plane_size;
        const ptrdiff_t pitch = vmafgpu__luma_pitch(&v->config, &item->reference);
        for (int y = 0; y < v->config.height; y++)
            memcpy(plane + (size_t)y * g->plane_pitch, (const unsigned char *)item->reference.data[0] + y * pitch,
                   (size_t)v->config.width * (size_t)g->sample_bytes);
        item->reference = vmafgpu__plane_frame(g, plane, 0);
        item->canonical[0] = 1;
    }
}

/* Makes the caller's stream wait for all before `position`. */
static vmafgpu_result vmafgpu__gpu_wait_on_stream(vmafgpu *v, void *stream, int64_t position) {
    vmafgpu__gpu *g = v->gpu;
    int error = 0;
    vmafgpu__gpu_enter(v);
    if (position > g->launched)
        vmafgpu__launch_filling(v);
    for (int i = 0; i < g->queue && error == 0 && !g->is_dead; i++)
        if (g->slots[i].is_running && g->slots[i].first < position)
            error = g->driver.stream_wait_event(stream, g->slots[i].done, 0);
    vmafgpu__gpu_leave(v);
    vmafgpu__gpu_drain(v);
    return error == 0 ? VMAFGPU_OK
                      : vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "vmafgpu_wait_on_stream: the driver refused the stream "
                                      "(%d)", error);
}

/* ---- kernels: an image in memory, a file, compiled in, or beside the program ---- */

static vmafgpu_result vmafgpu__image_from_memory(vmafgpu *v, vmafgpu__image *image, const void *data, size_t size,
                                                 const char *name) {
    image->data = (char *)vmafgpu__take(v, size + 1);
    if (!image->data)
        return vmafgpu__fail_memory(v, "the GPU's kernels", size);
    memcpy(image->data, data, size);
    image->size = size;
    vmafgpu__sentence(image->name, sizeof image->name, "%s", name);
    return VMAFGPU_OK;
}

/* VMAFGPU_ERROR_NOT_FOUND without a sentence when there is no such file. */
static vmafgpu_result vmafgpu__image_from_file(vmafgpu *v, vmafgpu__image *image, const char *path) {
    vmafgpu_result result = VMAFGPU_ERROR_NOT_FOUND;
    FILE *file = fopen(path, "rb");
    if (!file)
        return result;
    vmafgpu__sentence(image->name, sizeof image->name, "%.250s", path);
    const long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (size >= 0 && size <= VMAFGPU__LARGEST_IMAGE && fseek(file, 0, SEEK_SET) == 0) {
        image->data = (char *)vmafgpu__take(v, (size_t)size + 1);
        if (!image->data) {
            result = vmafgpu__fail_memory(v, "the GPU's kernels", (size_t)size);
        } else {
            image->size = fread(image->data, 1, (size_t)size, file);
            result = VMAFGPU_OK;
        }
    }
    fclose(file);
    return result;
}

/* The path of a file in the folder of the running program; 0 where the system does not say which that is. */
static int vmafgpu__path_beside(const char *file, char *path, size_t size) {
    char folder[960];
    vmafgpu__program_folder(folder, sizeof folder);
    vmafgpu__sentence(path, size, "%s%s", folder, file);
    return folder[0] != '\0';
}

/* The i-th image to try; VMAFGPU_END behind the last. */
static vmafgpu_result vmafgpu__find_image(vmafgpu *v, int i, vmafgpu__image *image, char *reason, size_t size) {
    const vmafgpu_gpu_config *c = &v->config.gpu;
    const vmafgpu__vendor *vendor = v->gpu->vendor;
    char path[1024];
    if (c->kernels)
        return i ? VMAFGPU_END
                 : vmafgpu__image_from_memory(v, image, c->kernels, c->kernels_size, "config.gpu.kernels");
    if (c->kernels_path)
        return i ? VMAFGPU_END : vmafgpu__image_from_file(v, image, c->kernels_path);
    if (vendor->is_built_in)
        return vendor->built_in(v, i, image, reason, size);
    if (!vendor->image_files[i])
        return VMAFGPU_END;
    return vmafgpu__path_beside(vendor->image_files[i], path, sizeof path) ? vmafgpu__image_from_file(v, image, path)
                                                                           : VMAFGPU_ERROR_NOT_FOUND;
}

/* Why there is no image, as far as that is known before one was tried. */
static void vmafgpu__explain_no_image(const vmafgpu *v, char *reason, size_t size) {
    const char *const *files = v->gpu->vendor->image_files;
    if (v->config.gpu.kernels_path)
        vmafgpu__sentence(reason, size, "config.gpu.kernels_path: %.400s cannot be read", v->config.gpu.kernels_path);
    else
        vmafgpu__sentence(reason, size, "no kernels were found: build %s with `make blobs` and put it beside the "
                          "program", files[1] ? files[1] : files[0]);
}

static int vmafgpu__is_readable(const char *path) {
    FILE *file = fopen(path, "rb");
    return file && fclose(file) == 0;
}

/* Whether there is any image to try: asked before the driver is started, which takes a moment. */
static int vmafgpu__has_image(const vmafgpu *v) {
    const vmafgpu_gpu_config *c = &v->config.gpu;
    const vmafgpu__vendor *vendor = v->gpu->vendor;
    char path[1024];
    if (c->kernels || c->kernels_path)
        return c->kernels || vmafgpu__is_readable(c->kernels_path);
    for (int i = 0; !vendor->is_built_in && vendor->image_files[i]; i++)
        if (vmafgpu__path_beside(vendor->image_files[i], path, sizeof path) && vmafgpu__is_readable(path))
            return 1;
    return vendor->is_built_in;
}

static int vmafgpu__load_kernels(vmafgpu *v, char *reason, size_t size) {
    vmafgpu__explain_no_image(v, reason, size);
    for (int i = 0;; i++) {
        vmafgpu__image image;
        memset(&image, 0, sizeof image);
        const vmafgpu_result result = vmafgpu__find_image(v, i, &image, reason, size);
        const int is_loaded = result == VMAFGPU_OK && v->gpu->vendor->load_image(v, &image, reason, size);
        if (is_loaded && v->gpu->vendor->is_kept)
            v->gpu->image = image.data;   /* the runtime may look into it until the module is unloaded */
        else
            vmafgpu__give(v, image.data);
        if (is_loaded || result == VMAFGPU_END)
            return is_loaded;
        if (result == VMAFGPU_ERROR_MEMORY) {
            vmafgpu__sentence(reason, size, "%.400s", v->error);
            return 0;
        }
    }
}

/* ---- open and close ---- */

/* Lays the device's and the pinned memory out for a queue of that length; their sizes. With a base the addresses are
 * set. */
static void vmafgpu__gpu_layout(vmafgpu *v, int queue) {
    vmafgpu__gpu *g = v->gpu;
    const size_t unit = 256;
    const int stages = v->config.gpu.frames == VMAFGPU_MEMORY_HOST ||
                       (v->config.gpu.frames == VMAFGPU_MEMORY_PINNED && !g->is_canonical);
    uint64_t device = g->memory;
    unsigned char *pinned = g->pinned;
    size_t device_used = 0, pinned_used = 0;
    vmafgpu__plan_kernels(v);
    g->queue = queue;
    g->flight = queue * g->batch;
    g->ring = g->flight + (g->history ? g->history : 1);
    g->results_size = ((sizeof(vmafgpu__sums) + sizeof(uint32_t)) * (size_t)g->batch + unit - 1) / unit * unit;

    const size_t planes[3] = { g->frame_size * (size_t)g->ring, g->frame_size * (size_t)g->flight, g->plane_size };
    uint64_t *device_planes[3];
    unsigned char **pinned_planes[3];
    device_planes[0] = &g->device_references;
    device_planes[1] = &g->device_distorted;
    device_planes[2] = &g->device_single;
    pinned_planes[0] = &g->staged_references;
    pinned_planes[1] = &g->staged_distorted;
    pinned_planes[2] = &g->staged_single;
    for (int i = 0; i < 3; i++) {
        *device_planes[i] = device + device_used;
        device_used += planes[i];
        *pinned_planes[i] = stages && pinned ? pinned + pinned_used : NULL;
        pinned_used += stages ? planes[i] : 0;
    }
    g->kernels.tables = device + device_used;
    device_used += (g->kernels.tables_size + unit - 1) / unit * unit;
    for (int i = 0; i < queue; i++) {
        g->slots[i].device_results = device + device_used;
        g->slots[i].batch.sums = (vmafgpu__sums *)(uintptr_t)g->slots[i].device_results;
        g->slots[i].batch.width = v->config.width;
        g->slots[i].batch.height = v->config.height;
        g->slots[i].batch.bit_depth = v->config.bit_depth;
        device_used += g->results_size;
        g->slots[i].scratch = device + device_used;
        device_used += (g->kernels.scratch_size + unit - 1) / unit * unit;
        g->slots[i].results = pinned ? pinned + pinned_used : NULL;
        pinned_used += g->results_size;
    }
    g->memory_size = device_used;
    g->pinned_size = pinned_used;
}

/* What the sizes of frames and the device decide, before memory is taken. */
static void vmafgpu__gpu_measure(vmafgpu *v) {
    /* A batch of two 4K pairs keeps a large GPU busy from its first to its last block; two batches in flight hide the
     * gaps between launches. */
    enum { PIXELS_OF_A_BATCH = 2 * 3840 * 2160, LONGEST_QUEUE = 4, SHORTEST_QUEUE = 2 };
    const vmafgpu_config *c = &v->config;
    const int larger = c->gpu.frames == VMAFGPU_MEMORY_DEVICE ? 2 : 1;   /* who has frames there has room there */
    const size_t memory = ((size_t)192 << 20) * (size_t)larger;
    vmafgpu__gpu *g = v->gpu;
    const int fill = larger * (PIXELS_OF_A_BATCH / (c->width * c->height));
    const int high_shift = c->layout == VMAFGPU_SEMIPLANAR_HIGH ? 16 - c->bit_depth : 0;
    g->batch = c->gpu.batch ? c->gpu.batch : fill < 1 ? 1 : fill < VMAFGPU__MAX_BATCH ? fill : VMAFGPU__MAX_BATCH;
    g->history = v->plan.motion[1] ? 2 : v->plan.motion[0] ? 1 : 0;
    g->sample_bytes = c->bit_depth == 8 ? 1 : 2;
    g->is_canonical = c->bytes_per_sample == g->sample_bytes && high_shift == 0 && c->width * g->sample_bytes % 4 == 0;
    g->is_checked = c->bytes_per_sample == 2 && c->bit_depth < 16;
    g->plane_pitch = ((size_t)c->width * (size_t)g->sample_bytes + 255) / 256 * 256;
    g->plane_size = g->plane_pitch * (size_t)c->height;
    g->chroma_planes = !v->plan.speed_variants ? 0 : c->layout == VMAFGPU_PLANAR ? 2 : 1;
    g->chroma_width = (size_t)vmafgpu__chroma_width(c) * (size_t)c->bytes_per_sample * (c->layout == VMAFGPU_PLANAR ? 1 : 2);
    g->chroma_pitch = (g->chroma_width + 255) / 256 * 256;
    g->chroma_size = g->chroma_pitch * (size_t)vmafgpu__chroma_height(c);
    g->frame_size = g->plane_size;
    if (c->gpu.frames != VMAFGPU_MEMORY_DEVICE)   /* chroma on the device is read where it is */
        g->frame_size += g->chroma_size * (size_t)g->chroma_planes;
    vmafgpu__gpu_layout(v, c->gpu.queue ? c->gpu.queue : LONGEST_QUEUE);
    while (!c->gpu.queue && g->queue > SHORTEST_QUEUE && g->memory_size > memory)
        vmafgpu__gpu_layout(v, g->queue - 1);
    while (!c->gpu.batch && g->batch > 1 && g->memory_size > memory) {
        g->batch--;
        vmafgpu__gpu_layout(v, g->queue);
    }
}

static int vmafgpu__take_device_memory(vmafgpu *v, char *reason, size_t size) {
    vmafgpu__gpu *g = v->gpu;
    size_t available = 0, total = 0;
    int error = g->driver.memory_take(&g->memory, g->memory_size);
    if (error != 0) {
        g->memory = 0;
        (void)g->driver.memory_info(&available, &total);
        vmafgpu__sentence(reason, size, "this context needs %.1f MB of device memory, and of %.1f MB %.1f are free "
                          "(config.gpu.batch is %d, config.gpu.queue %d)", (double)g->memory_size / 1e6,
                          (double)total / 1e6, (double)available / 1e6, g->batch, g->queue);
        return 0;
    }
    void *pinned = NULL;
    error = g->driver.pinned_take(&pinned, g->pinned_size, 0);
    if (error != 0) {
        vmafgpu__sentence(reason, size, "this context needs %.1f MB of pinned host memory, which the system refused",
                          (double)g->pinned_size / 1e6);
        return 0;
    }
    g->pinned = (unsigned char *)pinned;
    v->memory += g->pinned_size;
    vmafgpu__gpu_layout(v, g->queue);
    return 1;
}

/* Everything on the device; it is current. */
static int vmafgpu__gpu_prepare(vmafgpu *v, char *reason, size_t size) {
    vmafgpu__gpu *g = v->gpu;
    enum { NO_TIMING = 2, NON_BLOCKING = 1 };
    if (!g->vendor->describe(v, reason, size))
        return 0;
    if (v->config.gpu.arithmetic)
        g->uses_integers = v->config.gpu.arithmetic == 2;
    if (!vmafgpu__load_kernels(v, reason, size))
        return 0;
    vmafgpu__gpu_measure(v);
    if (!vmafgpu__take_device_memory(v, reason, size))
        return 0;
    for (int i = 0; i < g->queue; i++) {
        vmafgpu__slot *slot = &g->slots[i];
        if (!VMAFGPU__GPU_CALL(v, event_create, (&slot->arrived, NO_TIMING)) ||
            !VMAFGPU__GPU_CALL(v, event_create, (&slot->done, NO_TIMING)))
            return 0;
        for (int k = 0; k < VMAFGPU__STREAMS; k++)
            if (!VMAFGPU__GPU_CALL(v, stream_create, (&slot->streams[k], NON_BLOCKING)) ||
                (k > 0 && !VMAFGPU__GPU_CALL(v, event_create, (&slot->branch[k], NO_TIMING))))
                return 0;
    }
    if (v->config.gpu.stream && !VMAFGPU__GPU_CALL(v, event_create, (&g->caller_event, NO_TIMING)))
        return 0;
    return vmafgpu__prepare_kernels(v, reason, size);
}

/* Loads the driver and takes the device. */
static int vmafgpu__gpu_find(vmafgpu *v, char *reason, size_t size) {
    vmafgpu__gpu *g = v->gpu;
    const vmafgpu_gpu_config *c = &v->config.gpu;
    int count = 0;
    const int has_image = vmafgpu__has_image(v);
    /* A library that will stay is not loaded for nothing. Else a missing driver is the better reason. */
    if (has_image || !g->vendor->is_kept) {
        g->library = vmafgpu__driver_load(g->vendor, c->driver_path, &g->driver, reason, size);
        if (!g->library)
            return 0;
    }
    if (!has_image) {
        vmafgpu__explain_no_image(v, reason, size);
        return 0;
    }
    if (g->driver.pending_error)   /* starts the runtime */
        g->caller_error = g->driver.pending_error();
    int error = g->driver.init(0);
    if (error == 0)
        error = g->driver.device_count(&count);
    if (error != 0 || count == 0) {
        const char *name = g->vendor->error_name(g, error);
        vmafgpu__sentence(reason, size, "the driver found no device (%d%s%.60s)", error, name ? ", " : "",
                          name ? name : "");
        return 0;
    }
    if (!c->context && c->device >= count) {
        vmafgpu__sentence(reason, size, "config.gpu.device is %d, but there %s %d device%s", c->device,
                          count == 1 ? "is" : "are", count, count == 1 ? "" : "s");
        return 0;
    }
    g->has_device = g->vendor->open(v, reason, size);
    return g->has_device;
}

static void vmafgpu__gpu_close(vmafgpu *v) {
    vmafgpu__gpu *g = v->gpu;
    if (!g)
        return;
    if (g->library) {
        /* Also after a failure: what can be given back is. */
        const int is_inside =
            g->has_device && (g->vendor->enter(g) == 0 || g->vendor->enter(g) == 0);   /* a fault may pass */
        if (is_inside)
            vmafgpu__gpu_finish(g);
        for (int i = 0; is_inside && i < VMAFGPU__MAX_QUEUE; i++) {
            const vmafgpu__slot *slot = &g->slots[i];
            if (slot->arrived)
                (void)g->driver.event_destroy(slot->arrived);
            if (slot->done)
                (void)g->driver.event_destroy(slot->done);
            for (int k = 0; k < VMAFGPU__STREAMS; k++) {
                if (slot->branch[k])
                    (void)g->driver.event_destroy(slot->branch[k]);
                if (slot->streams[k])
                    (void)g->driver.stream_destroy(slot->streams[k]);
            }
        }
        if (is_inside && g->caller_event)
            (void)g->driver.event_destroy(g->caller_event);
        if (is_inside && g->memory)
            (void)g->driver.memory_give(g->memory);
        if (is_inside && g->pinned)
            (void)g->driver.pinned_give(g->pinned);
        if (is_inside && g->module)
            (void)g->driver.module_unload(g->module);
        if (is_inside)
            g->vendor->leave(g);
        g->vendor->close(g);
        vmafgpu__library_close(g->library);
    }
    if (g->pinned)
        v->memory -= g->pinned_size;
    vmafgpu__give(v, g->image);
    vmafgpu__give(v, g->kept);
    vmafgpu__give(v, g->outcomes);
    vmafgpu__give(v, g->items);
    vmafgpu__give(v, g);
    v->gpu = NULL;
    vmafgpu__cpu_close(v);
}

/* On failure the note says why, and nothing is left. */
static vmafgpu_result vmafgpu__gpu_open(vmafgpu *v, const vmafgpu__vendor *vendor) {
    char reason[VMAFGPU__ERROR_SIZE - 64] = "";
    vmafgpu__gpu *g = (vmafgpu__gpu *)vmafgpu__take(v, sizeof *g);
    if (!g)
        return vmafgpu__fail_memory(v, "the GPU backend", sizeof *g);
    v->gpu = g;
    v->note[0] = '\0';
    g->vendor = vendor;
    g->caller_error = -1;   /* not known, so not to be touched */
    g->fed = -1;
    int is_ready = vmafgpu__gpu_find(v, reason, sizeof reason);
    if (is_ready) {
        vmafgpu__gpu_enter(v);
        is_ready = g->is_inside;
        if (is_ready)
            is_ready = vmafgpu__gpu_prepare(v, reason, sizeof reason);
        vmafgpu__gpu_leave(v);
    }
    if (is_ready) {
        const size_t kept = v->config.gpu.frames == VMAFGPU_MEMORY_DEVICE ? 0 : g->plane_size * (size_t)g->history;
        g->items = (vmafgpu__item *)vmafgpu__take(v, sizeof *g->items * (size_t)g->ring);
        g->outcomes = (vmafgpu__outcome *)vmafgpu__take(v, sizeof *g->outcomes * (size_t)g->ring);
        g->kept = kept ? (unsigned char *)vmafgpu__take(v, kept) : NULL;
        if (g->items && g->outcomes && (g->kept || !kept)) {
            v->config.gpu.batch = g->batch;
            v->config.gpu.queue = g->queue;
            v->config.gpu.arithmetic = g->uses_integers ? 2 : 1;
            return VMAFGPU_OK;
        }
        vmafgpu__sentence(reason, sizeof reason, "no host memory for pairs on their way");
    }
    if (!g->is_dead)   /* else the note is written already */
        vmafgpu__sentence(v->note, sizeof v->note, "%s: %s", g->vendor->name, reason);
    vmafgpu__gpu_close(v);
    return VMAFGPU_ERROR_BACKEND;
}

/* ================================================================================================
 * >>vendors                                      what differs between NVIDIA and AMD
 * ================================================================================================ */
#ifdef VMAFGPU_PTX_HEADER
#  include VMAFGPU_PTX_HEADER
#endif
#ifdef VMAFGPU_HSACO_HEADER
#  include VMAFGPU_HSACO_HEADER
#endif

/* Gives an image to the driver and finds the kernels in it. `log`: what its compiler said; NULL for form: the kernels
 * that are there tell. */
static int vmafgpu__load_module(vmafgpu *v, const vmafgpu__image *image, const vmafgpu__vif_form *form,
                                int option_count, int *options, void **values, char *log, char *reason,
                                size_t size) {
    static const vmafgpu__vif_form forms[2] = { VMAFGPU__VIF_PLAIN, VMAFGPU__VIF_MATRIX };
    vmafgpu__gpu *g = v->gpu;
    const int error = g->driver.module_load(&g->module, image->data, (unsigned)option_count, options, values);
    if (error != 0) {
        const char *name = g->vendor->error_name(g, error);
        g->module = NULL;
        log[strcspn(log, "\r\n")] = '\0';
        vmafgpu__sentence(reason, size, "the driver does not take %.150s: %d (%.60s) %.150s", image->name, error,
                          name ? name : "", log);
        return 0;
    }
    if (!form) {
        const char *name = vmafgpu__vif_kernels[VMAFGPU__VIF_MATRIX][0][VMAFGPU__VIF_INPUTS - 1];
        void *ignored = NULL;
        form = &forms[g->driver.module_function(&ignored, g->module, name) == 0];
    }
    const char *missing = vmafgpu__find_kernels(v, *form);
    if (!missing)
        return 1;
    vmafgpu__sentence(reason, size, "%.200s has no kernel %s: it belongs to another version of vmafgpu.h", image->name,
                      missing);
    (void)g->driver.module_unload(g->module);
    g->module = NULL;
    return 0;
}

/* ---- NVIDIA: images are PTX, which the driver compiles ---- */

static int vmafgpu__cuda_open(vmafgpu *v, char *reason, size_t size) {
    vmafgpu__gpu *g = v->gpu;
    (void)reason;
    (void)size;
    g->context = v->config.gpu.context;
    if (!g->context)
        g->owns_context = VMAFGPU__GPU_CALL(v, device_get, (&g->device, v->config.gpu.device)) &&
                          VMAFGPU__GPU_CALL(v, context_retain, (&g->context, g->device));
    return g->context != NULL;
}

static void vmafgpu__cuda_close(vmafgpu__gpu *g) {
    if (g->owns_context)
        (void)g->driver.context_release(g->device);
}

static int vmafgpu__cuda_enter(vmafgpu__gpu *g) {
    return g->driver.context_push(g->context);
}

static void vmafgpu__cuda_leave(vmafgpu__gpu *g) {
    void *ours = NULL;
    (void)g->driver.context_pop(&ours);
}

static int vmafgpu__cuda_describe(vmafgpu *v, char *reason, size_t size) {
    enum { MULTIPROCESSORS = 16, LANES = 10, MAJOR = 75, MINOR = 76, DOUBLE_RATIO = 87, SHARED_LIMIT = 97 };
    vmafgpu__gpu *g = v->gpu;
    int major = 0, minor = 0, ratio = 0;
    const struct { int *value, attribute; } attributes[] = {
        { &g->lanes, LANES }, { &g->multiprocessors, MULTIPROCESSORS }, { &major, MAJOR }, { &minor, MINOR },
        { &ratio, DOUBLE_RATIO }, { &g->shared_limit, SHARED_LIMIT }
    };
    (void)reason;
    (void)size;
    if (!g->owns_context && !VMAFGPU__GPU_CALL(v, context_device, (&g->device)))
        return 0;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (!VMAFGPU__GPU_CALL(v, device_attribute, (attributes[i].value, attributes[i].attribute, g->device)))
            return 0;
    (void)g->driver.device_name(g->name, (int)sizeof g->name, g->device);
    g->capability = major * 10 + minor;
    g->uses_integers = ratio > 4;
    return 1;
}

static int vmafgpu__cuda_copy_rows(vmafgpu__gpu *g, uint64_t to, size_t to_pitch, const void *from, size_t from_pitch,
                                   size_t width, size_t height, void *stream) {
    enum { HOST = 1, DEVICE = 2 };
    vmafgpu__copy_rows rows;
    memset(&rows, 0, sizeof rows);
    rows.source_kind = HOST;
    rows.source_host = from;
    rows.source_pitch = from_pitch;
    rows.target_kind = DEVICE;
    rows.target_device = to;
    rows.target_pitch = to_pitch;
    rows.width = width;
    rows.height = height;
    return g->driver.copy_rows(&rows, stream);
}

static const char *vmafgpu__cuda_error_name(const vmafgpu__gpu *g, int error) {
    const char *name = NULL;
    return g->driver.error_name(error, &name) == 0 ? name : NULL;
}

static vmafgpu_result vmafgpu__cuda_built_in(vmafgpu *v, int i, vmafgpu__image *image, char *reason, size_t size) {
    (void)reason;
    (void)size;
#ifdef VMAFGPU_PTX_INCLUDED
    static const char name[] = "what is compiled in";
    if (i == 0)
        return v->gpu->capability < 80
                   ? VMAFGPU_ERROR_NOT_FOUND
                   : vmafgpu__image_from_memory(v, image, vmafgpu_ptx_sm80, sizeof vmafgpu_ptx_sm80, name);
    if (i == 1)
        return vmafgpu__image_from_memory(v, image, vmafgpu_ptx_sm75, sizeof vmafgpu_ptx_sm75, name);
#endif
    (void)v;
    (void)i;
    (void)image;
    return VMAFGPU_END;
}

/* An ELF file or a fat binary; anything else is text. */
static int vmafgpu__is_machine_code(const vmafgpu__image *image) {
    static const unsigned char elf[4] = { 0x7f, 'E', 'L', 'F' }, fat[4] = { 0x50, 0xed, 0x55, 0xba };
    return image->size >= 4 && (!memcmp(image->data, elf, 4) || !memcmp(image->data, fat, 4));
}

/* PTX ends with a line of `make blobs`, so that what is cut off or foreign is found before the driver sees it. */
static int vmafgpu__is_whole_text(const vmafgpu__image *image) {
    static const char mark[] = "// end of vmafgpu kernels";
    const size_t length = sizeof mark - 1;
    size_t end = image->size;
    while (end && strchr(" \t\r\n", image->data[end - 1]))   /* finds NUL, too */
        end--;
    return end >= length && !memcmp(image->data + end - length, mark, length);
}

/* The compute capability that PTX is for. */
static long vmafgpu__text_target(const vmafgpu__image *image) {
    static const char target[] = ".target sm_";
    const char *at = strstr(image->data, target);
    return at ? strtol(at + sizeof target - 1, NULL, 10) : 0;
}

/* Whether a kernel's name begins at `at`, in PTX behind its ".entry ". */
static int vmafgpu__is_wanted(const vmafgpu__wanted *list, int count, const char *at) {
    const size_t size = strcspn(at, "( \t\r\n");
    for (int i = 0; i < count; i++)
        if (vmafgpu__text_equal(at, at + size, list[i].name))
            return 1;
    return 0;
}

/* Leaves the kernels out of PTX that this context does not use: the driver compiles all that it is given, for
 * seconds. */
static void vmafgpu__trim_image(vmafgpu *v, vmafgpu__image *image, vmafgpu__vif_form form) {
    static const char start[] = ".visible .entry ";
    vmafgpu__wanted list[VMAFGPU__MAX_WANTED];
    const int count = vmafgpu__list_kernels(v, form, list);
    const char *from = image->data, *found;
    char *to = image->data;
    while ((found = strstr(from, start)) != NULL) {
        const char *end = found;
        for (int depth = 0; *end && !(*end == '}' && depth == 1); end++)
            depth += *end == '{' ? 1 : *end == '}' ? -1 : 0;
        end += *end != '\0';
        const char *kept = vmafgpu__is_wanted(list, count, found + sizeof start - 1) ? end : found;
        memmove(to, from, (size_t)(kept - from));
        to += kept - from;
        from = end;
    }
    memmove(to, from, strlen(from) + 1);
}

/* Machine code is left to the driver. */
static int vmafgpu__cuda_load_image(vmafgpu *v, vmafgpu__image *image, char *reason, size_t size) {
    enum { LOG_BUFFER = 5, LOG_SIZE = 6, MATRIX_CAPABILITY = 80 };
    char log[256] = "";
    int options[2] = { LOG_BUFFER, LOG_SIZE };
    void *values[2];
    values[0] = log;
    values[1] = (void *)(uintptr_t)(sizeof log - 1);
    if (vmafgpu__is_machine_code(image))
        return vmafgpu__load_module(v, image, NULL, 2, options, values, log, reason, size);
    if (!vmafgpu__is_whole_text(image)) {
        vmafgpu__sentence(reason, size, "%.200s is no image of vmafgpu's kernels, or is cut off", image->name);
        return 0;
    }
    const long target = vmafgpu__text_target(image);
    if (target > v->gpu->capability) {
        vmafgpu__sentence(reason, size, "%.200s is for compute capability %ld.%ld and up, the device has %d.%d",
                          image->name, target / 10, target % 10, v->gpu->capability / 10, v->gpu->capability % 10);
        return 0;
    }
    const vmafgpu__vif_form form = target >= MATRIX_CAPABILITY ? VMAFGPU__VIF_MATRIX : VMAFGPU__VIF_PLAIN;
    vmafgpu__trim_image(v, image, form);
    return vmafgpu__load_module(v, image, &form, 2, options, values, log, reason, size);
}

#define VMAFGPU__CUDA_SYMBOL(name, result, arguments, cuda, hip) cuda,
static const vmafgpu__vendor vmafgpu__cuda = {
    "cuda",
#ifdef _WIN32
    "nvcuda.dll", { "nvcuda.dll", NULL }, 0,
#else
    "libcuda.so.1", { "libcuda.so.1", "libcuda.so", NULL }, 0,
#endif
    { VMAFGPU__DRIVER_FUNCTIONS(VMAFGPU__CUDA_SYMBOL) },
    { "vmafgpu_kernels.sm80.ptx", "vmafgpu_kernels.ptx", NULL },
#ifdef VMAFGPU_PTX_INCLUDED
    1,
#else
    0,
#endif
    VMAFGPU__DRIVER_context_push,
    vmafgpu__cuda_open, vmafgpu__cuda_close, vmafgpu__cuda_enter, vmafgpu__cuda_leave, vmafgpu__cuda_describe,
    vmafgpu__cuda_copy_rows, vmafgpu__cuda_error_name, vmafgpu__cuda_built_in, vmafgpu__cuda_load_image
};
#undef VMAFGPU__CUDA_SYMBOL

static vmafgpu_result vmafgpu__cuda_backend_open(vmafgpu *v) {
    return vmafgpu__gpu_open(v, &vmafgpu__cuda);
}

static const vmafgpu__backend_table vmafgpu__cuda_backend = {
    "cuda", vmafgpu__cuda_backend_open, vmafgpu__gpu_submit, vmafgpu__gpu_collect, vmafgpu__gpu_single,
    vmafgpu__gpu_reset, vmafgpu__gpu_close
};

/* ---- AMD: images are code objects (ELF), one for each target; a bundle holds several ---- */

/* HIP has a current device and a last error for each thread, and no contexts. */
static int vmafgpu__hip_open(vmafgpu *v, char *reason, size_t size) {
    v->gpu->device = v->config.gpu.device;
    if (!v->config.gpu.context)
        return 1;
    vmafgpu__sentence(reason, size, "config.gpu.context is a CUDA context");
    return 0;
}

/* Errors of ours, such as that an event is not ready yet, must not look like errors of the caller's. */
static void vmafgpu__hip_forget_error(vmafgpu__gpu *g) {
    if (!g->caller_error && g->driver.clear_error)
        (void)g->driver.clear_error();
}

static int vmafgpu__hip_enter(vmafgpu__gpu *g) {
    g->caller_error = g->driver.pending_error ? g->driver.pending_error() : 0;
    if (g->driver.current_device(&g->caller_device) != 0)
        g->caller_device = -1;
    const int error = g->driver.use_device(g->device);
    if (error != 0)
        vmafgpu__hip_forget_error(g);
    return error;
}

static void vmafgpu__hip_leave(vmafgpu__gpu *g) {
    if (g->caller_device >= 0 && g->caller_device != g->device)
        (void)g->driver.use_device(g->caller_device);
    vmafgpu__hip_forget_error(g);
}

/* Whether doubles are at least half as fast as floats. */
static int vmafgpu__has_fast_doubles(const char *architecture) {
    static const char *const names[] = { "gfx906", "gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(architecture, names[i]))
            return 1;
    return 0;
}

/* The properties have changed their layout once, with version 6 of the library; what is read lies at these offsets. */
static int vmafgpu__hip_describe(vmafgpu *v, char *reason, size_t size) {
    static const struct { size_t shared, lanes, multiprocessors, architecture; } layouts[2] = {
        { 296, 308, 388, 1160 }, { 264, 276, 336, 396 }
    };
    vmafgpu__gpu *g = v->gpu;
    unsigned char properties[4096];
    size_t shared = 0, length = 0;
    const int is_old = !g->driver.properties;
    memset(properties, 0, sizeof properties);
    if (is_old && !g->driver.old_properties) {
        vmafgpu__sentence(reason, size, "the driver library has no hipGetDeviceProperties");
        return 0;
    }
    if (is_old ? !VMAFGPU__GPU_CALL(v, old_properties, (properties, g->device))
               : !VMAFGPU__GPU_CALL(v, properties, (properties, g->device)))
        return 0;
    const char *architecture = (const char *)properties + layouts[is_old].architecture;
    memcpy(&shared, properties + layouts[is_old].shared, sizeof shared);
    memcpy(&g->lanes, properties + layouts[is_old].lanes, sizeof g->lanes);
    memcpy(&g->multiprocessors, properties + layouts[is_old].multiprocessors, sizeof g->multiprocessors);
    g->shared_limit = shared < 65536 ? (int)shared : 65536;
    vmafgpu__sentence(g->name, sizeof g->name, "%.120s", (const char *)properties);
    while (length + 1 < sizeof g->architecture && architecture[length] && architecture[length] != ':')
        length++;   /* then come features, as in "gfx90a:sramecc+:xnack-" */
    memcpy(g->architecture, architecture, length);
    g->uses_integers = !vmafgpu__has_fast_doubles(g->architecture);
    /* Kernels for gfx9 have waves of 64 lanes, all others of 32. */
    if (!strncmp(g->architecture, "gfx", 3) && g->lanes == (g->architecture[3] == '9' ? 64 : 32))
        return 1;
    vmafgpu__sentence(reason, size, "the device is none that there are kernels for: '%s', waves of %d lanes",
                      g->architecture, g->lanes);
    return 0;
}

static int vmafgpu__hip_copy_rows(vmafgpu__gpu *g, uint64_t to, size_t to_pitch, const void *from, size_t from_pitch,
                                  size_t width, size_t height, void *stream) {
    enum { HOST_TO_DEVICE = 1 };
    return g->driver.copy_2d((void *)(uintptr_t)to, to_pitch, from, from_pitch, width, height, HOST_TO_DEVICE, stream);
}

static const char *vmafgpu__hip_error_name(const vmafgpu__gpu *g, int error) {
    return g->driver.error_text ? g->driver.error_text(error) : NULL;
}

/* The targets that there are, while they are looked through. */
typedef struct vmafgpu__targets { char list[192]; } vmafgpu__targets;

/* 1 if it is the device's. `target` may have features behind a colon, which the driver looks at. */
static int vmafgpu__is_target(const vmafgpu__gpu *g, const char *target, size_t length, vmafgpu__targets *seen) {
    const char *colon = (const char *)memchr(target, ':', length);
    const size_t bare = colon ? (size_t)(colon - target) : length, used = strlen(seen->list);
    const int is_name = length <= 64 && strspn(target, "abcdefghijklmnopqrstuvwxyz0123456789:+-") >= length;
    vmafgpu__sentence(seen->list + used, sizeof seen->list - used, "%s%.*s", used ? ", " : "",
                      is_name ? (int)length : 1, is_name ? target : "?");
    return bare == strlen(g->architecture) && !memcmp(target, g->architecture, bare);
}

static void vmafgpu__explain_no_target(const vmafgpu__gpu *g, const char *name, const vmafgpu__targets *seen,
                                       char *reason, size_t size) {
    vmafgpu__sentence(reason, size, "%.150s has no kernels for this device, a %s, only for %s", name, g->architecture,
                      seen->list[0] ? seen->list : "none at all");
}

static vmafgpu_result vmafgpu__hip_built_in(vmafgpu *v, int i, vmafgpu__image *image, char *reason, size_t size) {
#ifdef VMAFGPU_HSACO_INCLUDED
    static const char name[] = "what is compiled in";
    vmafgpu__targets seen = { "" };
    if (i > 0)
        return VMAFGPU_END;
    for (const struct vmafgpu_hsaco_entry *entry = vmafgpu_hsaco; entry->target; entry++)
        if (vmafgpu__is_target(v->gpu, entry->target, strlen(entry->target), &seen))
            return vmafgpu__image_from_memory(v, image, entry->data, entry->size, name);
    vmafgpu__explain_no_target(v->gpu, name, &seen, reason, size);
    return VMAFGPU_ERROR_NOT_FOUND;
#else
    (void)v;
    (void)i;
    (void)image;
    (void)reason;
    (void)size;
    return VMAFGPU_END;
#endif
}

static uint64_t vmafgpu__read_u64(const vmafgpu__image *image, size_t at) {
    uint64_t v;
    memcpy(&v, image->data + at, sizeof v);
    return v;
}

/* Whether a code object is whole: drivers do not look where it ends. */
static int vmafgpu__is_code_object(const vmafgpu__image *image) {
    static const unsigned char start[6] = { 0x7f, 'E', 'L', 'F', 2, 1 };   /* 64 bits, little-endian */
    enum { HEADER = 64, AMD_GPU = 224 };
    uint16_t machine, entry_size, entries;
    if (image->size < HEADER || memcmp(image->data, start, sizeof start))
        return 0;
    memcpy(&machine, image->data + 18, sizeof machine);
    memcpy(&entry_size, image->data + 58, sizeof entry_size);
    memcpy(&entries, image->data + 60, sizeof entries);
    const uint64_t sections = vmafgpu__read_u64(image, 40);   /* at the end of what linkers write */
    return machine == AMD_GPU && sections <= image->size && (uint64_t)entry_size * entries <= image->size - sections;
}

/* A bundle, as clang writes them: a mark, the number of entries, then offset, size and the name of each, such as
 * "hipv4-amdgcn-amd-amdhsa--gfx1100". 1 if it is one that is whole. */
static int vmafgpu__is_bundle(const vmafgpu__image *image) {
    static const char mark[] = "__CLANG_OFFLOAD_BUNDLE__";
    const size_t length = sizeof mark - 1;
    size_t at = length + 8;
    if (image->size < at || memcmp(image->data, mark, length))
        return 0;
    for (uint64_t left = vmafgpu__read_u64(image, length); left; left--) {
        if (image->size - at < 24)
            return 0;
        const uint64_t offset = vmafgpu__read_u64(image, at), size = vmafgpu__read_u64(image, at + 8);
        const uint64_t name = vmafgpu__read_u64(image, at + 16);
        at += 24;
        if (name > image->size - at || offset > image->size || size > image->size - offset)
            return 0;
        at += (size_t)name;
    }
    return 1;
}

/* Takes out of a bundle what is for the device, in the bundle's place; 0 with a reason if there is nothing. */
static int vmafgpu__open_bundle(vmafgpu *v, vmafgpu__image *image, char *reason, size_t size) {
    static const char kind[] = "amdgcn-amd-amdhsa-";
    const size_t mark = 24;
    vmafgpu__targets seen = { "" };
    size_t at = mark + 8;
    for (uint64_t left = vmafgpu__read_u64(image, mark); left; left--) {
        const size_t offset = (size_t)vmafgpu__read_u64(image, at), bytes = (size_t)vmafgpu__read_u64(image, at + 8);
        const size_t length = (size_t)vmafgpu__read_u64(image, at + 16), skipped = sizeof kind - 1;
        const char *name = image->data + at + 24, *end = name + length;
        at += 24 + length;
        while (name < end && !((size_t)(end - name) > skipped && !memcmp(name, kind, skipped)))
            name++;
        if (name == end)   /* the entry of the host */
            continue;
        name += skipped;
        name += *name == '-';
        if (!vmafgpu__is_target(v->gpu, name, (size_t)(end - name), &seen))
            continue;
        vmafgpu__image taken;
        if (vmafgpu__image_from_memory(v, &taken, image->data + offset, bytes, image->name) != VMAFGPU_OK) {
            vmafgpu__sentence(reason, size, "%.400s", v->error);
            return 0;
        }
        vmafgpu__give(v, image->data);
        *image = taken;
        return 1;
    }
    vmafgpu__explain_no_target(v->gpu, image->name, &seen, reason, size);
    return 0;
}

static int vmafgpu__hip_load_image(vmafgpu *v, vmafgpu__image *image, char *reason, size_t size) {
    const vmafgpu__vif_form form = VMAFGPU__VIF_PLAIN;
    char no_log[1] = "";
    if (vmafgpu__is_bundle(image) && !vmafgpu__open_bundle(v, image, reason, size))
        return 0;
    if (vmafgpu__is_code_object(image))
        return vmafgpu__load_module(v, image, &form, 0, NULL, NULL, no_log, reason, size);
    vmafgpu__sentence(reason, size, "%.200s is neither a code object of vmafgpu's kernels nor a bundle of some, or is "
                      "cut off", image->name);
    return 0;
}

#define VMAFGPU__HIP_SYMBOL(name, result, arguments, cuda, hip) hip,
static const vmafgpu__vendor vmafgpu__hip = {
    "hip",
#ifdef _WIN32
    "amdhip64.dll", { "amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll", NULL },
#else
    "libamdhip64.so",
    { "libamdhip64.so.8", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so",
      "/opt/rocm/lib/libamdhip64.so.8", "/opt/rocm/lib/libamdhip64.so.7", "/opt/rocm/lib/libamdhip64.so.6",
      "/opt/rocm/lib/libamdhip64.so.5", "/opt/rocm/lib/libamdhip64.so", NULL },
#endif
    1,   /* some versions crash when they are unloaded */
    { VMAFGPU__DRIVER_FUNCTIONS(VMAFGPU__HIP_SYMBOL) },
    { "vmafgpu_kernels.hsaco", NULL },
#ifdef VMAFGPU_HSACO_INCLUDED
    1,
#else
    0,
#endif
    VMAFGPU__DRIVER_use_device,
    vmafgpu__hip_open, vmafgpu__hip_forget_error, vmafgpu__hip_enter, vmafgpu__hip_leave, vmafgpu__hip_describe,
    vmafgpu__hip_copy_rows, vmafgpu__hip_error_name, vmafgpu__hip_built_in, vmafgpu__hip_load_image
};
#undef VMAFGPU__HIP_SYMBOL

static vmafgpu_result vmafgpu__hip_backend_open(vmafgpu *v) {
    return vmafgpu__gpu_open(v, &vmafgpu__hip);
}

static const vmafgpu__backend_table vmafgpu__hip_backend = {
    "hip", vmafgpu__hip_backend_open, vmafgpu__gpu_submit, vmafgpu__gpu_collect, vmafgpu__gpu_single,
    vmafgpu__gpu_reset, vmafgpu__gpu_close
};

#endif /* !VMAFGPU_NO_GPU */

/* ================================================================================================
 * >>finish                                       sums to feature values, the same for every backend
 * ================================================================================================
 * All floating-point arithmetic of the features is here and follows the reference operation by operation; the order and
 * the rounding of intermediate results to float are part of the result.
 */

/* Whether float arithmetic in this build rounds every operation by itself, to nearest. Catches what no macro tells:
 * -fassociative-math, a rounding mode set by the caller, -ffp-contract=fast with clang where it is no x86. */
static int vmafgpu__float_is_exact(void) {
    volatile double third = 1.0 / 3.0, three = 3.0, one = 1.0, tiny = 1.0 / 18014398509481984.0;
    const double a = third, b = three, c = one, d = tiny;
    const int fused = a * b - c != 0;                       /* 3 * fl(1/3) rounds to 1; unrounded it is below */
    const int reassociated = (c + d) - c != 0;              /* 2^-54 is lost against 1 */
    volatile double up = one + tiny, down = -one - tiny;    /* directed rounding moves one of them */
    return !fused && !reassociated && !(up > one) && !(down < -one) && !(up < one) && !(down > -one);
}

static vmafgpu_result vmafgpu__check_float(vmafgpu *v) {
    if (vmafgpu__float_is_exact())
        return VMAFGPU_OK;
    return vmafgpu__fail(
        v, VMAFGPU_ERROR_FLOAT,
        "this build fuses or reorders floating-point operations, or this thread does not "
        "round to nearest: compile vmafgpu.h without -funsafe-math-optimizations and -ffp-contract=fast, and "
        "call fesetround(FE_TONEAREST)");
}

/* Contrast sensitivity after Watson et al. 1997 (adm_csf_mode 0). */
static float vmafgpu__csf_watson(int scale, int diagonal, double view_dist, int display_height) {
    static const float amplitude[2][VMAFGPU__SCALES] = {
        { 0.67234f, 0.41317f, 0.22727f, 0.11792f }, { 0.72709f, 0.49428f, 0.28688f, 0.15214f }
    };
    static const float a = 0.495f, k = 0.466f, f0 = 0.401f;
    static const float g[2] = { 1.0f, 0.534f };
    const double pi = 3.14159265358979323846;
    const float r = (float)(view_dist * display_height * pi / 180.0);
    const float u = (float)log10(pow(2.0, scale + 1) * (double)f0 * (double)g[diagonal] / (double)r);
    const float exponent = k * u * u;
    const float q = (float)(2.0 * (double)a * pow(10.0, (double)exponent) / (double)amplitude[diagonal][scale]);
    return 1.0f / q;
}

/* Contrast sensitivity after Barten, as in HDR-VDP-2, at 100 cd/m2 (adm_csf_mode 1). */
static float vmafgpu__csf_barten(int scale, double view_dist, int display_height, double weight) {
    static const float parameters[2][4] = {   /* measured at 20 and at 150 cd/m2 */
        { 0.334278f, 3.79542f, 1.07327f, 6.4635f }, { 0.394533f, 2.7755f, 1.16577f, 7.45665f }
    };
    static const float alpha[4] = {
        0.424838596301290f, 0.572435103936480f, 0.000167576239164937f, 0.00255872352306433f
    };
    static const float beta[4] = { 0.028f, 0.37f, 37.0f, 360.0f };
    const double pi = 3.14159265358979323846;
    const float r = (float)(view_dist * display_height * pi / 180.0);
    const float frequency = (float)((double)r / pow(2.0, scale + 1));
    const float x0 = (float)log10(20.0), x1 = (float)log10(150.0), x = (float)log10(100.0);
    float p[4], mtf = 0;
    for (int i = 0; i < 4; i++)
        p[i] = parameters[0][i] + (parameters[1][i] - parameters[0][i]) / (x1 - x0) * (x - x0);
    const float a = (float)(1.0 + pow((double)(p[0] * frequency), (double)p[1]));
    const float b = (float)(1.0 / pow(1 - exp(-pow((double)(frequency / 7), 2.0)), (double)p[2]));
    const float neural = (float)((double)p[3] / pow((double)(a * b), 0.5));
    for (int i = 0; i < 4; i++)
        mtf = (float)((double)mtf + (double)alpha[i] * exp((double)(-beta[i] * frequency)));
    const float rod_cone =
        (float)((double)30.162f * pow(pow((double)(4.0627f / 100.0f), (double)1.6596f) + 1, -(double)0.2712f));
    return (float)((double)(neural * mtf * rod_cone) * weight);
}

/* Contrast sensitivities that were fitted for given viewing conditions (adm_csf_mode 2 and 3). */
typedef struct vmafgpu__csf_row {
    int display_height;
    double view_dist;
    float value[2][2][VMAFGPU__SCALES];   /* mode 2, mode 3; h and v, d; scale */
} vmafgpu__csf_row;

static const vmafgpu__csf_row vmafgpu__csf_rows[] = {
    { 1080, 3, { { { .01183f, .025026f, .04295f, .058621f }, { .004302f, .011778f, .023918f, .035901f } },
                 { { .011249f, .022606f, .035930f, .045673f }, { .004097f, .010921f, .021430f, .031313f } } } },
    { 2160, 1.5, { { { .01183f, .025026f, .04295f, .058621f }, { .004302f, .011778f, .023918f, .035901f } },
                   { { .011249f, .022606f, .035930f, .045673f }, { .004097f, .010921f, .021430f, .031313f } } } },
    { 1080, 5, { { { .004212f, .014809f, .029642f, .047464f }, { .000984f, .005852f, .0146f, .027574f } },
                 { { .004052f, .013939f, .026298f, .038833f }, { .000927f, .005544f, .013415f, .024515f } } } },
    { 2160, 3, { { { .00226f, .01183f, .025026f, .04295f }, { .000479f, .004302f, .011778f, .023918f } },
                 { { .002166f, .011249f, .022606f, .035930f }, { .000447f, .004097f, .010921f, .021430f } } } },
    { 2160, 5, { { { .000092f, .004212f, .014809f, .029642f }, { .00005f, .000984f, .005852f, .0146f } },
                 { { .000077f, .004052f, .013939f, .026298f }, { .000045f, .000927f, .005544f, .013415f } } } },
    { 720, 5, { { { .010144f, .022561f, .040309f, .05672f }, { .003463f, .010282f, .021839f, .034641f } },
                { { .009689f, .020577f, .034162f, .044523f }, { .003302f, .009579f, .019661f, .030318f } } } }
};

/* Fills the sensitivities of an ADM extractor and their fixed-point forms. */
static vmafgpu_result vmafgpu__adm_sensitivity(vmafgpu *v, vmafgpu__extractor *e, vmafgpu__adm_variant *variant) {
    const double view_dist = e->option[VMAFGPU__ADM_VIEW_DIST];
    const int display_height = (int)e->option[VMAFGPU__ADM_DISPLAY_HEIGHT],
              mode = (int)e->option[VMAFGPU__ADM_CSF_MODE];
    const vmafgpu__csf_row *row = NULL;
    if (view_dist * display_height < 3240)
        return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE,
                             "adm_norm_view_dist * adm_ref_display_height must be 3240 or more, not %.6g",
                             view_dist * display_height);
    for (size_t i = 0; i < sizeof vmafgpu__csf_rows / sizeof *vmafgpu__csf_rows; i++)
        if (vmafgpu__csf_rows[i].display_height == display_height && vmafgpu__csf_rows[i].view_dist == view_dist)
            row = &vmafgpu__csf_rows[i];
    if (mode >= 2 && !row)
        return vmafgpu__fail(
            v, VMAFGPU_ERROR_FEATURE,
            "adm_csf_mode %d has no figures for adm_norm_view_dist %.6g with "
            "adm_ref_display_height %d; there are (3, 1080), (5, 1080), (1.5, 2160), (3, 2160), (5, 2160) and (5, 720)",
            mode, view_dist, display_height);
    const int standard_view = mode == 0 && fabs(view_dist * display_height - 3240) < 1e-8;
    for (int s = 0; s < VMAFGPU__SCALES; s++)
        for (int d = 0; d < 2; d++) {
            const double weight = e->option[d ? VMAFGPU__ADM_CSF_DIAG_SCALE : VMAFGPU__ADM_CSF_SCALE];
            const float f = mode == 0   ? vmafgpu__csf_watson(s, d, view_dist, display_height)
                            : mode == 1 ? vmafgpu__csf_barten(s, view_dist, display_height, weight)
                                        : row->value[mode - 2][d][s];
            const double fixed = (double)f * (s ? 4294967296.0 : d ? 8388608.0 : 2097152.0);
            const double limit = s ? 4294967295.0 : 65535.0;
            e->csf[s][d] = f;
            if (!(fixed <= limit))
                return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE,
                                     "the contrast sensitivity %.6g of adm_csf_mode %d at scale %d is beyond "
                                     "the fixed-point range; lower adm_csf_scale and adm_csf_diag_scale",
                                     (double)f, mode, s);
            variant->factor[s][d] = (uint32_t)fixed;
        }
    if (standard_view) {
        /* Not quite the formula's 36451 and 49414: the reference has these constants for the usual viewing distance. */
        variant->factor[0][0] = 36453;
        variant->factor[0][1] = 49417;
    }
    return VMAFGPU_OK;
}

/* Cube root as the reference takes it. */
static float vmafgpu__root3(float x) {
    return powf(x, 1.0f / 3.0f);
}

/* Numerator or impairment of one scale from the masked cubes. */
static float vmafgpu__adm_pool_masked(const vmafgpu__adm_geometry *g, int scale, const int64_t *sums,
                                      double noise_weight) {
    static const int exponent[VMAFGPU__SCALES] = { 0, 45, 39, 36 };
    const double area = (double)((g->w - 2 * g->left) * (g->h - 2 * g->top));
    const float noise = vmafgpu__root3((float)(area * noise_weight));
    float term[VMAFGPU__BANDS];
    for (int b = 0; b < VMAFGPU__BANDS; b++) {
        const int shift = g->mask_shift[b] + g->mask_row_shift;
        const float mean = scale ? (float)sums[b] / (float)ldexp(1.0, exponent[scale] - shift)
                                 : (float)((double)sums[b] / ldexp(1.0, (b < 2 ? 52 : 57) - shift));
        term[b] = vmafgpu__root3(mean) + noise;
    }
    return term[0] + term[1] + term[2];
}

static float vmafgpu__adm_pool_denominator(const vmafgpu__adm_geometry *g, int scale, const int64_t *sums,
                                           const float *csf, double noise_weight) {
    static const int exponent[VMAFGPU__SCALES] = { 18, 32, 27, 23 };
    const double area = (double)((g->w - 2 * g->left) * (g->h - 2 * g->top));
    const float noise = vmafgpu__root3((float)(area * noise_weight));
    float term[VMAFGPU__BANDS];
    for (int b = 0; b < VMAFGPU__BANDS; b++) {
        const double mean = (double)sums[b] / ldexp(1.0, exponent[scale] - g->den_shift - g->den_row_shift);
        term[b] = vmafgpu__root3((float)(mean * pow((double)csf[b == 2], 3.0))) + noise;
    }
    return term[0] + term[1] + term[2];
}

static void vmafgpu__finish_adm(const vmafgpu *v, const vmafgpu__extractor *e, const vmafgpu__sums *sums, double *out) {
    const double noise_weight = e->option[VMAFGPU__ADM_NOISE_WEIGHT], weight = e->option[VMAFGPU__ADM_DLM_WEIGHT];
    const double min_val = e->option[VMAFGPU__ADM_MIN_VAL];
    double num = 0, den = 0, impairment = 0, scale_num[VMAFGPU__SCALES], scale_den[VMAFGPU__SCALES];
    for (int s = 0; s < VMAFGPU__SCALES; s++) {
        const vmafgpu__adm_geometry g = vmafgpu__adm_geometry_of(v->config.width, v->config.height, s);
        float n = 0, i = 0, d = (float)1e-10;
        if (s > 0 || e->option[VMAFGPU__ADM_SKIP_SCALE0] == 0) {
            n = vmafgpu__adm_pool_masked(&g, s, sums->adm[s].numerator[e->variant], noise_weight);
            d = vmafgpu__adm_pool_denominator(&g, s, sums->adm[s].denominator, e->csf[s], noise_weight);
            if (e->option[VMAFGPU__ADM_SKIP_AIM] == 0)
                i = vmafgpu__adm_pool_masked(&g, s, sums->adm[s].impairment[e->variant], 0);
        }
        scale_num[s] = (double)n;
        scale_den[s] = (double)d;
        num += (double)n;
        den += (double)d;
        impairment += (double)i;
    }
    const double limit = 1e-10 * ((double)v->config.width * v->config.height) / (1920.0 * 1080.0);
    num = num < limit ? 0 : num;
    den = den < limit ? 0 : den;
    /* Without any reference detail (only possible with adm_noise_weight=0) the reference leaves aim undefined; ours is 0. */
    const double adm2 = den > 0 ? num / den : 1.0, aim = den > 0 ? impairment / den : 0.0;
    const double adm3 = adm2 * weight + (1 - aim) * (1 - weight);
    *out++ = adm2;
    *out++ = aim;
    *out++ = adm3 > min_val ? adm3 : min_val;
    for (int s = 0; s < VMAFGPU__SCALES; s++)
        *out++ = scale_num[s] / scale_den[s];
    if (e->option[VMAFGPU__ADM_DEBUG] == 0)
        return;
    *out++ = adm2;
    *out++ = num;
    *out++ = den;
    for (int s = 0; s < VMAFGPU__SCALES; s++) {
        *out++ = scale_num[s];
        *out++ = scale_den[s];
    }
}

static void vmafgpu__finish_vif(const vmafgpu__extractor *e, const vmafgpu__sums *sums, double *out) {
    double scale_num[VMAFGPU__SCALES], scale_den[VMAFGPU__SCALES], num = 0, den = 0;
    for (int s = 0; s < VMAFGPU__SCALES; s++) {
        const vmafgpu__vif_sums *x = &sums->vif[s];
        if (s == 0 && e->option[VMAFGPU__VIF_SKIP_SCALE0] != 0) {
            scale_num[0] = 0;
            scale_den[0] = -1;
            *out++ = 0;
            continue;
        }
        const float n = (float)((double)x->numerator[e->variant] / 2048.0 +
                                ((double)x->flat_count - (double)x->flat_noise / 16384.0 / 65025.0));
        const float d = (float)((double)x->denominator / 2048.0 + (double)x->flat_count);
        *out++ = (double)(n / d);
        scale_num[s] = (double)n;
        scale_den[s] = (double)d;
        num += (double)n;
        den += (double)d;
    }
    if (e->option[VMAFGPU__VIF_DEBUG] == 0)
        return;
    *out++ = den > 0 ? num / den : 1.0;
    *out++ = num;
    *out++ = den;
    for (int s = 0; s < VMAFGPU__SCALES; s++) {
        *out++ = scale_num[s];
        *out++ = scale_den[s];
    }
}

/* CAMBI of one picture: the scales' averages, the finest counting most. */
static double vmafgpu__cambi_total(const vmafgpu__cambi_variant *variant, int which, const vmafgpu__cambi_sums *sums) {
    const vmafgpu__cambi_picture *p = &variant->picture[which];
    double score = 0;
    for (int s = 0; s < VMAFGPU__CAMBI_SCALES; s++) {
        const double sum = (double)sums->top[which][s] / 16777216.0;
        score += sum / (double)vmafgpu__cambi_top_count(variant, p, s) * (double)(16 >> s);
    }
    return score / (double)(p->window * p->window);
}

static void vmafgpu__finish_cambi(const vmafgpu *v, const vmafgpu__extractor *e, const vmafgpu__sums *sums,
                                  double *out) {
    const vmafgpu__cambi_variant *variant = &v->plan.cambi[e->variant];
    const double limit = e->option[VMAFGPU__CAMBI_MAX_VAL];
    const double distorted = vmafgpu__cambi_total(variant, 0, &sums->cambi[e->variant]);
    *out++ = distorted < limit ? distorted : limit;
    if (e->option[VMAFGPU__CAMBI_FULL_REF] == 0)
        return;
    const double reference = vmafgpu__cambi_total(variant, 1, &sums->cambi[e->variant]);
    const double added = distorted - reference > 0 ? distorted - reference : 0;
    *out++ = reference < limit ? reference : limit;
    *out++ = added < limit ? added : limit;
}

static void vmafgpu__finish_speed(const vmafgpu__extractor *e, const vmafgpu__sums *sums, double *out) {
    const vmafgpu__speed_sums *s = &sums->speed[e->variant];
    const double limit = e->option[VMAFGPU__SPEED_MAX_VAL];
    const float u = s->score[0], v = s->score[1];
    const float both = s->singular[0] && !s->singular[1]   ? v
                       : s->singular[1] && !s->singular[0] ? u
                                                           : (float)((double)(u + v) / 2.0);
    *out++ = (double)u < limit ? (double)u : limit;   /* a NaN gives the limit, too */
    *out++ = (double)v < limit ? (double)v : limit;
    *out++ = (double)both < limit ? (double)both : limit;
}

/* ---- motion: from SAD to score, and over time ---- */

static int vmafgpu__motion_window(const vmafgpu__extractor *e) {
    return e->option[VMAFGPU__MOTION_FIVE_FRAME] != 0 ? 2 : 1;
}

static double vmafgpu__min(double a, double b) {
    return a < b ? a : b;
}

static double vmafgpu__motion_sad(const vmafgpu *v, const vmafgpu__extractor *e, const vmafgpu__sums *sums,
                                  int64_t position) {
    const int window = vmafgpu__motion_window(e);
    if (position < window || e->option[VMAFGPU__MOTION_FORCE_ZERO] != 0)
        return 0;
    const double area = (double)((uint32_t)v->config.width * (uint32_t)v->config.height);
    return vmafgpu__min((double)sums->motion[window - 1] / 256. / area * e->option[VMAFGPU__MOTION_FPS_WEIGHT],
                        e->option[VMAFGPU__MOTION_MAX_VAL]);
}

/* motion2 to motion3, without the average. */
static double vmafgpu__motion_blend(const vmafgpu__extractor *e, double x) {
    const double factor = e->option[VMAFGPU__MOTION_BLEND_FACTOR], offset = e->option[VMAFGPU__MOTION_BLEND_OFFSET];
    return vmafgpu__min(x * factor + (1 - factor) * vmafgpu__min(offset, x), e->option[VMAFGPU__MOTION_MAX_VAL]);
}

/* Whether the next position can be given: it needs its successor, the first ones need the first that has a SAD. */
static int vmafgpu__motion_is_ready(const vmafgpu__extractor *e, int ended) {
    const vmafgpu__motion *m = &e->motion;
    const int window = vmafgpu__motion_window(e);
    const int64_t needed = m->emitted < window ? window : m->emitted + 1;
    return m->emitted < m->count && (ended || needed < m->count);
}

static void vmafgpu__motion_take(vmafgpu__motion *m, double sad) {
    m->sad[m->count++ & 7] = sad;
}

/* Gives motion2 and motion3 of the next position. */
static void vmafgpu__motion_emit(const vmafgpu__extractor *e, vmafgpu__motion *m, double *motion2, double *motion3) {
    const int window = vmafgpu__motion_window(e);
    const int64_t i = m->emitted++;
    if (i < window) {
        *motion2 = 0;
        *motion3 = m->count > window ? vmafgpu__motion_blend(e, m->sad[window]) : 0;
        m->previous = *motion3;
        return;
    }
    const int64_t earlier = i - (window - 1);
    if (i + 1 == m->count)
        *motion2 = m->sad[i & 7];
    else if (earlier >= window)
        *motion2 = vmafgpu__min(m->sad[earlier & 7], m->sad[(i + 1) & 7]);
    else
        *motion2 = m->sad[(i + 1) & 7];
    const double blended = vmafgpu__motion_blend(e, *motion2);
    *motion3 = e->option[VMAFGPU__MOTION_AVERAGE] != 0 ? (blended + m->previous) / 2.0 : blended;
    m->previous = blended;
}

/* ================================================================================================
 * >>scores                                       rows, readiness, prediction, pooling
 * ================================================================================================ */

/* Where row r of the score list lives: chunk k holds 64 << k rows. */
static int vmafgpu__chunk_of(int64_t row, int64_t *offset) {
    int chunk = 0;
    int64_t rows = VMAFGPU__FIRST_CHUNK_ROWS;
    while (row >= rows) {
        row -= rows;
        rows *= 2;
        chunk++;
    }
    *offset = row;
    return chunk;
}

/* A row holds the columns and, behind them, its result. */
static int vmafgpu__row_size(const vmafgpu *v) {
    return v->column_count + 1;
}

static vmafgpu_result vmafgpu__row_result(const vmafgpu *v, const double *row) {
    return (vmafgpu_result)(int)row[v->column_count];
}

static double *vmafgpu__row(const vmafgpu *v, int64_t row) {
    int64_t offset = row % VMAFGPU__FIRST_CHUNK_ROWS;
    const int chunk = v->config.discard_scores ? 0 : vmafgpu__chunk_of(row, &offset);
    return v->chunks[chunk] + offset * vmafgpu__row_size(v);
}

/* Makes sure that there is a row to write. */
static vmafgpu_result vmafgpu__reserve_row(vmafgpu *v, int64_t row) {
    int64_t offset;
    const int chunk = v->config.discard_scores ? 0 : vmafgpu__chunk_of(row, &offset);
    if (chunk >= VMAFGPU__MAX_CHUNKS)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "the clip is too long");
    if (v->chunks[chunk])
        return VMAFGPU_OK;
    const size_t rows = (size_t)VMAFGPU__FIRST_CHUNK_ROWS << chunk;
    const size_t row_size = sizeof(double) * (size_t)vmafgpu__row_size(v);
    const size_t size = rows <= SIZE_MAX / row_size ? rows * row_size : SIZE_MAX;
    v->chunks[chunk] = (double *)vmafgpu__take(v, size);
    return v->chunks[chunk] ? VMAFGPU_OK : vmafgpu__fail_memory(v, "the score list", size);
}

/* Rows of frames 0..frames-1. */
static int64_t vmafgpu__rows_of(const vmafgpu *v, int64_t frames) {
    return (frames + v->config.subsample - 1) / v->config.subsample;
}

static void vmafgpu__predict(const vmafgpu *v, double *row) {
    for (int i = 0; i < v->model_count; i++) {
        const vmafgpu__model_use *use = &v->models[i];
        const int outputs = vmafgpu__model_outputs(use->model);
        double *out = v->model_scratch;
        vmafgpu__model_predict(use->model, use->disable_clip, use->enable_transform, row, use->inputs, out + outputs,
                               out);
        row[use->column] = out[0];
        for (int k = 1; k < outputs; k++)
            row[use->more_columns + k - 1] = out[k];
    }
}

static void vmafgpu__fill_score(const vmafgpu *v, int64_t index, const double *row, vmafgpu_score *score) {
    score->index = index;
    score->score = v->model_count ? row[v->models[0].column] : (double)NAN;
    score->values = row;
    score->result = vmafgpu__row_result(v, row);
}

static void vmafgpu__add_to_totals(vmafgpu *v, const double *row) {
    const int is_first = v->pooled++ == 0;
    for (int i = 0; i < v->column_count; i++) {
        vmafgpu__totals *t = &v->totals[i];
        t->sum += row[i];
        t->inverse_sum += 1. / (row[i] + 1.);
        if (is_first || row[i] < t->min)
            t->min = row[i];
        if (is_first || row[i] > t->max)
            t->max = row[i];
    }
}

/* Writes the features of a pair that do not depend on its neighbours. */
static void vmafgpu__finish_pair(const vmafgpu *v, const vmafgpu__sums *sums, int64_t position, double *row) {
    for (int i = 0; i < v->extractor_count; i++) {
        const vmafgpu__extractor *e = &v->extractors[i];
        double *out = row + e->columns;
        switch (e->kind) {
        case VMAFGPU__ADM: vmafgpu__finish_adm(v, e, sums, out); break;
        case VMAFGPU__VIF: vmafgpu__finish_vif(e, sums, out); break;
        case VMAFGPU__CAMBI: vmafgpu__finish_cambi(v, e, sums, out); break;
        case VMAFGPU__SPEED: vmafgpu__finish_speed(e, sums, out); break;
        default:
            out[0] = vmafgpu__motion_sad(v, e, sums, position);
            if (e->option[VMAFGPU__MOTION_DEBUG] != 0)
                out[1] = out[0];
        }
    }
}

/* A frame has no score if it failed itself, or one that its motion looks at. What comes after it is collected no
 * further than its motion looks ahead when it is given, so the last failure is the one that counts. */
static int vmafgpu__is_spoilt(const vmafgpu *v, int64_t position) {
    return v->failed_result != VMAFGPU_OK && v->failed_position >= position - v->seed_count &&
           (v->seed_count || v->failed_position == position);
}

/* Gives every position whose motion is known its late features and, if it is a pair and no seed, its prediction, in order. */
static void vmafgpu__advance(vmafgpu *v, int ended) {
    while (v->emitted < v->seeded + v->pushed && v->emitted < v->collected) {
        const int64_t index = v->emitted - v->seeded;
        const int wanted = index >= 0 && index % v->config.subsample == 0;
        double *row = wanted ? vmafgpu__row(v, index / v->config.subsample) : NULL;
        for (int i = 0; i < v->extractor_count; i++)
            if (v->extractors[i].kind == VMAFGPU__MOTION && !vmafgpu__motion_is_ready(&v->extractors[i], ended))
                return;
        for (int i = 0; i < v->extractor_count; i++) {
            vmafgpu__extractor *e = &v->extractors[i];
            double late[2];
            if (e->kind != VMAFGPU__MOTION)
                continue;
            vmafgpu__motion_emit(e, &e->motion, &late[0], &late[1]);
            if (row)
                memcpy(row + e->late_columns, late, sizeof late);
        }
        const int spoilt = vmafgpu__is_spoilt(v, v->emitted);
        v->emitted++;
        if (!row)
            continue;
        row[v->column_count] = spoilt ? (double)v->failed_result : (double)VMAFGPU_OK;
        if (spoilt) {
            for (int i = 0; i < v->column_count; i++)
                row[i] = (double)NAN;
            if (v->first_failed_frame < 0) {
                v->first_failed_frame = index;
                v->first_failed_result = v->failed_result;
                memcpy(v->first_failure, v->failure, sizeof v->first_failure);
            }
        } else {
            vmafgpu__predict(v, row);
            vmafgpu__add_to_totals(v, row);
        }
        if (v->config.on_score) {
            vmafgpu_score score;
            vmafgpu__fill_score(v, index, row, &score);
            v->delivered++;
            v->config.on_score(v->config.on_score_user, &score);
        }
    }
}

/* Takes the sums of the frames that the backend has done with, waiting for those before position `until`. */
static void vmafgpu__collect(vmafgpu *v, int64_t until, vmafgpu__patience patience) {
    vmafgpu__sums sums;
    while (v->collected < v->seeded + v->pushed + v->tailed) {
        const int64_t position = v->collected, index = position - v->seeded;
        const vmafgpu_result result = v->backend->collect(v, position < until ? VMAFGPU__WAIT : patience, &sums);
        if (result == VMAFGPU_AGAIN)
            return;
        if (result != VMAFGPU_OK) {
            memset(&sums, 0, sizeof sums);
            vmafgpu__sentence(v->failure, sizeof v->failure, "%s %lld: %.440s", index < 0 ? "seed" : "frame",
                              (long long)(index < 0 ? position : index), v->error);
            v->failed_position = position;
            v->failed_result = result;
        }
        for (int i = 0; i < v->extractor_count; i++)
            if (v->extractors[i].kind == VMAFGPU__MOTION)
                vmafgpu__motion_take(&v->extractors[i].motion, vmafgpu__motion_sad(v, &v->extractors[i], &sums, position));
        if (result == VMAFGPU_OK && index >= 0 && index < v->pushed && index % v->config.subsample == 0)
            vmafgpu__finish_pair(v, &sums, position, vmafgpu__row(v, index / v->config.subsample));
        v->collected++;
        vmafgpu__advance(v, 0);
    }
}

/* Pairs whose every column is known. */
static int64_t vmafgpu__ready(const vmafgpu *v) {
    return v->emitted > v->seeded ? v->emitted - v->seeded : 0;
}

/* ================================================================================================
 * >>open                                         from a config to a context
 * ================================================================================================ */

static vmafgpu_result vmafgpu__in_range(vmafgpu *v, const char *field, int value, int min, int max) {
    if (value >= min && value <= max)
        return VMAFGPU_OK;
    return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "config.%s must be from %d to %d, not %d", field, min, max, value);
}

static vmafgpu_result vmafgpu__resolve_config(vmafgpu *v, const vmafgpu_model_config *models,
                                              const vmafgpu_feature_config *features) {
    vmafgpu_config *c = &v->config;
    if (!c->bit_depth)
        c->bit_depth = 8;
    if (!c->bytes_per_sample)
        c->bytes_per_sample = c->bit_depth == 8 && c->layout != VMAFGPU_SEMIPLANAR_HIGH ? 1 : 2;
    if (!c->subsample)
        c->subsample = 1;
    if (!c->threads)
        c->threads = 1;
    if (!c->together)
        c->together = 1;
    const struct {
        const char *field;
        int value, min, max;
    } checks[] = {
        {"width", c->width, VMAFGPU__MIN_SIZE, VMAFGPU__MAX_SIZE},
        {"height", c->height, VMAFGPU__MIN_SIZE, VMAFGPU__MAX_SIZE},
        {"bit_depth", c->bit_depth, 8, 16},
        {"bytes_per_sample", c->bytes_per_sample, c->bit_depth > 8 || c->layout == VMAFGPU_SEMIPLANAR_HIGH ? 2 : 1, 2},
        {"chroma", (int)c->chroma, VMAFGPU_420, VMAFGPU_444},
        {"layout", (int)c->layout, VMAFGPU_PLANAR, VMAFGPU_SEMIPLANAR_HIGH},
        {"model_count", c->model_count, 0, VMAFGPU__MAX_MODELS},
        {"no_model", c->no_model, 0, 1},
        {"feature_count", c->feature_count, 0, VMAFGPU__MAX_FEATURE_CONFIGS},
        {"subsample", c->subsample, 1, INT_MAX},
        {"discard_scores", c->discard_scores, 0, 1},
        {"backend", (int)c->backend, VMAFGPU_BACKEND_AUTO, VMAFGPU_BACKEND_HIP},
        {"gpu.device", c->gpu.device, 0, INT_MAX},
        {"gpu.frames", (int)c->gpu.frames, VMAFGPU_MEMORY_HOST, VMAFGPU_MEMORY_DEVICE},
        {"gpu.batch", c->gpu.batch, 0, VMAFGPU__MAX_BATCH},
        {"gpu.queue", c->gpu.queue, 0, VMAFGPU__MAX_QUEUE},
        {"gpu.arithmetic", c->gpu.arithmetic, 0, 2},
        {"threads", c->threads, 1, VMAFGPU__MAX_THREADS},
        {"together", c->together, 1, VMAFGPU__MAX_DISTORTED}
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        const vmafgpu_result result =
            vmafgpu__in_range(v, checks[i].field, checks[i].value, checks[i].min, checks[i].max);
        if (result != VMAFGPU_OK)
            return result;
    }
    if (c->model_count && !models)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "config.models is NULL but config.model_count is %d",
                             c->model_count);
    if (c->model_count && c->no_model)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "config.no_model is set but config.model_count is %d",
                             c->model_count);
    if (c->feature_count && !features)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "config.features is NULL but config.feature_count is %d",
                             c->feature_count);
    if (c->no_model && !c->feature_count)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT,
                             "config.no_model is set and config.features is empty: there is nothing to compute");
    if (c->backend == VMAFGPU_BACKEND_HIP && c->gpu.context)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT,
                             "config.gpu.context is a CUDA context: with HIP config.gpu.device names the device");
    if (!c->gpu.kernels != !c->gpu.kernels_size)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "config.gpu.kernels needs gpu.kernels_size too, or neither");
#ifdef VMAFGPU_NO_THREADS
    if (c->threads > 1 && !c->parallel_for)
        return vmafgpu__fail(v, VMAFGPU_ERROR_SYSTEM, "config.threads is %d, but this build has no threads of its own "
                             "(VMAFGPU_NO_THREADS): set config.parallel_for", c->threads);
#endif
    return VMAFGPU_OK;
}

/* Finds the extractor kind and column that a model means by a feature name. */
static int vmafgpu__find_feature(const char *name, int *kind, int *column) {
    for (*kind = 0; *kind < VMAFGPU__KINDS; ++*kind)
        for (*column = 0; vmafgpu__features[*kind].columns[*column].name; ++*column) {
            const vmafgpu__column *c = &vmafgpu__features[*kind].columns[*column];
            if (!c->debug && (!strcmp(name, c->name) || (c->model_name && !strcmp(name, c->model_name))))
                return 1;
        }
    return 0;
}

/* One input of a model: adds its extractor; *input names it until columns are laid out. */
enum { VMAFGPU__INPUT_RADIX = 64 };

static vmafgpu_result vmafgpu__add_input(vmafgpu *v, const vmafgpu__model_use *use, const char *name,
                                         const char *options, const char *overlay, int *input) {
    vmafgpu__extractor e;
    vmafgpu_result result;
    int kind, column, index = 0;
    if (!vmafgpu__find_feature(name, &kind, &column))
        return vmafgpu__fail(v, VMAFGPU_ERROR_MODEL,
                             "model '%.80s' needs the feature '%.80s', which this version does not have",
                             use->model->name ? use->model->name : "", name);
    vmafgpu__extractor_init(&e, (vmafgpu__kind)kind);
    result = vmafgpu__set_options(v, &e, options, 0);
    if (result == VMAFGPU_OK)
        result = vmafgpu__set_options(v, &e, overlay, 1);
    if (result != VMAFGPU_OK)
        return result;
    vmafgpu__extractor_suffix(&e);
    result = vmafgpu__add_extractor(v, &e, &index);
    *input = index * VMAFGPU__INPUT_RADIX + column;
    return result;
}

static vmafgpu_result vmafgpu__add_model(vmafgpu *v, int index, const vmafgpu_model_config *config) {
    vmafgpu__model_use *use = &v->models[index];
    const char *name = config->name ? config->name : "vmaf";
    const char *version = config->version ? config->version : "vmaf_v0.6.1";
    char reason[VMAFGPU__ERROR_SIZE - 64];
    vmafgpu_result result = vmafgpu__check_overlay(v, config->options);
    if (result != VMAFGPU_OK)
        return result;
    if (config->model && config->version)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "config.models[%d] has both a model and a version; give one",
                             index);
    use->model = config->model ? config->model : vmafgpu_builtin_model(version);
    if (!use->model)
        return vmafgpu__fail(v, VMAFGPU_ERROR_MODEL, "config.models[%d]: there is no built-in model '%.80s'", index,
                             version);
    if (!vmafgpu__model_check(use->model, reason, sizeof reason))
        return vmafgpu__fail(v, VMAFGPU_ERROR_MODEL, "config.models[%d]: %s", index, reason);
    if (!*name || strlen(name) > VMAFGPU__NAME_SIZE - 32)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "config.models[%d].name must have from 1 to %d characters",
                             index, VMAFGPU__NAME_SIZE - 32);
    for (int i = 0; i < index; i++)
        if (!strcmp(v->models[i].name, name))
            return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT,
                                 "config.models[%d].name '%.80s' is taken by models[%d]: give each "
                                 "model a name of its own",
                                 index, name, i);
    memcpy(use->name, name, strlen(name) + 1);
    use->disable_clip = config->disable_clip != 0;
    use->enable_transform = config->enable_transform != 0;
    for (int k = 0; k < use->model->svm_count; k++)
        use->input_count += use->model->svms[k].feature_count;
    use->inputs = (int *)vmafgpu__take(v, sizeof(int) * (size_t)use->input_count);
    if (!use->inputs)
        return vmafgpu__fail_memory(v, "a model's inputs", sizeof(int) * (size_t)use->input_count);
    v->model_count = index + 1;
    int *input = use->inputs;
    for (int k = 0; k < use->model->svm_count; k++) {
        const vmafgpu_svm *svm = &use->model->svms[k];
        for (int i = 0; i < svm->feature_count; i++) {
            result =
                vmafgpu__add_input(v, use, svm->feature_names[i], svm->feature_options ? svm->feature_options[i] : NULL,
                                   config->options, input++);
            if (result != VMAFGPU_OK)
                return result;
        }
    }
    return VMAFGPU_OK;
}

static vmafgpu_result vmafgpu__add_feature(vmafgpu *v, int index, const vmafgpu_feature_config *config) {
    vmafgpu__extractor e;
    int kind = 0, ignored;
    while (kind < VMAFGPU__KINDS && !(config->name && !strcmp(config->name, vmafgpu__features[kind].name)))
        kind++;
    if (kind == VMAFGPU__KINDS)
        return vmafgpu__fail(v, VMAFGPU_ERROR_FEATURE,
                             "config.features[%d]: there is no feature '%.80s', only %s", index,
                             config->name ? config->name : "", vmafgpu__feature_list);
    vmafgpu__extractor_init(&e, (vmafgpu__kind)kind);
    const vmafgpu_result result = vmafgpu__set_options(v, &e, config->options, 0);
    if (result != VMAFGPU_OK)
        return result;
    vmafgpu__extractor_suffix(&e);
    return vmafgpu__add_extractor(v, &e, &ignored);
}

/* Which integer sums the extractors need from the backend; extractors that need the same ones share a variant. */
static vmafgpu_result vmafgpu__make_plan(vmafgpu *v) {
    vmafgpu__plan *p = &v->plan;
    vmafgpu_result result = VMAFGPU_OK;
    for (int i = 0; i < v->extractor_count && result == VMAFGPU_OK; i++) {
        vmafgpu__extractor *e = &v->extractors[i];
        if (e->kind == VMAFGPU__MOTION) {
            const int window = vmafgpu__motion_window(e), average = e->option[VMAFGPU__MOTION_AVERAGE] != 0;
            const int seeds = (window == 1 ? 1 : 3) + average;
            if (e->option[VMAFGPU__MOTION_FORCE_ZERO] == 0) {
                p->motion[window - 1] = 1;
                if (seeds > v->seed_count)
                    v->seed_count = seeds;
            }
        } else if (e->kind == VMAFGPU__VIF) {
            p->vif_skips_scale_0 = e->option[VMAFGPU__VIF_SKIP_SCALE0] != 0 && (p->vif_variants == 0 || p->vif_skips_scale_0);
            result = vmafgpu__find_variant(v, p->vif_gain_limit, &p->vif_variants, &e->option[VMAFGPU__VIF_GAIN_LIMIT],
                                           sizeof *p->vif_gain_limit, "vif_enhn_gain_limit", &e->variant);
        } else if (e->kind == VMAFGPU__CAMBI) {
            result = vmafgpu__plan_cambi(v, e, &e->variant);
        } else if (e->kind == VMAFGPU__SPEED) {
            result = vmafgpu__plan_speed(v, e, &e->variant);
        } else {
            vmafgpu__adm_variant variant;
            memset(&variant, 0, sizeof variant);
            variant.gain_limit = e->option[VMAFGPU__ADM_GAIN_LIMIT];
            result = vmafgpu__adm_sensitivity(v, e, &variant);
            if (result == VMAFGPU_OK)
                result = vmafgpu__find_variant(v, p->adm, &p->adm_variants, &variant, sizeof variant,
                                               "gain limits or contrast sensitivities of adm", &e->variant);
        }
    }
    return result;
}

/* Names the columns of one extractor, early or late ones, from column `at` on; returns the next. */
static int vmafgpu__name_columns(vmafgpu *v, const vmafgpu__extractor *e, int late, int at) {
    for (const vmafgpu__column *c = vmafgpu__features[e->kind].columns; c->name; c++) {
        if (c->late != late || !vmafgpu__has_column(e, c))
            continue;
        if (v->names)
            snprintf(v->names[at], sizeof v->names[at], "%.60s%.190s", c->name, c->bare ? "" : e->suffix);
        at++;
    }
    return at;
}

/* The order of libvmaf's reports: what is known with the frame, what waits for the next one, models, collections. Counts
 * only, while there are no names yet. */
static void vmafgpu__lay_columns(vmafgpu *v) {
    int at = 0;
    for (int i = 0; i < v->extractor_count; i++) {
        v->extractors[i].columns = at;
        at = vmafgpu__name_columns(v, &v->extractors[i], 0, at);
    }
    for (int i = 0; i < v->extractor_count; i++) {
        v->extractors[i].late_columns = at;
        at = vmafgpu__name_columns(v, &v->extractors[i], 1, at);
    }
    for (int i = 0; i < v->model_count; i++)
        v->models[i].column = at++;
    for (int i = 0; i < v->model_count; i++) {
        v->models[i].more_columns = at;
        at += vmafgpu__model_outputs(v->models[i].model) - 1;
    }
    v->column_count = at;
    if (!v->names)
        return;
    for (int i = 0; i < v->model_count; i++) {
        const vmafgpu__model_use *use = &v->models[i];
        for (int k = 0; k < vmafgpu__model_outputs(use->model); k++)
            vmafgpu__model_output_name(use->model, k, use->name, v->names[k ? use->more_columns + k - 1 : use->column],
                                       VMAFGPU__NAME_SIZE);
    }
}

/* Turns the models' inputs into columns. */
static void vmafgpu__connect_models(vmafgpu *v) {
    for (int i = 0; i < v->model_count; i++)
        for (int k = 0; k < v->models[i].input_count; k++) {
            int *input = &v->models[i].inputs[k];
            const vmafgpu__extractor *e = &v->extractors[*input / VMAFGPU__INPUT_RADIX];
            const vmafgpu__column *columns = vmafgpu__features[e->kind].columns;
            const int wanted = *input % VMAFGPU__INPUT_RADIX;
            int at = columns[wanted].late ? e->late_columns : e->columns;
            for (int c = 0; c < wanted; c++)
                at += columns[c].late == columns[wanted].late && vmafgpu__has_column(e, &columns[c]);
            *input = at;
        }
}

static vmafgpu_result vmafgpu__make_columns(vmafgpu *v) {
    vmafgpu__lay_columns(v);
    const size_t count = (size_t)v->column_count;
    size_t scratch = 1;
    for (int i = 0; i < v->model_count; i++) {
        const size_t needed =
            (size_t)vmafgpu__model_scratch(v->models[i].model) + (size_t)vmafgpu__model_outputs(v->models[i].model);
        scratch = needed > scratch ? needed : scratch;
    }
    v->names = (char (*)[VMAFGPU__NAME_SIZE])vmafgpu__take(v, count * sizeof *v->names);
    v->totals = (vmafgpu__totals *)vmafgpu__take(v, count * sizeof *v->totals);
    v->pair_row = (double *)vmafgpu__take(v, (count + 1) * sizeof *v->pair_row);
    v->model_scratch = (double *)vmafgpu__take(v, scratch * sizeof *v->model_scratch);
    if (!v->names || !v->totals || !v->pair_row || !v->model_scratch)
        return vmafgpu__fail_memory(v, "the columns", count * (sizeof *v->names + sizeof *v->totals));
    vmafgpu__lay_columns(v);
    vmafgpu__connect_models(v);
    for (int i = 0; i < v->column_count; i++)
        for (int k = 0; k < i; k++)
            if (!strcmp(v->names[i], v->names[k]))
                return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "two columns would be named '%.200s': rename a model",
                                     v->names[i]);
    return vmafgpu__reserve_row(v, 0);
}

static void vmafgpu__clear_clip(vmafgpu *v) {
    v->seeded = v->pushed = v->tailed = v->collected = v->emitted = v->delivered = v->pooled = 0;
    v->flushed = 0;
    v->failed_result = VMAFGPU_OK;
    v->first_failed_frame = -1;
}

/* A GPU that the config allows; VMAFGPU_ERROR_BACKEND with a note where none can be used. */
static vmafgpu_result vmafgpu__open_gpu(vmafgpu *v) {
#ifdef VMAFGPU_NO_GPU
    vmafgpu__sentence(v->note, sizeof v->note, "this build has no GPU backend (VMAFGPU_NO_GPU)");
    return VMAFGPU_ERROR_BACKEND;
#else
    const vmafgpu_config *c = &v->config;
    /* A stream, context or address that comes without a backend's name is CUDA's. */
    const int is_cudas = c->gpu.context || c->gpu.stream || c->gpu.frames == VMAFGPU_MEMORY_DEVICE;
    char before[VMAFGPU__ERROR_SIZE] = "", note[VMAFGPU__ERROR_SIZE];
    vmafgpu_result result = VMAFGPU_ERROR_BACKEND;
    if (c->backend != VMAFGPU_BACKEND_HIP) {
        v->backend = &vmafgpu__cuda_backend;
        result = v->backend->open(v);
        vmafgpu__sentence(before, sizeof before, "%.240s; ", v->note);
    }
    if (result == VMAFGPU_ERROR_BACKEND &&
        (c->backend == VMAFGPU_BACKEND_HIP || (c->backend == VMAFGPU_BACKEND_AUTO && !is_cudas))) {
        v->backend = &vmafgpu__hip_backend;
        result = v->backend->open(v);
        memcpy(note, v->note, sizeof note);
        if (result == VMAFGPU_ERROR_BACKEND)
            vmafgpu__sentence(v->note, sizeof v->note, "%s%s", before, note);
    }
    return result;
#endif
}

/* The GPU if it may and can be used. */
static vmafgpu_result vmafgpu__open_backend(vmafgpu *v) {
    const vmafgpu_config *c = &v->config;
    const int is_named = c->backend == VMAFGPU_BACKEND_CUDA || c->backend == VMAFGPU_BACKEND_HIP;
    const int needs_gpu = is_named || c->gpu.frames == VMAFGPU_MEMORY_DEVICE;
    if (c->backend != VMAFGPU_BACKEND_CPU) {
        const vmafgpu_result result = vmafgpu__open_gpu(v);
        if (result != VMAFGPU_ERROR_BACKEND)
            return result;
        if (needs_gpu)
            return vmafgpu__fail(v, VMAFGPU_ERROR_BACKEND, "%s: there is no GPU to score on: %.420s",
                                 is_named ? "config.backend" : "config.gpu.frames is device", v->note);
        v->error[0] = '\0';
        vmafgpu__log(v, VMAFGPU_LOG_INFO, v->note);
    } else if (needs_gpu) {
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "config.gpu.frames is device, but config.backend is cpu");
    }
    v->backend = &vmafgpu__cpu_backend;
    return v->backend->open(v);
}

static vmafgpu_result vmafgpu__open(vmafgpu *v, const vmafgpu_model_config *models,
                                    const vmafgpu_feature_config *features) {
    static const vmafgpu_model_config default_model = { NULL, NULL, NULL, 0, 0, NULL };
    const vmafgpu_config *c = &v->config;
    vmafgpu_result result = vmafgpu__check_float(v);
    if (result == VMAFGPU_OK)
        result = vmafgpu__resolve_config(v, models, features);
    const int model_count = c->model_count ? c->model_count : c->no_model ? 0 : 1;
    for (int i = 0; result == VMAFGPU_OK && i < model_count; i++)
        result = vmafgpu__add_model(v, i, c->model_count ? &models[i] : &default_model);
    for (int i = 0; result == VMAFGPU_OK && i < c->feature_count; i++)
        result = vmafgpu__add_feature(v, i, &features[i]);
    if (result == VMAFGPU_OK)
        result = vmafgpu__make_plan(v);
    if (result == VMAFGPU_OK)
        result = vmafgpu__make_columns(v);
    if (result != VMAFGPU_OK)
        return result;
    vmafgpu__clear_clip(v);
    result = vmafgpu__open_backend(v);
    v->is_open = result == VMAFGPU_OK;
    v->config.gpu.kernels = NULL;   /* it and the paths were borrowed */
    v->config.gpu.kernels_path = v->config.gpu.driver_path = NULL;
    if (v->is_open && (c->width <= 32 || c->height <= 32))
        vmafgpu__log(v, VMAFGPU_LOG_WARNING,
                     "with 32 or fewer pixels in width or height adm and the models have no libvmaf counterpart");
    return result;
}

/* ================================================================================================
 * >>public                                       the functions of the API
 * ================================================================================================ */
VMAFGPU_API vmafgpu_result vmafgpu_open(vmafgpu **context, const vmafgpu_config *config) {
    if (!context)
        return VMAFGPU_ERROR_ARGUMENT;
    *context = NULL;
    vmafgpu *v = (vmafgpu *)vmafgpu__memory_take(config ? &config->allocator : NULL, sizeof *v);
    if (!v)
        return VMAFGPU_ERROR_MEMORY;
    memset(v, 0, sizeof *v);
    v->memory = sizeof *v;
    *context = v;
    if (!config)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "config is NULL");
    v->config = *config;
    v->config.models = NULL;
    v->config.features = NULL;
    if (!config->allocator.alloc != !config->allocator.free)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "config.allocator needs both alloc and free, or neither");
    return vmafgpu__open(v, config->models, config->features);
}

VMAFGPU_API void vmafgpu_close(vmafgpu *context) {
    vmafgpu *v = context;
    if (!v)
        return;
    if (v->backend)
        v->backend->close(v);
    for (int i = 0; i < VMAFGPU__MAX_CHUNKS; i++)
        vmafgpu__give(v, v->chunks[i]);
    for (int i = 0; i < v->model_count; i++)
        vmafgpu__give(v, v->models[i].inputs);
    vmafgpu__give(v, v->model_scratch);
    vmafgpu__give(v, v->pair_row);
    vmafgpu__give(v, v->totals);
    vmafgpu__give(v, v->names);
    const vmafgpu_allocator allocator = v->config.allocator;
    vmafgpu__memory_give(&allocator, v);
}

/* The sentence of the failed open stays: it is the cause. */
static vmafgpu_result vmafgpu__check_open(const vmafgpu *v) {
    return !v ? VMAFGPU_ERROR_ARGUMENT : v->is_open ? VMAFGPU_OK : VMAFGPU_ERROR_STATE;
}

VMAFGPU_API vmafgpu_result vmafgpu_reset(vmafgpu *context) {
    vmafgpu *v = context;
    const vmafgpu_result result = vmafgpu__check_open(v);
    if (result != VMAFGPU_OK)
        return result;
    v->backend->reset(v);
    vmafgpu__clear_clip(v);
    v->error[0] = 0;
    for (int i = 0; i < v->extractor_count; i++)
        memset(&v->extractors[i].motion, 0, sizeof v->extractors[i].motion);
    memset(v->totals, 0, (size_t)v->column_count * sizeof *v->totals);
    return VMAFGPU_OK;
}

/* Checks the pointers and pitch of one frame. */
static vmafgpu_result vmafgpu__check_frame(vmafgpu *v, const char *function, const char *which,
                                           const vmafgpu_frame *frame) {
    const ptrdiff_t least = (ptrdiff_t)v->config.width * v->config.bytes_per_sample;
    if (!frame)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "%s: %s is NULL", function, which);
    if (!frame->data[0])
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "%s: %s.data[0] is NULL", function, which);
    if ((int)frame->memory < VMAFGPU_MEMORY_HOST || frame->memory > VMAFGPU_MEMORY_DEVICE)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "%s: %s.memory is %d, which is no kind of memory", function, which,
                             (int)frame->memory);
    if (frame->memory == VMAFGPU_MEMORY_DEVICE && !v->gpu)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "%s: %s is in device memory, but the backend is the CPU", function,
                             which);
    if (frame->pitch[0] && frame->pitch[0] > -least && frame->pitch[0] < least)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "%s: %s.pitch[0] is %lld bytes, but a row takes %lld", function,
                             which, (long long)frame->pitch[0], (long long)least);
    return VMAFGPU_OK;
}

/* Checks the same of the chroma planes of a frame that is to be scored, where somebody looks at them. */
static vmafgpu_result vmafgpu__check_chroma(vmafgpu *v, const char *function, const char *which,
                                            const vmafgpu_frame *frame) {
    const int interleaved = v->config.layout != VMAFGPU_PLANAR;
    if (!v->plan.speed_variants)
        return VMAFGPU_OK;
    for (int i = 1; i <= (interleaved ? 1 : 2); i++) {
        const ptrdiff_t pitch = frame->pitch[i];
        const ptrdiff_t least =
            (ptrdiff_t)vmafgpu__chroma_width(&v->config) * v->config.bytes_per_sample * (interleaved ? 2 : 1);
        if (!frame->data[i])
            return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "%s: %s.data[%d] is NULL, but speed_chroma looks at chroma",
                                 function, which, i);
        if (pitch && pitch > -least && pitch < least)
            return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "%s: %s.pitch[%d] is %lld bytes, but a row takes %lld",
                                 function, which, i, (long long)pitch, (long long)least);
    }
    return VMAFGPU_OK;
}

/* Hands one frame (distorted NULL: reference alone) to the backend; *count is how many there were of its kind. */
static vmafgpu_result vmafgpu__submit(vmafgpu *v, const char *kind, int64_t *count, const vmafgpu_frame *reference,
                                      const vmafgpu_frame *distorted) {
    const int64_t position = v->seeded + v->pushed + v->tailed;
    vmafgpu__job job;
    vmafgpu_result result = vmafgpu__check_float(v);
    if (result != VMAFGPU_OK)
        return result;
    memset(&job, 0, sizeof job);
    job.reference = reference;
    job.distorted = distorted;
    job.history = position < 2 ? (int)position : 2;
    snprintf(v->subject, sizeof v->subject, "%s %lld", kind, (long long)*count);
    result = v->backend->submit(v, &job);
    if (result == VMAFGPU_AGAIN) {
        vmafgpu__collect(v, INT64_MAX, VMAFGPU__WAIT);
        result = v->backend->submit(v, &job);
    }
    if (result != VMAFGPU_OK)
        return result;
    ++*count;
    vmafgpu__collect(v, 0, VMAFGPU__GLANCE);
    return VMAFGPU_OK;
}

/* The order of calls in a clip: seeds, pairs, tails, flush. */
typedef enum vmafgpu__phase { VMAFGPU__SEEDING, VMAFGPU__PUSHING, VMAFGPU__TAILING } vmafgpu__phase;

static vmafgpu_result vmafgpu__check_order(vmafgpu *v, const char *function, vmafgpu__phase phase) {
    if (v->flushed)
        return vmafgpu__fail(v, VMAFGPU_ERROR_STATE, "%s: the clip was flushed; call vmafgpu_reset() to start another",
                             function);
    if (phase < VMAFGPU__TAILING && v->tailed)
        return vmafgpu__fail(v, VMAFGPU_ERROR_STATE,
                             "%s: the frame after the clip was given with vmafgpu_tail(); call vmafgpu_flush()",
                             function);
    if (phase == VMAFGPU__SEEDING && v->pushed)
        return vmafgpu__fail(v, VMAFGPU_ERROR_STATE, "%s: frames before the clip come before the first pair", function);
    if (phase == VMAFGPU__TAILING && !v->pushed)
        return vmafgpu__fail(v, VMAFGPU_ERROR_STATE, "%s: frames after the clip come after the last pair", function);
    return VMAFGPU_OK;
}

VMAFGPU_API vmafgpu_result vmafgpu_push(vmafgpu *context, const vmafgpu_frame *reference,
                                        const vmafgpu_frame *distorted) {
    vmafgpu *v = context;
    vmafgpu_result result = vmafgpu__check_open(v);
    if (result == VMAFGPU_OK)
        result = vmafgpu__check_order(v, "vmafgpu_push", VMAFGPU__PUSHING);
    if (result == VMAFGPU_OK)
        result = vmafgpu__check_frame(v, "vmafgpu_push", "reference", reference);
    if (result == VMAFGPU_OK)
        result = vmafgpu__check_frame(v, "vmafgpu_push", "distorted", distorted);
    if (result != VMAFGPU_OK)
        return result;
    const int wanted = v->pushed % v->config.subsample == 0;
    const int64_t row = v->pushed / v->config.subsample;
    if (wanted)
        result = vmafgpu__check_chroma(v, "vmafgpu_push", "reference", reference);
    if (wanted && result == VMAFGPU_OK)
        result = vmafgpu__check_chroma(v, "vmafgpu_push", "distorted", distorted);
    if (result != VMAFGPU_OK)
        return result;
    if (wanted && v->config.discard_scores && !v->config.on_score && row - v->delivered >= VMAFGPU__FIRST_CHUNK_ROWS) {
        vmafgpu__collect(v, INT64_MAX, VMAFGPU__WAIT);   /* so that the scores do wait */
        return vmafgpu__fail(v, VMAFGPU_ERROR_FULL,
                             "vmafgpu_push: frame %lld was not taken: %d scores wait for vmafgpu_next(); "
                             "fetch them, or set config.on_score",
                             (long long)v->pushed, (int)VMAFGPU__FIRST_CHUNK_ROWS);
    }
    if (wanted)
        result = vmafgpu__reserve_row(v, row);
    return result == VMAFGPU_OK ? vmafgpu__submit(v, "frame", &v->pushed, reference, wanted ? distorted : NULL) : result;
}

/* How many of the contexts, from the first on, can share the work. */
static int vmafgpu__group(vmafgpu *const *contexts, int count) {
    const vmafgpu *v = contexts[0];
    if (!v || !v->is_open || v->backend != &vmafgpu__cpu_backend || !v->cpu->functions->vif_band || v->pushed % v->config.subsample)
        return 1;
    int n = 1;
    while (n < count && n < v->config.together && contexts[n] && vmafgpu__is_alike(v, contexts[n])) {
        for (int i = 0; i < n; i++)
            if (contexts[i] == contexts[n])
                return n;
        n++;
    }
    return n;
}

VMAFGPU_API vmafgpu_result vmafgpu_push_many(vmafgpu *const *contexts, int count, const vmafgpu_frame *reference,
                                             const vmafgpu_frame *distorted) {
    vmafgpu_result result = VMAFGPU_OK;
    if (!contexts || count < 1 || !reference || !distorted)
        return VMAFGPU_ERROR_ARGUMENT;
    for (int at = 0; at < count;) {
        const int n = vmafgpu__group(contexts + at, count - at);
        int fine = n > 1 && vmafgpu__check_frame(contexts[at], "vmafgpu_push_many", "reference", reference) == VMAFGPU_OK;
        for (int i = 0; i < n && fine; i++)
            fine = vmafgpu__check_frame(contexts[at + i], "vmafgpu_push_many", "distorted", &distorted[at + i]) == VMAFGPU_OK;
        if (fine)
            vmafgpu__prepare_many(contexts + at, n, reference, distorted + at);
        for (int i = 0; i < n; i++) {
            const vmafgpu_result one = vmafgpu_push(contexts[at + i], reference, &distorted[at + i]);
            if (contexts[at + i] && contexts[at + i]->cpu)
                contexts[at + i]->cpu->is_prepared = 0;
            result = result == VMAFGPU_OK ? one : result;
        }
        at += n;
    }
    return result;
}

/* Takes a reference frame outside the clip; *count is how many there were of its kind. */
static vmafgpu_result vmafgpu__take_neighbour(vmafgpu *v, const char *function, vmafgpu__phase phase,
                                              const vmafgpu_frame *reference, int64_t *count) {
    vmafgpu_result result = vmafgpu__check_order(v, function, phase);
    if (result == VMAFGPU_OK)
        result = vmafgpu__check_frame(v, function, "reference", reference);
    return result == VMAFGPU_OK
               ? vmafgpu__submit(v, phase == VMAFGPU__SEEDING ? "seed" : "tail", count, reference, NULL)
               : result;
}

VMAFGPU_API vmafgpu_result vmafgpu_seed(vmafgpu *context, const vmafgpu_frame *reference) {
    const vmafgpu_result result = vmafgpu__check_open(context);
    return result != VMAFGPU_OK ? result : vmafgpu__take_neighbour(context, "vmafgpu_seed", VMAFGPU__SEEDING, reference,
                                                                   &context->seeded);
}

VMAFGPU_API vmafgpu_result vmafgpu_tail(vmafgpu *context, const vmafgpu_frame *reference) {
    const vmafgpu_result result = vmafgpu__check_open(context);
    return result != VMAFGPU_OK ? result : vmafgpu__take_neighbour(context, "vmafgpu_tail", VMAFGPU__TAILING, reference,
                                                                   &context->tailed);
}

VMAFGPU_API int vmafgpu_seed_count(const vmafgpu *context) {
    return context ? context->seed_count : 0;
}

/* The sentence for a frame without a score; why, as far as it is still known. */
static vmafgpu_result vmafgpu__fail_frame(vmafgpu *v, int64_t index, vmafgpu_result result) {
    enum { AHEAD = 2 };   /* frames that motion looks ahead at most */
    const int64_t distance = v->failed_position - (index + v->seeded);
    const char *why = index == v->first_failed_frame                                  ? v->first_failure
                      : distance >= -(int64_t)v->seed_count && distance <= AHEAD ? v->failure
                                                                                      : vmafgpu_result_string(result);
    return vmafgpu__fail(v, result, "frame %lld has no score: %.440s", (long long)index, why);
}

VMAFGPU_API vmafgpu_result vmafgpu_next(vmafgpu *context, vmafgpu_score *score) {
    vmafgpu *v = context;
    const vmafgpu_result result = vmafgpu__check_open(v);
    if (result != VMAFGPU_OK)
        return result;
    if (!score)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "vmafgpu_next: score is NULL");
    if (v->delivered >= vmafgpu__rows_of(v, vmafgpu__ready(v)))
        vmafgpu__collect(v, 0, VMAFGPU__LOOK);
    if (v->delivered >= vmafgpu__rows_of(v, vmafgpu__ready(v)))
        return v->flushed ? VMAFGPU_END : VMAFGPU_AGAIN;
    vmafgpu__fill_score(v, v->delivered * v->config.subsample, vmafgpu__row(v, v->delivered), score);
    v->delivered++;
    return score->result == VMAFGPU_OK ? VMAFGPU_OK : vmafgpu__fail_frame(v, score->index, score->result);
}

VMAFGPU_API vmafgpu_result vmafgpu_flush(vmafgpu *context) {
    vmafgpu *v = context;
    const vmafgpu_result result = vmafgpu__check_open(v);
    if (result != VMAFGPU_OK)
        return result;
    vmafgpu__collect(v, INT64_MAX, VMAFGPU__WAIT);
    v->flushed = 1;
    vmafgpu__advance(v, 1);
    return v->first_failed_frame < 0 ? VMAFGPU_OK : vmafgpu__fail_frame(v, v->first_failed_frame, v->first_failed_result);
}

VMAFGPU_API vmafgpu_result vmafgpu_score_pair(vmafgpu *context, const vmafgpu_frame *previous,
                                              const vmafgpu_frame *reference, const vmafgpu_frame *distorted,
                                              vmafgpu_score *score) {
    vmafgpu *v = context;
    vmafgpu__sums sums;
    vmafgpu__job job;
    vmafgpu_result result = vmafgpu__check_open(v);
    if (result == VMAFGPU_OK && previous)
        result = vmafgpu__check_frame(v, "vmafgpu_score_pair", "previous", previous);
    if (result == VMAFGPU_OK)
        result = vmafgpu__check_frame(v, "vmafgpu_score_pair", "reference", reference);
    if (result == VMAFGPU_OK)
        result = vmafgpu__check_frame(v, "vmafgpu_score_pair", "distorted", distorted);
    if (result == VMAFGPU_OK)
        result = vmafgpu__check_chroma(v, "vmafgpu_score_pair", "reference", reference);
    if (result == VMAFGPU_OK)
        result = vmafgpu__check_chroma(v, "vmafgpu_score_pair", "distorted", distorted);
    if (result == VMAFGPU_OK && !score)
        result = vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "vmafgpu_score_pair: score is NULL");
    if (result == VMAFGPU_OK)
        result = vmafgpu__check_float(v);
    if (result != VMAFGPU_OK)
        return result;
    memset(&job, 0, sizeof job);
    job.previous = previous;
    job.reference = reference;
    job.distorted = distorted;
    job.detached = 1;
    snprintf(v->subject, sizeof v->subject, "the single pair");
    result = v->backend->single(v, &job, &sums);
    if (result != VMAFGPU_OK)
        return result;

    const int64_t position = previous ? 1 : 0;
    vmafgpu__finish_pair(v, &sums, position, v->pair_row);
    for (int i = 0; i < v->extractor_count; i++) {
        const vmafgpu__extractor *e = &v->extractors[i];
        double *late = v->pair_row + e->late_columns;
        vmafgpu__motion motion;
        if (e->kind != VMAFGPU__MOTION)
            continue;
        memset(&motion, 0, sizeof motion);
        for (int64_t k = 0; k <= position; k++)
            vmafgpu__motion_take(&motion, vmafgpu__motion_sad(v, e, &sums, k));
        while (motion.emitted < motion.count)
            vmafgpu__motion_emit(e, &motion, &late[0], &late[1]);
    }
    vmafgpu__predict(v, v->pair_row);
    v->pair_row[v->column_count] = (double)VMAFGPU_OK;
    vmafgpu__fill_score(v, 0, v->pair_row, score);
    return VMAFGPU_OK;
}

VMAFGPU_API vmafgpu_result vmafgpu_score_at(vmafgpu *context, int64_t index, vmafgpu_score *score) {
    vmafgpu *v = context;
    const vmafgpu_result result = vmafgpu__check_open(v);
    if (result != VMAFGPU_OK)
        return result;
    if (!score)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "vmafgpu_score_at: score is NULL");
    if (v->config.discard_scores)
        return vmafgpu__fail(v, VMAFGPU_ERROR_STATE, "vmafgpu_score_at: config.discard_scores is set");
    if (index < 0 || index >= vmafgpu__ready(v) || index % v->config.subsample)
        return vmafgpu__fail(v, VMAFGPU_ERROR_NOT_FOUND, "vmafgpu_score_at: there is no score for frame %lld",
                             (long long)index);
    vmafgpu__fill_score(v, index, vmafgpu__row(v, index / v->config.subsample), score);
    return VMAFGPU_OK;
}

VMAFGPU_API int64_t vmafgpu_score_count(const vmafgpu *context) {
    return context && context->is_open ? vmafgpu__rows_of(context, vmafgpu__ready(context)) : 0;
}

/* What pooling functions check; *count is the number of rows. */
static vmafgpu_result vmafgpu__check_pool(vmafgpu *v, const char *function, int column, const double *value,
                                          int64_t *count) {
    const vmafgpu_result result = vmafgpu__check_open(v);
    if (result != VMAFGPU_OK)
        return result;
    if (!value)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "%s: value is NULL", function);
    if (column < 0 || column >= v->column_count)
        return vmafgpu__fail(v, VMAFGPU_ERROR_NOT_FOUND, "%s: there is no column %d; there are %d", function, column,
                             v->column_count);
    *count = v->pooled;
    return *count ? VMAFGPU_OK : vmafgpu__fail(v, VMAFGPU_ERROR_NOT_FOUND, "%s: no score is ready", function);
}

VMAFGPU_API vmafgpu_result vmafgpu_pool(vmafgpu *context, int column, vmafgpu_pooling method, double *value) {
    vmafgpu *v = context;
    int64_t count = 0;
    const vmafgpu_result result = vmafgpu__check_pool(v, "vmafgpu_pool", column, value, &count);
    if (result != VMAFGPU_OK)
        return result;
    const vmafgpu__totals *t = &v->totals[column];
    switch (method) {
    case VMAFGPU_MEAN: *value = t->sum / (double)count; return VMAFGPU_OK;
    case VMAFGPU_HARMONIC_MEAN: *value = (double)count / t->inverse_sum - 1.0; return VMAFGPU_OK;
    case VMAFGPU_MIN: *value = t->min; return VMAFGPU_OK;
    case VMAFGPU_MAX: *value = t->max; return VMAFGPU_OK;
    }
    return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "vmafgpu_pool: there is no pooling method %d", (int)method);
}

VMAFGPU_API vmafgpu_result vmafgpu_percentile(vmafgpu *context, int column, double p, double *value) {
    vmafgpu *v = context;
    int64_t count = 0;
    const vmafgpu_result result = vmafgpu__check_pool(v, "vmafgpu_percentile", column, value, &count);
    if (result != VMAFGPU_OK)
        return result;
    if (v->config.discard_scores)
        return vmafgpu__fail(v, VMAFGPU_ERROR_STATE, "vmafgpu_percentile: config.discard_scores is set");
    if (!(p >= 0 && p <= 100))
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "vmafgpu_percentile: p must be from 0 to 100, not %.6g", p);
    const size_t size = sizeof(double) * (size_t)count;
    double *sorted = (double *)vmafgpu__take(v, size);
    if (!sorted)
        return vmafgpu__fail_memory(v, "sorting the scores", size);
    for (int64_t i = 0, taken = 0; taken < count; i++) {
        const double *row = vmafgpu__row(v, i);
        if (vmafgpu__row_result(v, row) == VMAFGPU_OK)
            sorted[taken++] = row[column];
    }
    vmafgpu__sort(sorted, (size_t)count);
    const double rank = p / 100 * (double)(count - 1);
    const int64_t below = (int64_t)rank, above = below + 1 < count ? below + 1 : below;
    *value = sorted[below] + (sorted[above] - sorted[below]) * (rank - (double)below);
    vmafgpu__give(v, sorted);
    return VMAFGPU_OK;
}

VMAFGPU_API int vmafgpu_column_count(const vmafgpu *context) {
    return context && context->is_open ? context->column_count : 0;
}

VMAFGPU_API const char *vmafgpu_column_name(const vmafgpu *context, int column) {
    return column >= 0 && column < vmafgpu_column_count(context) ? context->names[column] : NULL;
}

VMAFGPU_API int vmafgpu_column_index(const vmafgpu *context, const char *name) {
    for (int i = 0; name && i < vmafgpu_column_count(context); i++)
        if (!strcmp(context->names[i], name))
            return i;
    return -1;
}

VMAFGPU_API int vmafgpu_score_column(const vmafgpu *context, int model) {
    return context && context->is_open && model >= 0 && model < context->model_count ? context->models[model].column
                                                                                     : -1;
}

VMAFGPU_API const vmafgpu_config *vmafgpu_get_config(const vmafgpu *context) {
    return context ? &context->config : NULL;
}

VMAFGPU_API int64_t vmafgpu_reusable(vmafgpu *context) {
    vmafgpu *v = context;
    if (!v || !v->is_open)
        return 0;
#ifndef VMAFGPU_NO_GPU
    if (v->gpu && !v->flushed) {
        vmafgpu__collect(v, 0, VMAFGPU__LOOK);
        const int64_t pairs = vmafgpu__gpu_released(v->gpu) - v->seeded;
        return pairs < 0 ? 0 : pairs < v->pushed ? pairs : v->pushed;
    }
#endif
    return v->pushed;
}

/* The position behind the first `pairs` pairs; behind everything for a negative number. */
static vmafgpu_result vmafgpu__position_behind(vmafgpu *v, const char *function, int64_t pairs, int64_t *position) {
    const vmafgpu_result result = vmafgpu__check_open(v);
    if (result != VMAFGPU_OK)
        return result;
    if (pairs > v->pushed)
        return vmafgpu__fail(v, VMAFGPU_ERROR_ARGUMENT, "%s: only %lld pairs were pushed, not %lld", function,
                             (long long)v->pushed, (long long)pairs);
    *position = pairs < 0 ? v->seeded + v->pushed + v->tailed : v->seeded + pairs;
    return VMAFGPU_OK;
}

VMAFGPU_API vmafgpu_result vmafgpu_wait(vmafgpu *context, int64_t pairs) {
    int64_t position = 0;
    const vmafgpu_result result = vmafgpu__position_behind(context, "vmafgpu_wait", pairs, &position);
    if (result != VMAFGPU_OK)
        return result;
    vmafgpu__collect(context, position, VMAFGPU__GLANCE);
#ifndef VMAFGPU_NO_GPU
    if (context->gpu)
        vmafgpu__gpu_keep(context);
#endif
    return VMAFGPU_OK;
}

VMAFGPU_API vmafgpu_result vmafgpu_wait_on_stream(vmafgpu *context, void *stream, int64_t pairs) {
    int64_t position = 0;
    const vmafgpu_result result = vmafgpu__position_behind(context, "vmafgpu_wait_on_stream", pairs, &position);
#ifndef VMAFGPU_NO_GPU
    if (result == VMAFGPU_OK && context->gpu)
        return vmafgpu__gpu_wait_on_stream(context, stream, position);
#endif
    (void)stream;
    return result;
}

VMAFGPU_API const char *vmafgpu_backend_name(const vmafgpu *context) {
    if (!context || !context->is_open)
        return "";
#ifndef VMAFGPU_NO_GPU
    if (context->gpu && context->gpu->is_dead)
        return vmafgpu__cpu_backend.name;
#endif
    return context->backend->name;
}

VMAFGPU_API const char *vmafgpu_cpu_level(const vmafgpu *context) {
    return context ? vmafgpu__choose_level(context->config.cpumask)->name : "";
}

VMAFGPU_API const char *vmafgpu_device_name(const vmafgpu *context) {
#ifndef VMAFGPU_NO_GPU
    if (context && context->gpu)
        return context->gpu->name;
#endif
    (void)context;
    return "";
}

VMAFGPU_API size_t vmafgpu_device_memory(const vmafgpu *context) {
#ifndef VMAFGPU_NO_GPU
    if (context && context->gpu)
        return context->gpu->memory_size;
#endif
    (void)context;
    return 0;
}

VMAFGPU_API const char *vmafgpu_backend_note(const vmafgpu *context) {
    return context ? context->note : "";
}

VMAFGPU_API size_t vmafgpu_memory(const vmafgpu *context) {
    return context ? context->memory : 0;
}

VMAFGPU_API const char *vmafgpu_last_error(const vmafgpu *context) {
    return context ? context->error : vmafgpu_result_string(VMAFGPU_ERROR_MEMORY);
}

VMAFGPU_API const char *vmafgpu_result_name(vmafgpu_result result) {
    switch (result) {
#define VMAFGPU__RESULT_NAME(name, number, sentence) case name: return #name;
    VMAFGPU_RESULTS(VMAFGPU__RESULT_NAME)
#undef VMAFGPU__RESULT_NAME
    default: return "unknown";
    }
}

VMAFGPU_API const char *vmafgpu_result_string(vmafgpu_result result) {
    switch (result) {
#define VMAFGPU__RESULT_SENTENCE(name, number, sentence) case name: return sentence;
    VMAFGPU_RESULTS(VMAFGPU__RESULT_SENTENCE)
#undef VMAFGPU__RESULT_SENTENCE
    default: return "this is no result of vmafgpu";
    }
}

VMAFGPU_API const char *vmafgpu_version(void) {
    return VMAFGPU_VERSION_STRING;
}

VMAFGPU_API int vmafgpu_version_number(void) {
    return VMAFGPU_VERSION;
}

/* The caller's floating-point settings come back. */
#if defined(__clang__) && (defined(__x86_64__) || defined(__i386__))
#  pragma float_control(pop)
#elif defined(__clang__)
#  pragma STDC FP_CONTRACT DEFAULT
#elif defined(__GNUC__)
#  pragma GCC pop_options
#elif defined(_MSC_VER)
#  pragma fp_contract(on)
#endif

#endif /* !VMAFGPU_KERNELS */
#endif /* VMAFGPU_IMPLEMENTATION or VMAFGPU_KERNELS */

/* ================================================================================================
 * >>levels                                       the CPU's vector code, compiled once per instruction set
 * ================================================================================================
 * >>cpu includes this file again for each level; then only this room is read. First come the operations of the level,
 * one row each, and after them one text for all levels, which names no instruction set.
 */
#ifdef VMAFGPU__LEVEL

#if VMAFGPU__LEVEL == VMAFGPU__AVX2
#  define VMAFGPU__LEVEL_NAME(name) name##_avx2
#  define vmafgpu__v __m256i
#  define VMAFGPU__V_BYTES 32
#  define VMAFGPU__V_REGISTERS 16
#  define VMAFGPU__V_ANY "+x"                   /* any register, as asm writes it */
#  if defined(__clang__)
#    pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2,popcnt"))), apply_to = function)
#  else
#    pragma GCC push_options
#    pragma GCC target("avx2,fma,bmi,bmi2,popcnt")
#  endif
#elif VMAFGPU__LEVEL == VMAFGPU__AVX512
#  define VMAFGPU__LEVEL_NAME(name) name##_avx512
#  define vmafgpu__v __m512i
#  define VMAFGPU__V_BYTES 64
#  define VMAFGPU__V_REGISTERS 32
#  define VMAFGPU__V_ANY "+v"
#  if defined(__clang__)
#    pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vnni,fma,bmi,bmi2,popcnt"))), apply_to = function)
#  else
#    pragma GCC push_options
#    pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vnni,fma,bmi,bmi2,popcnt")
#  endif
#else
#  define VMAFGPU__LEVEL_NAME(name) name##_neon
#  define vmafgpu__v int8x16_t
#  define VMAFGPU__V_BYTES 16
#  define VMAFGPU__V_REGISTERS 32
#  define VMAFGPU__V_ANY "+w"
#endif

#define VMAFGPU__V_WORDS (VMAFGPU__V_BYTES / 4)

/* clang may say that it has not unrolled a loop as asked, because it had done so before. */
#ifdef __clang__
#  pragma clang diagnostic push
#  pragma clang diagnostic ignored "-Wpass-failed"
#endif

/* GCC 12 as C++ takes the undefined registers of its own intrinsics for a mistake; without optimisation its intrinsics are
 * macros with conversions that we are not to blame for. */
#if defined(__GNUC__) && !defined(__clang__)
#  pragma GCC diagnostic push
#  pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#  pragma GCC diagnostic ignored "-Wuninitialized"
#  pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

/* Where Windows is told how to unwind the stack, GCC keeps that at multiples of 16 bytes and still moves vectors of 32 and 64
 * as if they lay at multiples of their size there (its bug 54412; some builds are mended). What is in this room calls nobody
 * who might want to unwind. Without the first of these GCC 12 as C++ breaks down over the others. */
#if defined(_WIN32) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#  pragma GCC optimize("no-exceptions", "no-asynchronous-unwind-tables", "no-unwind-tables")
#endif

/* Sanitizers' code in large functions takes compilers many minutes; there functions stay apart. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#  define VMAFGPU__SANITIZED
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#    define VMAFGPU__SANITIZED
#  endif
#endif
#ifdef VMAFGPU__SANITIZED
#  define VMAFGPU__INLINE static VMAFGPU__UNUSED
#  define VMAFGPU__UNROLL
#else
#  define VMAFGPU__INLINE static inline __attribute__((always_inline)) VMAFGPU__UNUSED
/* For loops over small arrays of registers, which live in memory otherwise. */
#  if defined(__clang__)
#    define VMAFGPU__UNROLL _Pragma("clang loop unroll(full)")
#  elif defined(__OPTIMIZE__)
#    define VMAFGPU__UNROLL _Pragma("GCC unroll 32")
#  else
#    define VMAFGPU__UNROLL
#  endif
#endif

/* ---- operations ----
 *
 * A register is a vmafgpu__v, whatever its lanes are. v_NAMEb works on lanes of b bits, signed ones, v_NAME_ub on unsigned
 * ones, v_NAME_fb on floats or doubles, and v_NAME on bits. The parts of names:
 *   sll, srl, sra      shifts by one count for all lanes; slli, srli, srai by a constant; sllv, srav, srlv of each by its own
 *   even, odd          lanes, counted from 0; mul_even makes a lane of twice the size of each even one
 *   unpack, pack       per block of 128 bits: what unpack_low and unpack_high take apart, pack puts together again in order,
 *                      saturating; in_order is for what was packed without having been unpacked
 *   any, all, keep, .. masks have a flag for each lane of 32 bits
 * First what the x86 levels share, then each level's own rows, then NEON's. Every row is used.
 */

/* Stays in a register from here on, as it is: compilers would load it anew for each use, reorder sums until they have to spill,
 * or fuse a product with a sum (clang with -ffp-contract=fast, what its own headers' functions do, in spite of the pragma). */
VMAFGPU__INLINE vmafgpu__v VMAFGPU__LEVEL_NAME(vmafgpu__v_hold)(vmafgpu__v a) {
    __asm__("" : VMAFGPU__V_ANY(a));
    return a;
}
#define vmafgpu__v_hold VMAFGPU__LEVEL_NAME(vmafgpu__v_hold)
#define vmafgpu__v_prefetch(p) __builtin_prefetch(p)

#if VMAFGPU__LEVEL != VMAFGPU__NEON
#  define vmafgpu__v_load(p) VMAFGPU__V_BITS(loadu)((const vmafgpu__v *)(const void *)(p))
#  define vmafgpu__v_store(p, a) VMAFGPU__V_BITS(storeu)((vmafgpu__v *)(void *)(p), a)
#  define vmafgpu__v_zero() VMAFGPU__V_BITS(setzero)()
#  define vmafgpu__v_and(a, b) VMAFGPU__V_BITS(and)(a, b)
#  define vmafgpu__v_andnot(a, b) VMAFGPU__V_BITS(andnot)(a, b)                /* ~a & b */
#  define vmafgpu__v_or(a, b) VMAFGPU__V_BITS(or)(a, b)
#  define vmafgpu__v_xor(a, b) VMAFGPU__V_BITS(xor)(a, b)
#  define vmafgpu__v_set8(x) VMAFGPU__V(set1_epi8)(x)
#  define vmafgpu__v_set16(x) VMAFGPU__V(set1_epi16)(x)
#  define vmafgpu__v_set32(x) VMAFGPU__V(set1_epi32)(x)
#  define vmafgpu__v_add8(a, b) VMAFGPU__V(add_epi8)(a, b)
#  define vmafgpu__v_add16(a, b) VMAFGPU__V(add_epi16)(a, b)
#  define vmafgpu__v_add32(a, b) VMAFGPU__V(add_epi32)(a, b)
#  define vmafgpu__v_add64(a, b) VMAFGPU__V(add_epi64)(a, b)
#  define vmafgpu__v_sub8(a, b) VMAFGPU__V(sub_epi8)(a, b)
#  define vmafgpu__v_sub16(a, b) VMAFGPU__V(sub_epi16)(a, b)
#  define vmafgpu__v_sub32(a, b) VMAFGPU__V(sub_epi32)(a, b)
#  define vmafgpu__v_sub_to_0_u16(a, b) VMAFGPU__V(subs_epu16)(a, b)           /* max(a - b, 0) */
#  define vmafgpu__v_average_u16(a, b) VMAFGPU__V(avg_epu16)(a, b)             /* (a + b + 1) >> 1 */
#  define vmafgpu__v_abs16(a) VMAFGPU__V(abs_epi16)(a)
#  define vmafgpu__v_abs32(a) VMAFGPU__V(abs_epi32)(a)
#  define vmafgpu__v_min16(a, b) VMAFGPU__V(min_epi16)(a, b)
#  define vmafgpu__v_min_u16(a, b) VMAFGPU__V(min_epu16)(a, b)
#  define vmafgpu__v_min_u32(a, b) VMAFGPU__V(min_epu32)(a, b)
#  define vmafgpu__v_max16(a, b) VMAFGPU__V(max_epi16)(a, b)
#  define vmafgpu__v_max32(a, b) VMAFGPU__V(max_epi32)(a, b)
#  define vmafgpu__v_mullo16(a, b) VMAFGPU__V(mullo_epi16)(a, b)
#  define vmafgpu__v_mullo32(a, b) VMAFGPU__V(mullo_epi32)(a, b)
#  define vmafgpu__v_mulhi_u16(a, b) VMAFGPU__V(mulhi_epu16)(a, b)
#  define vmafgpu__v_mul_round16(a, b) VMAFGPU__V(mulhrs_epi16)(a, b)          /* (a b + 2^14) >> 15 */
#  define vmafgpu__v_mul_even32(a, b) VMAFGPU__V(mul_epi32)(a, b)
#  define vmafgpu__v_mul_even_u32(a, b) VMAFGPU__V(mul_epu32)(a, b)
#  define vmafgpu__v_pairs16(a, b) VMAFGPU__V(madd_epi16)(a, b)                /* a0 b0 + a1 b1, ... in 32 bits */
#  define vmafgpu__v_sll16(a, n) VMAFGPU__V(sll_epi16)(a, _mm_cvtsi32_si128(n))
#  define vmafgpu__v_srl16(a, n) VMAFGPU__V(srl_epi16)(a, _mm_cvtsi32_si128(n))
#  define vmafgpu__v_sll32(a, n) VMAFGPU__V(sll_epi32)(a, _mm_cvtsi32_si128(n))
#  define vmafgpu__v_srl32(a, n) VMAFGPU__V(srl_epi32)(a, _mm_cvtsi32_si128(n))
#  define vmafgpu__v_slli16(a, n) VMAFGPU__V(slli_epi16)(a, n)
#  define vmafgpu__v_srai16(a, n) VMAFGPU__V(srai_epi16)(a, n)
#  define vmafgpu__v_slli32(a, n) VMAFGPU__V(slli_epi32)(a, n)
#  define vmafgpu__v_srli32(a, n) VMAFGPU__V(srli_epi32)(a, n)
#  define vmafgpu__v_srai32(a, n) VMAFGPU__V(srai_epi32)(a, n)
#  define vmafgpu__v_slli64(a, n) VMAFGPU__V(slli_epi64)(a, n)
#  define vmafgpu__v_srli64(a, n) VMAFGPU__V(srli_epi64)(a, n)
#  define vmafgpu__v_sllv32(a, n) VMAFGPU__V(sllv_epi32)(a, n)
#  define vmafgpu__v_srav32(a, n) VMAFGPU__V(srav_epi32)(a, n)
#  define vmafgpu__v_srlv64(a, n) VMAFGPU__V(srlv_epi64)(a, n)
#  define vmafgpu__v_unpack_low16(a, b) VMAFGPU__V(unpacklo_epi16)(a, b)
#  define vmafgpu__v_unpack_high16(a, b) VMAFGPU__V(unpackhi_epi16)(a, b)
#  define vmafgpu__v_pack16(a, b) VMAFGPU__V(packs_epi16)(a, b)
#  define vmafgpu__v_pack_u16(a, b) VMAFGPU__V(packus_epi16)(a, b)
#  define vmafgpu__v_pack32(a, b) VMAFGPU__V(packs_epi32)(a, b)
#  define vmafgpu__v_pack_u32(a, b) VMAFGPU__V(packus_epi32)(a, b)             /* from signed to unsigned lanes */
#  define vmafgpu__v_set_f32(x) VMAFGPU__V_OF_F32(VMAFGPU__V(set1_ps)(x))
#  define vmafgpu__v_set_f64(x) VMAFGPU__V_OF_F64(VMAFGPU__V(set1_pd)(x))
#  define vmafgpu__v_add_f32(a, b) VMAFGPU__V_OF_F32(VMAFGPU__V(add_ps)(VMAFGPU__V_F32(a), VMAFGPU__V_F32(b)))
#  define vmafgpu__v_add_f64(a, b) VMAFGPU__V_OF_F64(VMAFGPU__V(add_pd)(VMAFGPU__V_F64(a), VMAFGPU__V_F64(b)))
#  define vmafgpu__v_sub_f32(a, b) VMAFGPU__V_OF_F32(VMAFGPU__V(sub_ps)(VMAFGPU__V_F32(a), VMAFGPU__V_F32(b)))
#  define vmafgpu__v_sub_f64(a, b) VMAFGPU__V_OF_F64(VMAFGPU__V(sub_pd)(VMAFGPU__V_F64(a), VMAFGPU__V_F64(b)))
#  define vmafgpu__v_mul_f32(a, b) \
    vmafgpu__v_hold(VMAFGPU__V_OF_F32(VMAFGPU__V(mul_ps)(VMAFGPU__V_F32(a), VMAFGPU__V_F32(b))))
#  define vmafgpu__v_mul_f64(a, b) \
    vmafgpu__v_hold(VMAFGPU__V_OF_F64(VMAFGPU__V(mul_pd)(VMAFGPU__V_F64(a), VMAFGPU__V_F64(b))))
#  define vmafgpu__v_div_f32(a, b) VMAFGPU__V_OF_F32(VMAFGPU__V(div_ps)(VMAFGPU__V_F32(a), VMAFGPU__V_F32(b)))
#  define vmafgpu__v_div_f64(a, b) VMAFGPU__V_OF_F64(VMAFGPU__V(div_pd)(VMAFGPU__V_F64(a), VMAFGPU__V_F64(b)))
#  define vmafgpu__v_min_f64(a, b) VMAFGPU__V_OF_F64(VMAFGPU__V(min_pd)(VMAFGPU__V_F64(a), VMAFGPU__V_F64(b)))
#  define vmafgpu__v_fma_f32(a, b, c) /* a b + c, rounded once */ \
    VMAFGPU__V_OF_F32(VMAFGPU__V(fmadd_ps)(VMAFGPU__V_F32(a), VMAFGPU__V_F32(b), VMAFGPU__V_F32(c)))
#  define vmafgpu__v_fma_f64(a, b, c) \
    VMAFGPU__V_OF_F64(VMAFGPU__V(fmadd_pd)(VMAFGPU__V_F64(a), VMAFGPU__V_F64(b), VMAFGPU__V_F64(c)))
#  define vmafgpu__v_fnma_f32(a, b, c) /* c - a b, rounded once */ \
    VMAFGPU__V_OF_F32(VMAFGPU__V(fnmadd_ps)(VMAFGPU__V_F32(a), VMAFGPU__V_F32(b), VMAFGPU__V_F32(c)))
#  define vmafgpu__v_to_f32(a) VMAFGPU__V_OF_F32(VMAFGPU__V(cvtepi32_ps)(a))
#  define vmafgpu__v_truncate_f32(a) VMAFGPU__V(cvttps_epi32)(VMAFGPU__V_F32(a))
#endif

#if VMAFGPU__LEVEL == VMAFGPU__AVX2
#  define VMAFGPU__V(operation) _mm256_##operation
#  define VMAFGPU__V_BITS(operation) _mm256_##operation##_si256
#  define VMAFGPU__V_F32(a) _mm256_castsi256_ps(a)
#  define VMAFGPU__V_F64(a) _mm256_castsi256_pd(a)
#  define VMAFGPU__V_OF_F32(a) _mm256_castps_si256(a)
#  define VMAFGPU__V_OF_F64(a) _mm256_castpd_si256(a)
#  define vmafgpu__v_load_u8_as_16(p) _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#  define vmafgpu__v_load_u8_as_32(p) _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p)))
#  define vmafgpu__v_load_u16_as_32(p) _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#  define vmafgpu__v_gather32(p, index) _mm256_i32gather_epi32((const int *)(const void *)(p), index, 4)
#  define vmafgpu__v_load_32_as_f64(p) \
    _mm256_castpd_si256(_mm256_cvtepi32_pd(_mm_loadu_si128((const __m128i *)(const void *)(p))))
#  define vmafgpu__v_set64(x) _mm256_set1_epi64x(x)
#  define vmafgpu__v_add_pairs16(sum, a, b) _mm256_add_epi32(sum, _mm256_madd_epi16(a, b))
#  define vmafgpu__v_and_or(a, b, c) _mm256_or_si256(_mm256_and_si256(a, b), c)                      /* (a & b) | c */
#  define vmafgpu__v_select(bits, a, b) _mm256_blendv_epi8(b, a, bits)                  /* a where bits are set, else b */
#  define vmafgpu__v_any(a) (!_mm256_testz_si256(a, a))                                 /* whether any bit is set */
#  define vmafgpu__v_any_and(a, b) (!_mm256_testz_si256(a, b))                          /* whether any is set in both */
#  define vmafgpu__v_equal16(a, b) _mm256_cmpeq_epi16(a, b)                             /* all bits of a lane, or none */
#  define vmafgpu__v_greater8(a, b) _mm256_cmpgt_epi8(a, b)
#  define vmafgpu__v_greater16(a, b) _mm256_cmpgt_epi16(a, b)
/* One bit for each lane of 16 bits in which a and b differ, every LANE_BITS-th of them; and the first such lane. */
#  define VMAFGPU__V_LANE_BITS 2
#  define vmafgpu__v_lanes uint32_t
#  define vmafgpu__v_unequal16(a, b) (~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi16(a, b)) & 0xaaaaaaaau)
#  define vmafgpu__v_first_lane(lanes) ((int)(_tzcnt_u32(lanes) >> 1))
#  define vmafgpu__v_any_positive32(a) \
    (_mm256_movemask_epi8(_mm256_cmpgt_epi32(a, _mm256_setzero_si256())) != 0)
/* The exponent of the float: with the eighth bit below the leading one cleared it is not rounded up to a power of 2. */
#  define vmafgpu__v_leading_zeros32(a) \
    _mm256_sub_epi32(_mm256_set1_epi32(158), \
                     _mm256_srli_epi32(_mm256_castps_si256(_mm256_cvtepi32_ps( \
                         _mm256_andnot_si256(_mm256_srli_epi32(a, 8), a))), 23))
#  define vmafgpu__v_even_odd16(a, b) _mm256_blend_epi16(a, b, 0xaa)                    /* even lanes of a, odd ones of b */
#  define vmafgpu__v_even_odd32(a, b) _mm256_blend_epi32(a, b, 0xaa)
#  define vmafgpu__v_high_halves(even, odd) _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa)   /* of 64 bits */
#  define vmafgpu__v_in_order(a) _mm256_permute4x64_epi64(a, 0xd8)
/* The even lanes of a, then those of b; the odd ones. */
#  define vmafgpu__v_evens32(a, b) \
    vmafgpu__v_in_order(_mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0x88)))
#  define vmafgpu__v_odds32(a, b) \
    vmafgpu__v_in_order(_mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0xdd)))
#  define vmafgpu__v_mask __m256i
#  define vmafgpu__v_greater32(a, b) _mm256_cmpgt_epi32(a, b)
#  define vmafgpu__v_mask_and(a, b) _mm256_and_si256(a, b)
#  define vmafgpu__v_mask_any(mask) (_mm256_movemask_ps(_mm256_castsi256_ps(mask)) != 0)
#  define vmafgpu__v_mask_all(mask) (_mm256_movemask_ps(_mm256_castsi256_ps(mask)) == 255)
#  define vmafgpu__v_mask_count(mask) ((unsigned)_mm_popcnt_u32((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(mask))))
#  define vmafgpu__v_keep32(mask, a) _mm256_and_si256(mask, a)                          /* 0 where the mask is not set */
#  define vmafgpu__v_drop32(mask, a) _mm256_andnot_si256(mask, a)                       /* 0 where it is */
/* To float without rounding up into the top sixteen bits: of the bits below them the first is cleared, as the top bit
 * is set. For 0 <= a < 2^31. */
#  define vmafgpu__v_to_f32_low(a) \
    _mm256_castps_si256(_mm256_cvtepi32_ps(_mm256_andnot_si256(_mm256_srli_epi32(a, 16), a)))
/* The lower half of the floats as doubles, and the upper one. */
#  define vmafgpu__v_low_to_f64(a) _mm256_castpd_si256(_mm256_cvtps_pd(_mm_castsi128_ps(_mm256_castsi256_si128(a))))
#  define vmafgpu__v_high_to_f64(a) _mm256_castpd_si256(_mm256_cvtps_pd(_mm_castsi128_ps(_mm256_extracti128_si256(a, 1))))
/* The whole parts of two registers of doubles, -2^31 < x < 2^31, in some order that is always the same. */
#  define vmafgpu__v_join_truncated_f64(a, b) \
    _mm256_inserti128_si256(_mm256_castsi128_si256(_mm256_cvttpd_epi32(_mm256_castsi256_pd(a))), \
                            _mm256_cvttpd_epi32(_mm256_castsi256_pd(b)), 1)
#  define VMAFGPU__LOG_BITS 3                   /* a table of logarithms has 2^3 entries of 32 bits */
#  define vmafgpu__v_table __m256i
#  define vmafgpu__v_load_table(p) vmafgpu__v_load(p)
#  define vmafgpu__v_lookup32(table, index) _mm256_permutevar8x32_epi32(table, index)   /* by the low LOG_BITS bits */

#elif VMAFGPU__LEVEL == VMAFGPU__AVX512
#  define VMAFGPU__V(operation) _mm512_##operation
#  define VMAFGPU__V_BITS(operation) _mm512_##operation##_si512
#  define VMAFGPU__V_F32(a) _mm512_castsi512_ps(a)
#  define VMAFGPU__V_F64(a) _mm512_castsi512_pd(a)
#  define VMAFGPU__V_OF_F32(a) _mm512_castps_si512(a)
#  define VMAFGPU__V_OF_F64(a) _mm512_castpd_si512(a)
#  define vmafgpu__v_load_u8_as_16(p) _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#  define vmafgpu__v_load_u8_as_32(p) _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#  define vmafgpu__v_load_u16_as_32(p) _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#  define vmafgpu__v_gather32(p, index) _mm512_i32gather_epi32(index, (const int *)(const void *)(p), 4)
#  define vmafgpu__v_load_32_as_f64(p) \
    _mm512_castpd_si512(_mm512_cvtepi32_pd(_mm256_loadu_si256((const __m256i *)(const void *)(p))))
#  define vmafgpu__v_set64(x) _mm512_set1_epi64(x)
#  define vmafgpu__v_add_pairs16(sum, a, b) _mm512_dpwssd_epi32(sum, a, b)
#  define vmafgpu__v_and_or(a, b, c) _mm512_ternarylogic_epi32(a, b, c, 0xea)
#  define vmafgpu__v_select(bits, a, b) _mm512_ternarylogic_epi32(bits, a, b, 0xca)
#  define vmafgpu__v_any(a) (_mm512_test_epi32_mask(a, a) != 0)
#  define vmafgpu__v_any_and(a, b) (_mm512_test_epi32_mask(a, b) != 0)
#  define vmafgpu__v_equal16(a, b) _mm512_movm_epi16(_mm512_cmpeq_epi16_mask(a, b))
#  define vmafgpu__v_greater8(a, b) _mm512_movm_epi8(_mm512_cmpgt_epi8_mask(a, b))
#  define vmafgpu__v_greater16(a, b) _mm512_movm_epi16(_mm512_cmpgt_epi16_mask(a, b))
#  define VMAFGPU__V_LANE_BITS 1
#  define vmafgpu__v_lanes uint32_t
#  define vmafgpu__v_unequal16(a, b) _mm512_cmpneq_epi16_mask(a, b)
#  define vmafgpu__v_first_lane(lanes) ((int)_tzcnt_u32(lanes))
#  define vmafgpu__v_any_positive32(a) (_mm512_cmpgt_epi32_mask(a, _mm512_setzero_si512()) != 0)
#  define vmafgpu__v_leading_zeros32(a) _mm512_lzcnt_epi32(a)
#  define vmafgpu__v_even_odd16(a, b) _mm512_mask_blend_epi16(0xaaaaaaaau, a, b)
#  define vmafgpu__v_even_odd32(a, b) _mm512_mask_blend_epi32(0xaaaa, a, b)
#  define vmafgpu__v_high_halves(even, odd) _mm512_mask_shuffle_epi32(odd, 0x5555, even, (_MM_PERM_ENUM)0xf5)
#  define vmafgpu__v_in_order(a) _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), a)
#  define vmafgpu__v_evens32(a, b) \
    _mm512_permutex2var_epi32(a, _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30), b)
#  define vmafgpu__v_odds32(a, b) \
    _mm512_permutex2var_epi32(a, _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31), b)
#  define vmafgpu__v_mask __mmask16
#  define vmafgpu__v_greater32(a, b) _mm512_cmpgt_epi32_mask(a, b)
#  define vmafgpu__v_mask_and(a, b) ((__mmask16)((a) & (b)))
#  define vmafgpu__v_mask_any(mask) ((mask) != 0)
#  define vmafgpu__v_mask_all(mask) ((mask) == 0xffff)
#  define vmafgpu__v_mask_count(mask) ((unsigned)_mm_popcnt_u32((unsigned)(mask)))
#  define vmafgpu__v_keep32(mask, a) _mm512_maskz_mov_epi32(mask, a)
#  define vmafgpu__v_drop32(mask, a) _mm512_maskz_mov_epi32((__mmask16)~(mask), a)
#  define vmafgpu__v_to_f32_low(a) \
    _mm512_castps_si512(_mm512_cvt_roundepi32_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC))
#  define vmafgpu__v_low_to_f64(a) _mm512_castpd_si512(_mm512_cvtps_pd(_mm256_castsi256_ps(_mm512_castsi512_si256(a))))
#  define vmafgpu__v_high_to_f64(a) \
    _mm512_castpd_si512(_mm512_cvtps_pd(_mm256_castsi256_ps(_mm512_extracti64x4_epi64(a, 1))))
/* The lanes of the mask, one after the other; other levels do without. */
#  define vmafgpu__v_compress32(mask, a) _mm512_maskz_compress_epi32(mask, a)
#  define vmafgpu__v_div_down_f32(a, b) /* rounded down; other levels do without */ \
    _mm512_castps_si512(_mm512_div_round_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), \
                                            _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC))
/* 1.5 * 2^52 up, the last bit is 1. Rounds negative ones down. */
#  define VMAFGPU__V_TRUNCATED(a) \
    _mm512_castpd_si512(_mm512_add_round_pd(_mm512_castsi512_pd(a), _mm512_set1_pd(6755399441055744.0), \
                                            _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC))
#  define vmafgpu__v_join_truncated_f64(a, b) \
    _mm512_mask_shuffle_epi32(VMAFGPU__V_TRUNCATED(a), 0xaaaa, VMAFGPU__V_TRUNCATED(b), (_MM_PERM_ENUM)0xa0)
#  define VMAFGPU__LOG_BITS 5
#  define vmafgpu__v_table VMAFGPU__LEVEL_NAME(vmafgpu__v_table)
typedef struct vmafgpu__v_table {
    vmafgpu__v half[2];
} vmafgpu__v_table;
VMAFGPU__INLINE vmafgpu__v_table VMAFGPU__LEVEL_NAME(vmafgpu__v_load_table)(const void *p) {
    vmafgpu__v_table table;
    table.half[0] = vmafgpu__v_hold(vmafgpu__v_load(p));
    table.half[1] = vmafgpu__v_hold(vmafgpu__v_load((const char *)p + VMAFGPU__V_BYTES));
    return table;
}
#  define vmafgpu__v_load_table(p) VMAFGPU__LEVEL_NAME(vmafgpu__v_load_table)(p)
#  define vmafgpu__v_lookup32(table, index) _mm512_permutex2var_epi32((table).half[0], index, (table).half[1])

#else
/* Operations on lanes of a type: VMAFGPU__V_2(s16, max, a, b) is max of int16x8_t. */
#  define VMAFGPU__V_AS(type, a) vreinterpretq_##type##_s8(a)
#  define VMAFGPU__V_OF(type, a) vreinterpretq_s8_##type(a)
#  define VMAFGPU__V_SET(type, x) VMAFGPU__V_OF(type, vdupq_n_##type(x))
#  define VMAFGPU__V_1(type, operation, a) VMAFGPU__V_OF(type, v##operation##q_##type(VMAFGPU__V_AS(type, a)))
#  define VMAFGPU__V_2(type, operation, a, b) \
    VMAFGPU__V_OF(type, v##operation##q_##type(VMAFGPU__V_AS(type, a), VMAFGPU__V_AS(type, b)))
#  define VMAFGPU__V_3(type, operation, a, b, c) \
    VMAFGPU__V_OF(type, v##operation##q_##type(VMAFGPU__V_AS(type, a), VMAFGPU__V_AS(type, b), VMAFGPU__V_AS(type, c)))
#  define VMAFGPU__V_N(type, operation, a, n) VMAFGPU__V_OF(type, v##operation##q_n_##type(VMAFGPU__V_AS(type, a), n))
/* Shifts left by counts in the lanes; from one type of lanes to half of it and to twice. */
#  define VMAFGPU__V_SHIFT(type, a, counts) VMAFGPU__V_OF(type, vshlq_##type(VMAFGPU__V_AS(type, a), counts))
#  define VMAFGPU__V_NARROW(from, to, operation, a, b) \
    VMAFGPU__V_OF(to, vcombine_##to(v##operation##_##from(VMAFGPU__V_AS(from, a)), \
                                    v##operation##_##from(VMAFGPU__V_AS(from, b))))
#  define VMAFGPU__V_MULL_LOW(type, a, b) \
    vmull_##type(vget_low_##type(VMAFGPU__V_AS(type, a)), vget_low_##type(VMAFGPU__V_AS(type, b)))
#  define VMAFGPU__V_MULL_HIGH(type, a, b) vmull_high_##type(VMAFGPU__V_AS(type, a), VMAFGPU__V_AS(type, b))
#  define vmafgpu__v_load(p) vld1q_s8((const int8_t *)(const void *)(p))
#  define vmafgpu__v_load_u8_as_16(p) VMAFGPU__V_OF(u16, vmovl_u8(vld1_u8((const uint8_t *)(const void *)(p))))
VMAFGPU__INLINE vmafgpu__v VMAFGPU__LEVEL_NAME(vmafgpu__v_load_u8_as_32)(const void *p) {
    uint32_t four;
    memcpy(&four, p, sizeof four);
    return VMAFGPU__V_OF(u32, vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(four)))));
}
#  define vmafgpu__v_load_u8_as_32(p) VMAFGPU__LEVEL_NAME(vmafgpu__v_load_u8_as_32)(p)
#  define vmafgpu__v_load_u16_as_32(p) \
    VMAFGPU__V_OF(u32, vmovl_u16(vreinterpret_u16_u8(vld1_u8((const uint8_t *)(const void *)(p)))))
#  define vmafgpu__v_store(p, a) vst1q_s8((int8_t *)(void *)(p), a)
VMAFGPU__INLINE vmafgpu__v VMAFGPU__LEVEL_NAME(vmafgpu__v_gather32)(const void *p, vmafgpu__v index) {
    uint32_t at[4], value[4];
    vmafgpu__v_store(at, index);
    for (int i = 0; i < 4; i++)
        memcpy(&value[i], (const char *)p + 4 * (size_t)at[i], 4);
    return vmafgpu__v_load(value);
}
#  define vmafgpu__v_gather32(p, index) VMAFGPU__LEVEL_NAME(vmafgpu__v_gather32)(p, index)
#  define vmafgpu__v_load_32_as_f64(p) \
    VMAFGPU__V_OF(f64, vcvtq_f64_s64(vmovl_s32(vld1_s32((const int32_t *)(const void *)(p)))))
#  define vmafgpu__v_zero() vdupq_n_s8(0)
#  define vmafgpu__v_and(a, b) vandq_s8(a, b)
#  define vmafgpu__v_andnot(a, b) vbicq_s8(b, a)
#  define vmafgpu__v_and_or(a, b, c) vorrq_s8(vandq_s8(a, b), c)
#  define vmafgpu__v_or(a, b) vorrq_s8(a, b)
#  define vmafgpu__v_xor(a, b) veorq_s8(a, b)
#  define vmafgpu__v_select(bits, a, b) vbslq_s8(vreinterpretq_u8_s8(bits), a, b)
#  define vmafgpu__v_any(a) (vmaxvq_u32(VMAFGPU__V_AS(u32, a)) != 0)
#  define vmafgpu__v_any_and(a, b) vmafgpu__v_any(vandq_s8(a, b))
#  define vmafgpu__v_equal16(a, b) VMAFGPU__V_OF(u16, vceqq_s16(VMAFGPU__V_AS(s16, a), VMAFGPU__V_AS(s16, b)))
#  define vmafgpu__v_greater8(a, b) vreinterpretq_s8_u8(vcgtq_s8(a, b))
#  define vmafgpu__v_greater16(a, b) VMAFGPU__V_OF(u16, vcgtq_s16(VMAFGPU__V_AS(s16, a), VMAFGPU__V_AS(s16, b)))
#  define VMAFGPU__V_LANE_BITS 8
#  define vmafgpu__v_lanes uint64_t
#  define vmafgpu__v_unequal16(a, b) \
    (~vget_lane_u64(vreinterpret_u64_u8(vmovn_u16(vceqq_s16(VMAFGPU__V_AS(s16, a), VMAFGPU__V_AS(s16, b)))), 0) & \
     0x8080808080808080u)
#  define vmafgpu__v_first_lane(lanes) (__builtin_ctzll(lanes) >> 3)
#  define vmafgpu__v_any_positive32(a) (vmaxvq_s32(VMAFGPU__V_AS(s32, a)) > 0)
#  define vmafgpu__v_set16(x) VMAFGPU__V_SET(s16, x)
#  define vmafgpu__v_set8(x) vdupq_n_s8(x)
#  define vmafgpu__v_set32(x) VMAFGPU__V_SET(s32, x)
#  define vmafgpu__v_set64(x) VMAFGPU__V_SET(s64, (int64_t)(x))
#  define vmafgpu__v_add16(a, b) VMAFGPU__V_2(s16, add, a, b)
#  define vmafgpu__v_add8(a, b) vaddq_s8(a, b)
#  define vmafgpu__v_add32(a, b) VMAFGPU__V_2(s32, add, a, b)
#  define vmafgpu__v_add64(a, b) VMAFGPU__V_2(s64, add, a, b)
#  define vmafgpu__v_sub16(a, b) VMAFGPU__V_2(s16, sub, a, b)
#  define vmafgpu__v_sub8(a, b) vsubq_s8(a, b)
#  define vmafgpu__v_sub32(a, b) VMAFGPU__V_2(s32, sub, a, b)
#  define vmafgpu__v_sub_to_0_u16(a, b) VMAFGPU__V_2(u16, qsub, a, b)
#  define vmafgpu__v_average_u16(a, b) VMAFGPU__V_2(u16, rhadd, a, b)
#  define vmafgpu__v_abs16(a) VMAFGPU__V_1(s16, abs, a)
#  define vmafgpu__v_abs32(a) VMAFGPU__V_1(s32, abs, a)
#  define vmafgpu__v_min16(a, b) VMAFGPU__V_2(s16, min, a, b)
#  define vmafgpu__v_min_u16(a, b) VMAFGPU__V_2(u16, min, a, b)
#  define vmafgpu__v_min_u32(a, b) VMAFGPU__V_2(u32, min, a, b)
#  define vmafgpu__v_max16(a, b) VMAFGPU__V_2(s16, max, a, b)
#  define vmafgpu__v_max32(a, b) VMAFGPU__V_2(s32, max, a, b)
#  define vmafgpu__v_mullo16(a, b) VMAFGPU__V_2(s16, mul, a, b)
#  define vmafgpu__v_mullo32(a, b) VMAFGPU__V_2(s32, mul, a, b)
#  define vmafgpu__v_mulhi_u16(a, b) \
    VMAFGPU__V_OF(u16, vuzp2q_u16(vreinterpretq_u16_u32(VMAFGPU__V_MULL_LOW(u16, a, b)), \
                                  vreinterpretq_u16_u32(VMAFGPU__V_MULL_HIGH(u16, a, b))))
#  define vmafgpu__v_mul_round16(a, b) VMAFGPU__V_2(s16, qrdmulh, a, b)
#  define vmafgpu__v_mul_even32(a, b) \
    VMAFGPU__V_OF(s64, vmull_s32(vmovn_s64(VMAFGPU__V_AS(s64, a)), vmovn_s64(VMAFGPU__V_AS(s64, b))))
#  define vmafgpu__v_mul_even_u32(a, b) \
    VMAFGPU__V_OF(u64, vmull_u32(vmovn_u64(VMAFGPU__V_AS(u64, a)), vmovn_u64(VMAFGPU__V_AS(u64, b))))
#  define vmafgpu__v_pairs16(a, b) \
    VMAFGPU__V_OF(s32, vpaddq_s32(VMAFGPU__V_MULL_LOW(s16, a, b), VMAFGPU__V_MULL_HIGH(s16, a, b)))
#  define vmafgpu__v_add_pairs16(sum, a, b) vmafgpu__v_add32(sum, vmafgpu__v_pairs16(a, b))
#  define vmafgpu__v_sll16(a, n) VMAFGPU__V_SHIFT(u16, a, vdupq_n_s16((int16_t)(n)))
#  define vmafgpu__v_srl16(a, n) VMAFGPU__V_SHIFT(u16, a, vdupq_n_s16((int16_t)-(n)))
#  define vmafgpu__v_sll32(a, n) VMAFGPU__V_SHIFT(u32, a, vdupq_n_s32(n))
#  define vmafgpu__v_srl32(a, n) VMAFGPU__V_SHIFT(u32, a, vdupq_n_s32(-(n)))
#  define vmafgpu__v_slli16(a, n) VMAFGPU__V_N(s16, shl, a, n)
#  define vmafgpu__v_srai16(a, n) VMAFGPU__V_N(s16, shr, a, n)
#  define vmafgpu__v_slli32(a, n) VMAFGPU__V_N(s32, shl, a, n)
#  define vmafgpu__v_srli32(a, n) VMAFGPU__V_N(u32, shr, a, n)
#  define vmafgpu__v_srai32(a, n) VMAFGPU__V_N(s32, shr, a, n)
#  define vmafgpu__v_slli64(a, n) VMAFGPU__V_N(u64, shl, a, n)
#  define vmafgpu__v_srli64(a, n) VMAFGPU__V_N(u64, shr, a, n)
#  define vmafgpu__v_sllv32(a, n) VMAFGPU__V_SHIFT(u32, a, VMAFGPU__V_AS(s32, n))
#  define vmafgpu__v_srav32(a, n) VMAFGPU__V_SHIFT(s32, a, vnegq_s32(VMAFGPU__V_AS(s32, n)))
#  define vmafgpu__v_srlv64(a, n) VMAFGPU__V_SHIFT(u64, a, vnegq_s64(VMAFGPU__V_AS(s64, n)))
#  define vmafgpu__v_leading_zeros32(a) VMAFGPU__V_1(u32, clz, a)
#  define vmafgpu__v_unpack_low16(a, b) VMAFGPU__V_2(s16, zip1, a, b)
#  define vmafgpu__v_unpack_high16(a, b) VMAFGPU__V_2(s16, zip2, a, b)
#  define vmafgpu__v_pack16(a, b) vcombine_s8(vqmovn_s16(VMAFGPU__V_AS(s16, a)), vqmovn_s16(VMAFGPU__V_AS(s16, b)))
#  define vmafgpu__v_pack_u16(a, b) VMAFGPU__V_NARROW(s16, u8, qmovun, a, b)
#  define vmafgpu__v_pack32(a, b) VMAFGPU__V_NARROW(s32, s16, qmovn, a, b)
#  define vmafgpu__v_pack_u32(a, b) VMAFGPU__V_NARROW(s32, u16, qmovun, a, b)
#  define vmafgpu__v_in_order(a) (a)
#  define vmafgpu__v_evens32(a, b) VMAFGPU__V_2(s32, uzp1, a, b)
#  define vmafgpu__v_odds32(a, b) VMAFGPU__V_2(s32, uzp2, a, b)
#  define vmafgpu__v_even_odd16(a, b) vmafgpu__v_select(VMAFGPU__V_SET(u32, 65535), a, b)
#  define vmafgpu__v_even_odd32(a, b) vmafgpu__v_select(VMAFGPU__V_SET(u64, 0xffffffff), a, b)
#  define vmafgpu__v_high_halves(even, odd) VMAFGPU__V_2(s32, trn2, even, odd)
#  define vmafgpu__v_mask int8x16_t
#  define vmafgpu__v_greater32(a, b) VMAFGPU__V_OF(u32, vcgtq_s32(VMAFGPU__V_AS(s32, a), VMAFGPU__V_AS(s32, b)))
#  define vmafgpu__v_mask_and(a, b) vandq_s8(a, b)
#  define vmafgpu__v_mask_any(mask) (vmaxvq_u32(VMAFGPU__V_AS(u32, mask)) != 0)
#  define vmafgpu__v_mask_all(mask) (vminvq_u32(VMAFGPU__V_AS(u32, mask)) != 0)
#  define vmafgpu__v_mask_count(mask) (vaddvq_u32(vshrq_n_u32(VMAFGPU__V_AS(u32, mask), 31)))
#  define vmafgpu__v_keep32(mask, a) vandq_s8(mask, a)
#  define vmafgpu__v_drop32(mask, a) vbicq_s8(a, mask)
#  define vmafgpu__v_set_f32(x) VMAFGPU__V_SET(f32, x)
#  define vmafgpu__v_set_f64(x) VMAFGPU__V_SET(f64, x)
#  define vmafgpu__v_add_f32(a, b) VMAFGPU__V_2(f32, add, a, b)
#  define vmafgpu__v_add_f64(a, b) VMAFGPU__V_2(f64, add, a, b)
#  define vmafgpu__v_sub_f32(a, b) VMAFGPU__V_2(f32, sub, a, b)
#  define vmafgpu__v_sub_f64(a, b) VMAFGPU__V_2(f64, sub, a, b)
#  define vmafgpu__v_mul_f32(a, b) vmafgpu__v_hold(VMAFGPU__V_2(f32, mul, a, b))
#  define vmafgpu__v_mul_f64(a, b) vmafgpu__v_hold(VMAFGPU__V_2(f64, mul, a, b))
#  define vmafgpu__v_div_f32(a, b) VMAFGPU__V_2(f32, div, a, b)
#  define vmafgpu__v_div_f64(a, b) VMAFGPU__V_2(f64, div, a, b)
#  define vmafgpu__v_min_f64(a, b) VMAFGPU__V_2(f64, min, a, b)
#  define vmafgpu__v_fma_f32(a, b, c) VMAFGPU__V_3(f32, fma, c, a, b)
#  define vmafgpu__v_fma_f64(a, b, c) VMAFGPU__V_3(f64, fma, c, a, b)
#  define vmafgpu__v_fnma_f32(a, b, c) VMAFGPU__V_3(f32, fms, c, a, b)
#  define vmafgpu__v_to_f32(a) VMAFGPU__V_OF(f32, vcvtq_f32_s32(VMAFGPU__V_AS(s32, a)))
#  define vmafgpu__v_to_f32_low(a) vmafgpu__v_to_f32(vmafgpu__v_andnot(vmafgpu__v_srli32(a, 16), a))
#  define vmafgpu__v_low_to_f64(a) VMAFGPU__V_OF(f64, vcvt_f64_f32(vget_low_f32(VMAFGPU__V_AS(f32, a))))
#  define vmafgpu__v_high_to_f64(a) VMAFGPU__V_OF(f64, vcvt_high_f64_f32(VMAFGPU__V_AS(f32, a)))
#  define vmafgpu__v_truncate_f32(a) VMAFGPU__V_OF(s32, vcvtq_s32_f32(VMAFGPU__V_AS(f32, a)))
#  define vmafgpu__v_join_truncated_f64(a, b) \
    VMAFGPU__V_OF(s32, vcombine_s32(vmovn_s64(vcvtq_s64_f64(VMAFGPU__V_AS(f64, a))), \
                                    vmovn_s64(vcvtq_s64_f64(VMAFGPU__V_AS(f64, b)))))
#  define VMAFGPU__LOG_BITS 3
#  define vmafgpu__v_table int8x16x2_t
#  define vmafgpu__v_load_table(p) vld1q_s8_x2((const int8_t *)(const void *)(p))
#  define vmafgpu__v_lookup32(table, index) \
    vqtbl2q_s8(table, vreinterpretq_u8_u32(vmlaq_u32(vdupq_n_u32(0x03020100), \
        vandq_u32(VMAFGPU__V_AS(u32, index), vdupq_n_u32(7)), vdupq_n_u32(0x04040404))))
#endif
/* ---- import ---- */

static uint32_t VMAFGPU__LEVEL_NAME(vmafgpu__or_words)(const uint8_t *words, int w) {
    enum { LANES = VMAFGPU__V_BYTES / 2 };
    uint16_t lanes[LANES];
    vmafgpu__v seen = vmafgpu__v_zero();
    int x = 0;
    for (; x + LANES <= w; x += LANES)
        seen = vmafgpu__v_or(seen, vmafgpu__v_load(words + 2 * x));
    vmafgpu__v_store(lanes, seen);
    uint32_t all = 0;
    for (int i = 0; i < LANES; i++)
        all |= lanes[i];
    for (; x < w; x++)
        all |= (uint32_t)words[2 * x] | (uint32_t)words[2 * x + 1] << 8;
    return all;
}

/* ---- motion ----
 *
 * Two rows at a time. Rows of differences are kept in pairs, the upper row's samples in the even, the lower one's in the odd
 * lanes of 16 bits, as sums of pairs of products need them: three pairs are the windows of two rows. Along a row the pairs
 * are neighbours, and three loads are the windows of an even and of an odd column.
 *
 * A sum down the columns has 17 bits. Where one does not fit 16, the two rows are done again with halves and last bits apart:
 * sum(t (2 a + b)) + 2^15 >> 16 is sum(t a) + (sum(t b) + 2^15 >> 1) >> 15, and all of that fits 32 bits.
 */
#define VMAFGPU__MOTION(name) VMAFGPU__LEVEL_NAME(vmafgpu__motion_##name)

typedef struct VMAFGPU__MOTION(taps) {
    vmafgpu__v of[2][3];                     /* of the window's pairs, for the even and the odd row or column */
} VMAFGPU__MOTION(taps);

VMAFGPU__INLINE VMAFGPU__MOTION(taps) VMAFGPU__MOTION(taps_of)(void) {
    VMAFGPU__MOTION(taps) t;
    uint32_t tap[7] = { 0 };
    for (int k = 0; k < 5; k++)
        tap[1 + k] = (uint32_t)vmafgpu__motion_taps[k];
    VMAFGPU__UNROLL
    for (int k = 0; k < 3; k++) {
        t.of[0][k] = vmafgpu__v_set32((int32_t)(tap[2 + 2 * k] << 16 | tap[1 + 2 * k]));
        t.of[1][k] = vmafgpu__v_set32((int32_t)(tap[1 + 2 * k] << 16 | tap[2 * k]));
    }
    return t;
}

VMAFGPU__INLINE vmafgpu__v VMAFGPU__MOTION(sum)(vmafgpu__v start, const vmafgpu__v *pairs, const vmafgpu__v *taps) {
    start = vmafgpu__v_add_pairs16(start, pairs[0], taps[0]);
    start = vmafgpu__v_add_pairs16(start, pairs[1], taps[1]);
    return vmafgpu__v_add_pairs16(start, pairs[2], taps[2]);
}

/* before - now, at as many columns from x on as there are 16-bit lanes. */
VMAFGPU__INLINE vmafgpu__v VMAFGPU__MOTION(difference)(const void *before, const void *now, int wide, int x) {
    const uint8_t *a = (const uint8_t *)before, *b = (const uint8_t *)now;
    if (wide)
        return vmafgpu__v_sub16(vmafgpu__v_load(a + 2 * x), vmafgpu__v_load(b + 2 * x));
    return vmafgpu__v_sub16(vmafgpu__v_load_u8_as_16(a + x), vmafgpu__v_load_u8_as_16(b + x));
}

/* A pair of rows: those of `before`, then those of `now`. */
VMAFGPU__INLINE void VMAFGPU__MOTION(pair)(const void *const *rows, int wide, int x, int16_t *out, vmafgpu__v *pair) {
    const vmafgpu__v a = VMAFGPU__MOTION(difference)(rows[0], rows[2], wide, x);
    const vmafgpu__v b = VMAFGPU__MOTION(difference)(rows[1], rows[3], wide, x);
    pair[0] = vmafgpu__v_unpack_low16(a, b);
    pair[1] = vmafgpu__v_unpack_high16(a, b);
    vmafgpu__v_store(out + 2 * x, pair[0]);
    vmafgpu__v_store(out + 2 * x + VMAFGPU__V_BYTES / 2, pair[1]);
}

/* The vertical pass of two rows. Makes the third pair, and asks memory for the rows of the fourth; or if `split` takes it as
 * it is. Returns whether sums did not fit. */
VMAFGPU__INLINE int VMAFGPU__MOTION(down)(const vmafgpu__motion_job *job, int16_t *const *pair, const void *const *rows,
                                          int wide, int split) {
    enum { LANES = VMAFGPU__V_BYTES / 2 };
    const VMAFGPU__MOTION(taps) t = VMAFGPU__MOTION(taps_of)();
    const vmafgpu__v half = vmafgpu__v_set32(1 << (job->bit_depth - 1)), shift = vmafgpu__v_set32(job->bit_depth);
    const vmafgpu__v one = vmafgpu__v_set32(1);
    vmafgpu__v least = vmafgpu__v_zero(), most = least;
    for (int x = 0; x < job->w; x += LANES) {
        vmafgpu__v p[2][3], third[2];
        VMAFGPU__UNROLL
        for (int k = 0; k < 2 + split; k++) {
            p[0][k] = vmafgpu__v_load(pair[k] + 2 * x);
            p[1][k] = vmafgpu__v_load(pair[k] + 2 * x + LANES);
        }
        if (!split) {
            for (int k = 4; k < 8; k++)
                vmafgpu__v_prefetch((const uint8_t *)rows[k] + (x << wide));
            VMAFGPU__MOTION(pair)(rows, wide, x, pair[2], third);
            p[0][2] = third[0];
            p[1][2] = third[1];
        }
        VMAFGPU__UNROLL
        for (int row = 0; row < 2; row++) {
            vmafgpu__v a = vmafgpu__v_srav32(VMAFGPU__MOTION(sum)(half, p[0], t.of[row]), shift);
            vmafgpu__v b = vmafgpu__v_srav32(VMAFGPU__MOTION(sum)(half, p[1], t.of[row]), shift);
            if (split) {
                vmafgpu__v_store(job->lines->row[row][1] + x,
                                 vmafgpu__v_pack32(vmafgpu__v_and(a, one), vmafgpu__v_and(b, one)));
                a = vmafgpu__v_srai32(a, 1);
                b = vmafgpu__v_srai32(b, 1);
            }
            const vmafgpu__v words = vmafgpu__v_pack32(a, b);
            vmafgpu__v_store(job->lines->row[row][0] + x, words);
            least = vmafgpu__v_min16(least, words);
            most = vmafgpu__v_max16(most, words);
        }
    }
    most = vmafgpu__v_max16(most, vmafgpu__v_xor(least, vmafgpu__v_set32(-1)));
    return vmafgpu__v_any(vmafgpu__v_sub_to_0_u16(most, vmafgpu__v_set16(32766)));
}

/* A row's sum is below 2^30 per lane: 65536 for each of 16384 columns, over four lanes or more. */
VMAFGPU__INLINE int64_t VMAFGPU__MOTION(along)(int16_t *const *line, int w, int split) {
    enum { LANES = VMAFGPU__V_BYTES / 2 };
    const VMAFGPU__MOTION(taps) t = VMAFGPU__MOTION(taps_of)();
    const vmafgpu__v half = vmafgpu__v_set32(32768), ones = vmafgpu__v_set16(1);
    vmafgpu__v sum = vmafgpu__v_zero();
    for (int part = 0; part <= split; part++)
        for (int k = 1; k <= 2; k++) {
            line[part][-k] = line[part][k];
            line[part][w - 1 + k] = line[part][w - 1 - k];
        }
    for (int x = 0; x < w; x += LANES) {
        vmafgpu__v pairs[2][3], s[2];
        vmafgpu__v inside = vmafgpu__v_set32(-1);
        if (x + LANES > w)
            inside = vmafgpu__v_load(vmafgpu__inside + 32 - (w - x));
        VMAFGPU__UNROLL
        for (int part = 0; part <= split; part++)
            VMAFGPU__UNROLL
            for (int k = 0; k < 3; k++)
                pairs[part][k] = vmafgpu__v_load(line[part] + x - 2 + 2 * k);
        VMAFGPU__UNROLL
        for (int odd = 0; odd < 2; odd++) {
            s[odd] = VMAFGPU__MOTION(sum)(half, pairs[split], t.of[odd]);
            if (split) {
                s[odd] = VMAFGPU__MOTION(sum)(vmafgpu__v_srai32(s[odd], 1), pairs[0], t.of[odd]);
                s[odd] = vmafgpu__v_abs32(vmafgpu__v_srai32(s[odd], 15));
                const vmafgpu__v lanes = odd ? inside : vmafgpu__v_slli32(inside, 16);
                sum = vmafgpu__v_add32(sum, vmafgpu__v_and(s[odd], vmafgpu__v_srai32(lanes, 16)));
            }
        }
        if (!split) {
            vmafgpu__v words = vmafgpu__v_abs16(vmafgpu__v_even_odd16(vmafgpu__v_srli32(s[0], 16), s[1]));
            if (x + LANES > w)
                words = vmafgpu__v_and(words, inside);
            sum = vmafgpu__v_add_pairs16(sum, words, ones);
        }
    }
    uint32_t lanes[VMAFGPU__V_WORDS];
    int64_t total = 0;
    vmafgpu__v_store(lanes, sum);
    for (int i = 0; i < VMAFGPU__V_WORDS; i++)
        total += lanes[i];
    return total;
}

static int64_t VMAFGPU__MOTION(split_rows)(const vmafgpu__motion_job *job, int16_t *const *pair, int count) {
    int64_t total = 0;
    (void)VMAFGPU__MOTION(down)(job, pair, NULL, 0, 1);
    for (int row = 0; row < count; row++)
        total += VMAFGPU__MOTION(along)(job->lines->row[row], job->w, 1);
    return total;
}

static void VMAFGPU__MOTION(rows_at)(const vmafgpu__motion_job *job, int y, const void **rows) {
    for (int k = 0; k < 2; k++) {
        rows[k] = vmafgpu__view_row(job->before, vmafgpu__reflect(y + k, job->h));
        rows[2 + k] = vmafgpu__view_row(job->now, vmafgpu__reflect(y + k, job->h));
    }
}

static int64_t VMAFGPU__MOTION(rows)(const vmafgpu__motion_job *job, int first, int end) {
    int16_t *pair[3] = { job->lines->pair[0], job->lines->pair[1], job->lines->pair[2] };
    const void *rows[8];
    int64_t total = 0;
    if (job->bit_depth > 15)
        return vmafgpu__motion_rows_scalar(job, first, end);
    for (int k = 0; k < 2; k++) {
        vmafgpu__v unused[2];
        VMAFGPU__MOTION(rows_at)(job, first - 2 + 2 * k, rows);
        for (int x = 0; x < job->w; x += VMAFGPU__V_BYTES / 2)
            VMAFGPU__MOTION(pair)(rows, job->wide, x, pair[k], unused);
    }
    for (int y = first; y < end; y += 2) {
        const int count = y + 1 < end ? 2 : 1;
        VMAFGPU__MOTION(rows_at)(job, y + 2, rows);
        VMAFGPU__MOTION(rows_at)(job, y + 4, rows + 4);
        if (job->wide ? VMAFGPU__MOTION(down)(job, pair, rows, 1, 0) : VMAFGPU__MOTION(down)(job, pair, rows, 0, 0))
            total += VMAFGPU__MOTION(split_rows)(job, pair, count);
        else
            for (int row = 0; row < count; row++)
                total += VMAFGPU__MOTION(along)(job->lines->row[row], job->w, 0);
        int16_t *const oldest = pair[0];
        pair[0] = pair[1];
        pair[1] = pair[2];
        pair[2] = oldest;
    }
    return total;
}

/* ---- VIF ----
 *
 * A strip of columns is worked off from the top of the band to its bottom, four rows at a time. Rows are kept in pairs,
 * the samples of the upper row in the even, those of the lower one in the odd lanes of 16 bits, which is what sums of
 * pairs of products need; the same pairs serve all four rows, with taps that are shifted by one from row to row. Squares are
 * made anew for each four rows: that takes less than fetching them from the L2 cache.
 *
 * Along a row the pairs are neighbouring samples, and those that are even in their order are kept apart from the odd ones:
 * what lies next to each other then are pairs four columns apart, and each load serves four columns in the same way as one
 * downwards serves four rows. Most such loads cross lines of the cache, which makes them dear.
 *
 * Factors are signed, so values of 16 bits are kept less 32768 and the sum of products is too small by 2^31, the taps'
 * sum being 2^16. What has more than 16 bits is summed in halves: sum(t * x) = 2^16 * sum(t * high) + sum(t * low),
 * each of which fits 32 bits. The taps of scale 3 are halved, as the middle one exceeds 32767, and sums doubled: all
 * are even.
 */

/* Taps for a window that starts on an even row or column, and for the one after it. */
typedef struct VMAFGPU__LEVEL_NAME(vmafgpu__vif_taps_of) {
    vmafgpu__v even[9], odd[9];
} VMAFGPU__LEVEL_NAME(vmafgpu__vif_taps_of);
#define VMAFGPU__VIF_TAPS VMAFGPU__LEVEL_NAME(vmafgpu__vif_taps_of)

/* Sizes and strides that the compiler knows when it makes the functions for one kind of image. */
enum { VMAFGPU__LEVEL_NAME(VMAFGPU__VIF_BLOCK) = VMAFGPU__V_BYTES / 2 };   /* columns of a register of 16 bits */
#define VMAFGPU__VIF_BLOCK VMAFGPU__LEVEL_NAME(VMAFGPU__VIF_BLOCK)

/* Both filters of a scale have their window in a window of `reach`. Pairs in it, and in that of four rows or columns. Along
 * rows the reach is 2 at least, so that windows begin with a pair. */
#define VMAFGPU__VIF_PAIRS(reach) ((reach) + 1)
#define VMAFGPU__VIF_SLOTS(reach) ((reach) + 2)
#define VMAFGPU__VIF_ALONG(reach) ((reach) < 2 ? 2 : (reach))

/* From the even pairs of a line to its odd ones in elements, a multiple of 32; where column x of a line is, counted from its
 * first. */
#define VMAFGPU__VIF_ODD(widest) (((widest) + VMAFGPU__VIF_FILL) / 2 + 2 * VMAFGPU__VIF_MARGIN)
#define VMAFGPU__VIF_PLACE(odd, x) (((x) >> 1 & 1) * (odd) + ((x) >> 2) * 2 + ((x) & 1))

/* The state of one strip. */
typedef struct VMAFGPU__LEVEL_NAME(vmafgpu__vif_strip) {
    const vmafgpu__vif_job *job;
    int        left, columns;     /* first column and number of columns that the vertical pass does */
    int        blocks;            /* registers of 16 bits that they fill, even ones for even pairs */
    int        x, end;            /* columns that belong to the strip */
    /* Per row, from column `left` on: mean, high and low halves of squares; the same of the distorted image, and
     * halves of the products. And of both images two rows of the next one's. */
    uint16_t  *line[4][8], *next_line[2][2];
    ptrdiff_t  odd;               /* from the even pairs of a line to its odd ones */
    /* Of as many columns as fill four registers, first each fourth, then each fourth from 1 on, from 2, from 3. */
    uint32_t  *mean[4];           /* the reference's weighted mean, per row */
    int32_t   *variance[6];       /* s1 per row, s2, s12 */
    int        mean_shift, square_shift;
    vmafgpu__v mean_start, high_start, low_start, next_start;   /* what sums start from */
} VMAFGPU__LEVEL_NAME(vmafgpu__vif_strip);
#define VMAFGPU__VIF_STATE VMAFGPU__LEVEL_NAME(vmafgpu__vif_strip)

/* Sums of many samples per lane; each term of the logarithms is below 2^15. */
typedef struct VMAFGPU__LEVEL_NAME(vmafgpu__vif_totals) {
    /* Logarithms are kept in two, see vif_logs. */
    vmafgpu__v numerator[VMAFGPU__MAX_VARIANTS][2];
    vmafgpu__v denominator[2];  /* with VIF_LOG_BIAS and VIF_LOG_NOISE too much for each of `registers` */
    vmafgpu__v noise[2];        /* of 64 bits: odd lanes of 32 bits times 2^32 plus even ones, and odd ones alone */
    unsigned   logs, registers;
} VMAFGPU__LEVEL_NAME(vmafgpu__vif_totals);
#define VMAFGPU__VIF_TOTALS VMAFGPU__LEVEL_NAME(vmafgpu__vif_totals)

/* The same taps, which compilers then load anew: they would keep them in registers that the sums need. */
VMAFGPU__INLINE const VMAFGPU__VIF_TAPS *VMAFGPU__LEVEL_NAME(vmafgpu__vif_anew)(const VMAFGPU__VIF_TAPS *taps) {
    __asm__ volatile("" : "+r"(taps));
    return taps;
}
#define vmafgpu__vif_anew_ VMAFGPU__LEVEL_NAME(vmafgpu__vif_anew)

/* The taps of `scale` in a window that is meant for `reach`. */
static void VMAFGPU__LEVEL_NAME(vmafgpu__vif_set_taps)(VMAFGPU__VIF_TAPS *out, int scale, int reach) {
    const int own = vmafgpu__vif_reach(scale), pairs = VMAFGPU__VIF_PAIRS(reach);
    int16_t t[2 * 9 + 2] = { 0 };
    for (int i = 0; i <= 2 * own; i++)
        t[1 + reach - own + i] = (int16_t)(vmafgpu__vif_taps[scale][i] >> (scale == 3));
    for (int i = 0; i < pairs; i++) {
        const uint32_t even = (uint16_t)t[1 + 2 * i] | (uint32_t)(uint16_t)t[2 + 2 * i] << 16;
        const uint32_t odd = (uint16_t)t[2 * i] | (uint32_t)(uint16_t)t[1 + 2 * i] << 16;
        out->even[i] = vmafgpu__v_set32((int32_t)even);
        out->odd[i] = vmafgpu__v_set32((int32_t)odd);
    }
}

/* The starting value of a sum, which is doubled in the end where taps are halved. */
VMAFGPU__INLINE vmafgpu__v VMAFGPU__LEVEL_NAME(vmafgpu__vif_start)(uint32_t v, int halved) {
    return vmafgpu__v_set32((int32_t)(v >> halved));
}
#define vmafgpu__vif_start_ VMAFGPU__LEVEL_NAME(vmafgpu__vif_start)

/* Adds pair i of a window to the sums of its four rows or columns. They are held, so that compilers leave them in this order
 * and in registers. */
VMAFGPU__INLINE void VMAFGPU__LEVEL_NAME(vmafgpu__vif_add_pair)(vmafgpu__v *sum, vmafgpu__v a, const VMAFGPU__VIF_TAPS *taps,
                                                                int i, int pairs) {
    if (i < pairs) {
        sum[0] = vmafgpu__v_hold(vmafgpu__v_add_pairs16(sum[0], a, taps->even[i]));
        sum[1] = vmafgpu__v_hold(vmafgpu__v_add_pairs16(sum[1], a, taps->odd[i]));
    }
    if (i > 0) {
        sum[2] = vmafgpu__v_hold(vmafgpu__v_add_pairs16(sum[2], a, taps->even[i - 1]));
        sum[3] = vmafgpu__v_hold(vmafgpu__v_add_pairs16(sum[3], a, taps->odd[i - 1]));
    }
}
#define vmafgpu__vif_add_pair_ VMAFGPU__LEVEL_NAME(vmafgpu__vif_add_pair)

/* ---- pairs of rows ---- */

/* Samples x.. of a row as 16 bits; what lies beyond the last column is anything. */
VMAFGPU__INLINE vmafgpu__v VMAFGPU__LEVEL_NAME(vmafgpu__vif_load)(const char *row, int wide, int x, int w) {
    uint16_t part[VMAFGPU__VIF_BLOCK];
    const char *from = row + ((ptrdiff_t)x << wide);
    if (x + VMAFGPU__VIF_BLOCK > w) {
        memset(part, 0, sizeof part);
        if (x < w)
            memcpy(part, from, (size_t)(w - x) << wide);
        from = (const char *)part;
    }
    return wide ? vmafgpu__v_load(from) : vmafgpu__v_load_u8_as_16(from);
}
#define vmafgpu__vif_load_ VMAFGPU__LEVEL_NAME(vmafgpu__vif_load)

/* Where row y is in memory, mirrored at the borders; one of no use where that leads outside again. */
VMAFGPU__INLINE const char *VMAFGPU__LEVEL_NAME(vmafgpu__vif_row_at)(const VMAFGPU__VIF_STATE *s,
                                                                     const vmafgpu__vif_picture *image, int wide, int y) {
    const int at = vmafgpu__reflect(y, s->job->h);
    return (const char *)image->row + (at < 0 ? 0 : at) * image->pitch + ((ptrdiff_t)s->left << wide);
}
#define vmafgpu__vif_row_at_ VMAFGPU__LEVEL_NAME(vmafgpu__vif_row_at)

/* Takes in two rows: the first columns of even pairs, their second ones, and the same of odd pairs. */
VMAFGPU__INLINE void VMAFGPU__LEVEL_NAME(vmafgpu__vif_take)(const VMAFGPU__VIF_STATE *s,
                                                            const vmafgpu__vif_picture *image,
                                                            int wide, int y, char *to) {
    const vmafgpu__v sign = vmafgpu__v_set16(-32768);
    const char *row[2] = { vmafgpu__vif_row_at_(s, image, wide, y), vmafgpu__vif_row_at_(s, image, wide, y + 1) };
    const int w = s->job->w - s->left;
    for (int x = 0; x < s->columns; x += 2 * VMAFGPU__VIF_BLOCK) {
        vmafgpu__v even[2], odd[2];
        VMAFGPU__UNROLL
        for (int i = 0; i < 2; i++) {
            const vmafgpu__v a = vmafgpu__vif_load_(row[i], wide, x, w);
            const vmafgpu__v b = vmafgpu__vif_load_(row[i], wide, x + VMAFGPU__VIF_BLOCK, w);
            even[i] = vmafgpu__v_evens32(a, b);
            odd[i] = vmafgpu__v_odds32(a, b);
        }
        const vmafgpu__v four[4] = { vmafgpu__v_even_odd16(even[0], vmafgpu__v_slli32(even[1], 16)),
                                     vmafgpu__v_even_odd16(vmafgpu__v_srli32(even[0], 16), even[1]),
                                     vmafgpu__v_even_odd16(odd[0], vmafgpu__v_slli32(odd[1], 16)),
                                     vmafgpu__v_even_odd16(vmafgpu__v_srli32(odd[0], 16), odd[1]) };
        VMAFGPU__UNROLL
        for (int i = 0; i < 4; i++, to += VMAFGPU__V_BYTES)
            vmafgpu__v_store(to, wide ? vmafgpu__v_xor(four[i], sign) : four[i]);
    }
}

/* ---- down the columns ---- */

/* 32-bit values of the first and the second columns of pairs into lines of halves, less 32768. The upper ones come so. */
VMAFGPU__INLINE void VMAFGPU__LEVEL_NAME(vmafgpu__vif_put_halves)(uint16_t *high, uint16_t *low, vmafgpu__v a,
                                                                  vmafgpu__v b) {
    const vmafgpu__v sign = vmafgpu__v_set16(-32768);
    vmafgpu__v_store(high, vmafgpu__v_even_odd16(vmafgpu__v_srli32(a, 16), b));
    vmafgpu__v_store(low, vmafgpu__v_xor(sign, vmafgpu__v_even_odd16(a, vmafgpu__v_slli32(b, 16))));
}
#define vmafgpu__vif_put_halves_ VMAFGPU__LEVEL_NAME(vmafgpu__vif_put_halves)

/* The halves of (2^16 * high + low + half) >> n = (high << 16 - n) + ((low + half) >> n) into lines. `sum` has low
 * sums of both registers of a block, then high ones. */
VMAFGPU__INLINE void VMAFGPU__LEVEL_NAME(vmafgpu__vif_put_squares)(const VMAFGPU__VIF_STATE *s, uint16_t *const *line,
                                                                   ptrdiff_t x, int kind, const vmafgpu__v *sum) {
    vmafgpu__v v[2] = { sum[0], sum[1] };
    VMAFGPU__UNROLL
    for (int i = 0; kind != VMAFGPU__VIF_BYTES && i < 2; i++)
        v[i] = kind == VMAFGPU__VIF_SCALED ? vmafgpu__v_add32(sum[2 + i], vmafgpu__v_srli32(sum[i], 16))
                                           : vmafgpu__v_add32(vmafgpu__v_sll32(sum[2 + i], 16 - s->square_shift),
                                                              vmafgpu__v_srl32(sum[i], s->square_shift));
    vmafgpu__vif_put_halves_(line[0] + x, line[1] + x, v[0], v[1]);
}
#define vmafgpu__vif_put_squares_ VMAFGPU__LEVEL_NAME(vmafgpu__vif_put_squares)

VMAFGPU__INLINE void VMAFGPU__LEVEL_NAME(vmafgpu__vif_put_means)(const VMAFGPU__VIF_STATE *s, uint16_t *line, int kind,
                                                                 const vmafgpu__v *sum) {
    const vmafgpu__v a = kind == VMAFGPU__VIF_BYTES    ? vmafgpu__v_srli32(sum[0], 8)
                         : kind == VMAFGPU__VIF_SCALED ? vmafgpu__v_srli32(sum[0], 16)
                                                       : vmafgpu__v_srl32(sum[0], s->mean_shift);
    const vmafgpu__v b = kind == VMAFGPU__VIF_BYTES    ? vmafgpu__v_slli32(sum[1], 8)
                         : kind == VMAFGPU__VIF_SCALED ? sum[1]
                                                       : vmafgpu__v_sll32(sum[1], 16 - s->mean_shift);
    vmafgpu__v_store(line, vmafgpu__v_even_odd16(a, b));
}
#define vmafgpu__vif_put_means_ VMAFGPU__LEVEL_NAME(vmafgpu__vif_put_means)

/* Means of an image's four rows into line `line` of each, and two rows of the next image, as far as wanted. `at` has the
 * places of the window's pairs, `ahead` those of the four rows that are taken in next: asked for little by little, they come
 * in time. */
VMAFGPU__INLINE void VMAFGPU__LEVEL_NAME(vmafgpu__vif_means)(const VMAFGPU__VIF_STATE *s, const char *from,
                                                             const ptrdiff_t *at, int kind, int scale, int means, int line,
                                                             const VMAFGPU__VIF_TAPS *taps, int nexts,
                                                             uint16_t *const *next_line,
                                                             const VMAFGPU__VIF_TAPS *next_taps, const char *const *ahead) {
    enum { TOGETHER = VMAFGPU__V_REGISTERS < 32 ? 1 : 2 };
    const int reach = 8 >> scale, pairs = VMAFGPU__VIF_PAIRS(reach), slots = VMAFGPU__VIF_SLOTS(reach);
    const int first = (reach - reach / 2) / 2, end = first + VMAFGPU__VIF_PAIRS(reach / 2);
    enum { STEP = VMAFGPU__V_BYTES };
    for (int b = 0; b < s->blocks; b++, from += 2 * STEP) {
        const ptrdiff_t x = b / 2 * VMAFGPU__VIF_BLOCK + b % 2 * s->odd;
        vmafgpu__v sum[2][4], next[2][2], v[2];
        for (int i = 0; i < 4; i++)
            vmafgpu__v_prefetch(ahead[i] + ((ptrdiff_t)(b * VMAFGPU__VIF_BLOCK) << (kind != VMAFGPU__VIF_BYTES)));
        VMAFGPU__UNROLL
        for (int half = 0; half < 2; half += TOGETHER) {
            VMAFGPU__UNROLL
            for (int k = half; k < half + TOGETHER; k++) {
                sum[k][0] = sum[k][1] = sum[k][2] = sum[k][3] = s->mean_start;
                next[k][0] = next[k][1] = s->next_start;
            }
            VMAFGPU__UNROLL
            for (int i = 0; i < slots; i++) {
                VMAFGPU__UNROLL
                for (int k = half; k < half + TOGETHER; k++) {
                    const vmafgpu__v a = vmafgpu__v_hold(vmafgpu__v_load(from + at[i] + k * STEP));
                    if (means)
                        vmafgpu__vif_add_pair_(sum[k], a, taps, i, pairs);
                    if (nexts && i >= first && i < end)
                        next[k][0] = vmafgpu__v_hold(vmafgpu__v_add_pairs16(next[k][0], a, next_taps->even[i]));
                    if (nexts && i > first && i <= end)
                        next[k][1] = vmafgpu__v_hold(vmafgpu__v_add_pairs16(next[k][1], a, next_taps->even[i - 1]));
                }
            }
        }
        VMAFGPU__UNROLL
        for (int row = 0; means && row < 4; row++) {
            VMAFGPU__UNROLL
            for (int k = 0; k < 2; k++)
                v[k] = scale == 3 ? vmafgpu__v_add32(sum[k][row], sum[k][row]) : sum[k][row];
            vmafgpu__vif_put_means_(s, s->line[row][line] + x, kind, v);
        }
        VMAFGPU__UNROLL
        for (int row = 0; nexts && row < 2; row++) {
            VMAFGPU__UNROLL
            for (int k = 0; k < 2; k++)
                v[k] = scale == 2 ? vmafgpu__v_add32(next[k][row], next[k][row]) : next[k][row];
            vmafgpu__vif_put_means_(s, next_line[row] + x, kind, v);
        }
    }
}
#define vmafgpu__vif_means_ VMAFGPU__LEVEL_NAME(vmafgpu__vif_means)

/* Squares of an image and its products with another one, as far as wanted: of four rows, into lines from `line` on. */
VMAFGPU__INLINE void VMAFGPU__LEVEL_NAME(vmafgpu__vif_products)(const VMAFGPU__VIF_STATE *s, const char *from,
                                                                int squares, const char *other, int products,
                                                                const ptrdiff_t *at, int kind, int scale, int line,
                                                                const VMAFGPU__VIF_TAPS *taps) {
    enum { BYTES = VMAFGPU__VIF_BYTES };
    const int count = squares + products, halves = kind == BYTES ? 1 : 2;
    const int together = VMAFGPU__V_REGISTERS < 32 || count * halves > 2 ? 1 : 2;
    const int reach = 8 >> scale, pairs = VMAFGPU__VIF_PAIRS(reach), slots = VMAFGPU__VIF_SLOTS(reach);
    enum { STEP = VMAFGPU__V_BYTES };
    const vmafgpu__v sign = vmafgpu__v_set16(-32768);
    for (int b = 0; b < s->blocks; b++, from += 2 * STEP) {
        const ptrdiff_t x = b / 2 * VMAFGPU__VIF_BLOCK + b % 2 * s->odd;
        const VMAFGPU__VIF_TAPS *t = vmafgpu__vif_anew_(taps);
        vmafgpu__v sum[2][2][2][4];   /* of squares and products; of low and high halves; of both registers */
        VMAFGPU__UNROLL
        for (int half = 0; half < 2; half += together) {
            VMAFGPU__UNROLL
            for (int k = half; k < half + together; k++)
                VMAFGPU__UNROLL
                for (int p = 0; p < count; p++)
                    VMAFGPU__UNROLL
                    for (int row = 0; row < 4; row++) {
                        sum[p][0][k][row] = s->low_start;
                        sum[p][1][k][row] = s->high_start;
                    }
            VMAFGPU__UNROLL
            for (int i = 0; i < slots; i++) {
                VMAFGPU__UNROLL
                for (int k = half; k < half + together; k++) {
                    vmafgpu__v a = vmafgpu__v_load(from + at[i] + k * STEP);
                    a = kind == BYTES ? a : vmafgpu__v_xor(a, sign);
                    VMAFGPU__UNROLL
                    for (int p = 0; p < count; p++) {
                        vmafgpu__v factor = a;
                        if (p == squares) {
                            factor = vmafgpu__v_load(other + at[i] + k * STEP);
                            factor = kind == BYTES ? factor : vmafgpu__v_xor(factor, sign);
                        }
                        const vmafgpu__v low = vmafgpu__v_hold(vmafgpu__v_xor(vmafgpu__v_mullo16(a, factor), sign));
                        vmafgpu__vif_add_pair_(sum[p][0][k], low, t, i, pairs);
                        if (halves == 2) {
                            const vmafgpu__v high = vmafgpu__v_hold(vmafgpu__v_xor(vmafgpu__v_mulhi_u16(a, factor), sign));
                            vmafgpu__vif_add_pair_(sum[p][1][k], high, t, i, pairs);
                        }
                    }
                }
            }
        }
        if (products)
            other += 2 * STEP;
        VMAFGPU__UNROLL
        for (int row = 0; row < 4; row++)
            VMAFGPU__UNROLL
            for (int p = 0; p < count; p++) {
                vmafgpu__v v[4];
                VMAFGPU__UNROLL
                for (int k = 0; k < 2 * halves; k++) {
                    v[k] = sum[p][k / 2][k % 2][row];
                    v[k] = scale == 3 ? vmafgpu__v_add32(v[k], v[k]) : v[k];
                }
                vmafgpu__vif_put_squares_(s, s->line[row] + line + 2 * p, x, kind, v);
            }
    }
}
#define vmafgpu__vif_products_ VMAFGPU__LEVEL_NAME(vmafgpu__vif_products)

/* Reflects lines at the borders of the image, where the strip touches them: eight columns, whatever the reach. A pair beyond
 * a border has the first column of one pair inside and the second one of that before it; what lies next to each other are two
 * pairs four columns apart, which change places. */
VMAFGPU__INLINE void VMAFGPU__LEVEL_NAME(vmafgpu__vif_reflect_lines)(const VMAFGPU__VIF_STATE *s, uint16_t *const *lines,
                                                                     int count) {
    const uint64_t firsts = 0x0000ffff0000ffff;
    const int right = s->job->w - s->left, last = (right - 1) / 2, odd = right & 1;
    for (int side = 0; side < 2; side++) {
        if (side ? s->columns != right : s->left != 0)
            continue;
        const int inside = side ? last - 2 - odd : 2, beyond = side ? last + 1 : -4;
        ptrdiff_t from[3], to[2];
        VMAFGPU__UNROLL
        for (int i = 0; i < 3; i++)
            from[i] = VMAFGPU__VIF_PLACE(s->odd, 2 * (inside - i));
        VMAFGPU__UNROLL
        for (int i = 0; i < 2; i++)
            to[i] = VMAFGPU__VIF_PLACE(s->odd, 2 * (beyond + i));
        for (int k = 0; k < count; k++) {
            uint64_t pairs[3];
            VMAFGPU__UNROLL
            for (int i = 0; i < 3; i++)
                memcpy(&pairs[i], lines[k] + from[i], sizeof pairs[i]);
            VMAFGPU__UNROLL
            for (int i = 0; i < 2; i++) {
                uint64_t two = (pairs[i] & firsts) | (pairs[i + 1] & ~firsts);
                two = two >> 32 | two << 32;
                memcpy(lines[k] + to[i], &two, sizeof two);
            }
            if (side && odd)   /* half of the last pair is beyond */
                lines[k][VMAFGPU__VIF_PLACE(s->odd, right)] = lines[k][VMAFGPU__VIF_PLACE(s->odd, right - 2)];
        }
    }
}

/* ---- the next scale's images ---- */

/* Where pair i of the window of four columns from x on is in a line. */
VMAFGPU__INLINE ptrdiff_t VMAFGPU__LEVEL_NAME(vmafgpu__vif_pair_at)(ptrdiff_t odd, int x, int i, int reach) {
    const int n = i - reach / 2;
    return x / 2 + (n & 1 ? odd : 0) + (n >> 1) * 2;
}
#define vmafgpu__vif_pair_at_ VMAFGPU__LEVEL_NAME(vmafgpu__vif_pair_at)

/* Along the line, into row y / 2 of the next image. */
VMAFGPU__INLINE void VMAFGPU__LEVEL_NAME(vmafgpu__vif_shrink_along)(const VMAFGPU__VIF_STATE *s,
                                                                    const vmafgpu__vif_picture *image,
                                                                    const VMAFGPU__VIF_TAPS *along, int scale, int y,
                                                                    const uint16_t *line) {
    const int reach = VMAFGPU__VIF_ALONG(4 >> scale), pairs = VMAFGPU__VIF_PAIRS(reach), halved = scale == 2;
    const int end = (s->end < s->job->w ? s->end : s->job->w & ~1) / 2;
    const vmafgpu__v start = vmafgpu__vif_start_(0x80000000u + 32768, halved);
    uint16_t *out = image->next + (y / 2) * image->next_stride;
    for (int x = s->x / 2; x < end; x += VMAFGPU__VIF_BLOCK) {
        vmafgpu__v sum[2] = { start, start };
        VMAFGPU__UNROLL
        for (int i = 0; i <= pairs; i++) {
            const vmafgpu__v a = vmafgpu__v_load(line + vmafgpu__vif_pair_at_(s->odd, 2 * x - s->left, i, reach));
            if (i < pairs)
                sum[0] = vmafgpu__v_add_pairs16(sum[0], a, along->even[i]);
            if (i > 0)
                sum[1] = vmafgpu__v_add_pairs16(sum[1], a, along->even[i - 1]);
        }
        VMAFGPU__UNROLL
        for (int i = 0; halved && i < 2; i++)
            sum[i] = vmafgpu__v_add32(sum[i], sum[i]);
        sum[0] = vmafgpu__v_even_odd16(vmafgpu__v_srli32(sum[0], 16), sum[1]);
        if (x + VMAFGPU__VIF_BLOCK <= end) {
            vmafgpu__v_store(out + x, sum[0]);
        } else {
            uint16_t last[VMAFGPU__VIF_BLOCK];
            vmafgpu__v_store(last, sum[0]);
            memcpy(out + x, last, (size_t)(end - x) * sizeof *out);
        }
    }
}

/* ---- along the rows, and the statistics ---- */

/* Weighted sums of `count` lines at columns x.., each from a start of its own. */
VMAFGPU__INLINE void VMAFGPU__LEVEL_NAME(vmafgpu__vif_lines)(uint16_t *const *line, int count, ptrdiff_t odd, int x, int reach,
                                                             const VMAFGPU__VIF_TAPS *taps, const vmafgpu__v *start,
                                                             vmafgpu__v (*sum)[4]) {
    const int pairs = VMAFGPU__VIF_PAIRS(reach);
    VMAFGPU__UNROLL
    for (int k = 0; k < count; k++)
        sum[k][0] = sum[k][1] = sum[k][2] = sum[k][3] = start[k];
    VMAFGPU__UNROLL
    for (int i = 0; i <= pairs; i++) {
        VMAFGPU__UNROLL
        for (int k = 0; k < count; k++) {
            const vmafgpu__v a = vmafgpu__v_hold(vmafgpu__v_load(line[k] + vmafgpu__vif_pair_at_(odd, x, i, reach)));
            vmafgpu__vif_add_pair_(sum[k], a, taps, i, pairs);
        }
    }
}
#define vmafgpu__vif_lines_ VMAFGPU__LEVEL_NAME(vmafgpu__vif_lines)

/* Rounded weighted sums of lines at columns x..: of means, and of `squares` lines of high and low halves, which are
 * high + ((low + 32768) >> 16). As many lines at once as registers suffice for: many sums keep the multipliers busy. */
VMAFGPU__INLINE void VMAFGPU__LEVEL_NAME(vmafgpu__vif_along)(uint16_t *const *line, ptrdiff_t odd, int x, int squares, int reach,
                                                             int halved, const VMAFGPU__VIF_TAPS *taps, vmafgpu__v (*out)[4]) {
    const int count = 1 + 2 * squares;
    const vmafgpu__v whole = vmafgpu__vif_start_(0x80000000u, halved);
    const vmafgpu__v low = vmafgpu__vif_start_(0x80000000u + 32768, halved);
    const vmafgpu__v start[5] = { whole, whole, low, whole, low };
    vmafgpu__v sum[5][4];
    if (VMAFGPU__V_REGISTERS >= 32)
        vmafgpu__vif_lines_(line, count, odd, x, reach, taps, start, sum);
    else
        VMAFGPU__UNROLL
        for (int k = 0; k < count; k++)
            vmafgpu__vif_lines_(line + k, 1, odd, x, reach, taps, start + k, sum + k);
    VMAFGPU__UNROLL
    for (int i = 0; i < 4; i++) {
        VMAFGPU__UNROLL
        for (int k = 0; halved && k < count; k++)
            sum[k][i] = vmafgpu__v_add32(sum[k][i], sum[k][i]);
        out[0][i] = sum[0][i];
        VMAFGPU__UNROLL
        for (int k = 0; k < squares; k++)
            out[1 + k][i] = vmafgpu__v_add32(sum[1 + 2 * k][i], vmafgpu__v_srli32(sum[2 + 2 * k][i], 16));
    }
}
#define vmafgpu__vif_along_ VMAFGPU__LEVEL_NAME(vmafgpu__vif_along)

/* (a * b + 2^31) >> 32 */
VMAFGPU__INLINE vmafgpu__v VMAFGPU__LEVEL_NAME(vmafgpu__vif_mean_products)(vmafgpu__v a, vmafgpu__v b) {
    const vmafgpu__v half = vmafgpu__v_set64(0x80000000);
    const vmafgpu__v even = vmafgpu__v_add64(vmafgpu__v_mul_even_u32(a, b), half);
    const vmafgpu__v odd = vmafgpu__v_add64(
        vmafgpu__v_mul_even_u32(vmafgpu__v_srli64(a, 32), vmafgpu__v_srli64(b, 32)), half);
    return vmafgpu__v_high_halves(even, odd);
}
#define vmafgpu__vif_mean_products_ VMAFGPU__LEVEL_NAME(vmafgpu__vif_mean_products)

/* 2048 * log2(v) as by the table of vmafgpu__log2_2048, plus a constant, for 2^15 <= v < 2^31: the fraction between
 * powers of two is taken times the reciprocal of about the middle of its eighth (or smaller part), one whose logarithm
 * is nearly whole, and the rest of the logarithm is a short polynomial, rounded to a whole number by adding one from
 * 1.5 * 2^23 up. That it gives the table's value for each of the 32768 fractions was tried out. The power and the number
 * of the part are the upper bits of the float; what these make up is added when all are summed: LOG_PART for each part. */
#define VMAFGPU__LOG_ROUND 0x4b400000   /* 1.5 * 2^23, where a float's last bit is 1, as bits */
#define VMAFGPU__LOG_PART (2048 >> VMAFGPU__LOG_BITS)
#if VMAFGPU__LOG_BITS == 3
static const float VMAFGPU__LEVEL_NAME(vmafgpu__log_factors)[8] = {
    0.940579355f, 0.84546268f, 0.75970757f, 0.69453609f, 0.637755215f, 0.591793001f, 0.552498877f, 0.515813828f
};
static const int16_t VMAFGPU__LEVEL_NAME(vmafgpu__log_whole)[8] = { 181, 496, 812, 1077, 1329, 1550, 1753, 1956 };
#else
static const float VMAFGPU__LEVEL_NAME(vmafgpu__log_factors)[32] = {
    0.984552205f, 0.955337584f, 0.927303731f, 0.901311755f, 0.876641572f, 0.853224099f, 0.831838608f, 0.810166061f,
    0.790127158f, 0.771105647f, 0.753051698f, 0.735669374f, 0.719174862f, 0.703288198f, 0.688218236f, 0.673699081f,
    0.659709513f, 0.646447897f, 0.633667231f, 0.621349573f, 0.60947758f,  0.598034739f, 0.587204099f, 0.576569617f,
    0.566319466f, 0.556439757f, 0.546917439f, 0.537740111f, 0.528895676f, 0.520372868f, 0.511987388f, 0.503907561f
};
static const int16_t VMAFGPU__LEVEL_NAME(vmafgpu__log_whole)[32] = {
    46,   135,  223,  307,  389,  469,  544,  622,  696,  768,  838,  907,  974,  1040, 1104, 1167,
    1229, 1289, 1348, 1406, 1463, 1519, 1573, 1627, 1680, 1732, 1783, 1833, 1882, 1930, 1978, 2025
};
#endif

/* What the statistics need in registers: made once, as compilers would make it anew for each register of samples. */
typedef struct VMAFGPU__LEVEL_NAME(vmafgpu__vif_constants) {
    vmafgpu__v_table factors, whole;
    vmafgpu__v zero, noise, below_noise, fraction, one, minus_one, term[4], epsilon;
} VMAFGPU__LEVEL_NAME(vmafgpu__vif_constants);
#define VMAFGPU__VIF_CONSTANTS VMAFGPU__LEVEL_NAME(vmafgpu__vif_constants)

static void VMAFGPU__LEVEL_NAME(vmafgpu__vif_set_constants)(VMAFGPU__VIF_CONSTANTS *out) {
    int32_t whole[1 << VMAFGPU__LOG_BITS];
    for (int i = 0; i < 1 << VMAFGPU__LOG_BITS; i++)
        whole[i] = VMAFGPU__LOG_ROUND + VMAFGPU__LEVEL_NAME(vmafgpu__log_whole)[i] - VMAFGPU__LOG_PART * i;
    out->factors = vmafgpu__v_load_table(VMAFGPU__LEVEL_NAME(vmafgpu__log_factors));
    out->whole = vmafgpu__v_load_table(whole);
    out->zero = vmafgpu__v_zero();
    out->noise = vmafgpu__v_set32(VMAFGPU__VIF_NOISE);
    out->below_noise = vmafgpu__v_set32(VMAFGPU__VIF_NOISE - 1);
    out->fraction = vmafgpu__v_set32(0x7fff00);
    out->one = vmafgpu__v_set32(0x3f800000);
    out->minus_one = vmafgpu__v_set_f32(-1.0f);
#if VMAFGPU__LOG_BITS == 3
    out->term[0] = vmafgpu__v_set_f32(2954.63721f);
    out->term[1] = vmafgpu__v_set_f32(-1477.31702f);
    out->term[2] = vmafgpu__v_set_f32(987.494812f);
    out->term[3] = vmafgpu__v_set_f32(-741.101318f);
#else
    out->term[0] = vmafgpu__v_set_f32(2954.72241f);
    out->term[1] = vmafgpu__v_set_f32(-1477.3197f);
#endif
    out->epsilon = vmafgpu__v_set_f64(VMAFGPU__VIF_EPSILON);
}

VMAFGPU__INLINE void VMAFGPU__LEVEL_NAME(vmafgpu__vif_logs)(const VMAFGPU__VIF_CONSTANTS *c, vmafgpu__v v, vmafgpu__v *out) {
    const vmafgpu__v bits = vmafgpu__v_to_f32_low(v);
    const vmafgpu__v part = vmafgpu__v_srli32(bits, 23 - VMAFGPU__LOG_BITS);
    const vmafgpu__v fraction = vmafgpu__v_and_or(bits, c->fraction, c->one);
    const vmafgpu__v u = vmafgpu__v_fma_f32(fraction, vmafgpu__v_lookup32(c->factors, part), c->minus_one);
#if VMAFGPU__LOG_BITS == 3
    vmafgpu__v q = vmafgpu__v_fma_f32(u, c->term[3], c->term[2]);
    q = vmafgpu__v_fma_f32(u, q, c->term[1]);
    q = vmafgpu__v_fma_f32(u, q, c->term[0]);
#else
    const vmafgpu__v q = vmafgpu__v_fma_f32(u, c->term[1], c->term[0]);
#endif
    out[0] = vmafgpu__v_fma_f32(u, q, vmafgpu__v_lookup32(c->whole, part));
    out[1] = part;
}
#define vmafgpu__vif_logs_ VMAFGPU__LEVEL_NAME(vmafgpu__vif_logs)

/* What vif_logs gives for 2^k is 2048 * k more than this. */
#define VMAFGPU__VIF_LOG_BIAS (VMAFGPU__LOG_ROUND + 2048 * 127)

/* Lanes of 32 bits in memory as two registers of doubles. */
VMAFGPU__INLINE void VMAFGPU__LEVEL_NAME(vmafgpu__vif_doubles)(const int32_t *from, vmafgpu__v *out) {
    out[0] = vmafgpu__v_load_32_as_f64(from);
    out[1] = vmafgpu__v_load_32_as_f64(from + VMAFGPU__V_WORDS / 2);
}
#define vmafgpu__vif_doubles_ VMAFGPU__LEVEL_NAME(vmafgpu__vif_doubles)

/* A register of samples whose divisions are under way. */
typedef struct VMAFGPU__LEVEL_NAME(vmafgpu__vif_pending) {
    vmafgpu__v x1[2], x12[2], gain[2];
    const int32_t *s2;
} VMAFGPU__LEVEL_NAME(vmafgpu__vif_pending);
#define VMAFGPU__VIF_PENDING VMAFGPU__LEVEL_NAME(vmafgpu__vif_pending)

/* The numerators' terms, by the letter of vmafgpu__vif_channel and vmafgpu__vif_information. */
VMAFGPU__INLINE void VMAFGPU__LEVEL_NAME(vmafgpu__vif_numerators)(const vmafgpu__plan *plan, int variants,
                                                                  const VMAFGPU__VIF_CONSTANTS *c,
                                                                  const VMAFGPU__VIF_PENDING *pending,
                                                                  VMAFGPU__VIF_TOTALS *totals) {
    vmafgpu__v x2[2], rest[2], log_n1[2];
    vmafgpu__vif_doubles_(pending->s2, x2);
    VMAFGPU__UNROLL
    for (int i = 0; i < 2; i++)
        rest[i] = vmafgpu__v_sub_f64(x2[i], vmafgpu__v_mul_f64(pending->gain[i], pending->x12[i]));
    const vmafgpu__v n1 = vmafgpu__v_add32(
        vmafgpu__v_max32(vmafgpu__v_join_truncated_f64(rest[0], rest[1]), c->zero), c->noise);
    vmafgpu__vif_logs_(c, n1, log_n1);
    for (int k = 0; k < variants; k++) {
        const vmafgpu__v limit = vmafgpu__v_set_f64(plan->vif_gain_limit[k]);
        vmafgpu__v signal[2], log_n2[2];
        VMAFGPU__UNROLL
        for (int i = 0; i < 2; i++) {
            const vmafgpu__v limited = vmafgpu__v_min_f64(pending->gain[i], limit);
            signal[i] = vmafgpu__v_mul_f64(vmafgpu__v_mul_f64(limited, limited), pending->x1[i]);
        }
        const vmafgpu__v n2 = vmafgpu__v_add32(n1, vmafgpu__v_join_truncated_f64(signal[0], signal[1]));
        vmafgpu__vif_logs_(c, n2, log_n2);
        VMAFGPU__UNROLL
        for (int i = 0; i < 2; i++)
            totals->numerator[k][i] =
                vmafgpu__v_add32(totals->numerator[k][i], vmafgpu__v_sub32(log_n2[i], log_n1[i]));
    }
}

/* Adds a register of samples but for the numerators' terms, which are left pending; those of the register before are
 * added meanwhile, as divisions take long. What s2 points to must stay until then. */
VMAFGPU__INLINE void VMAFGPU__LEVEL_NAME(vmafgpu__vif_add)(const vmafgpu__plan *plan, int variants,
                                                           const VMAFGPU__VIF_CONSTANTS *c, const int32_t *s1,
                                                           const int32_t *s2, int32_t *s12,
                                                           VMAFGPU__VIF_PENDING *pending, VMAFGPU__VIF_TOTALS *totals) {
    const vmafgpu__v variance = vmafgpu__v_load(s1), zero = c->zero;
    const vmafgpu__v_mask is_log = vmafgpu__v_greater32(variance, c->below_noise);
    const vmafgpu__v distorted = vmafgpu__v_load(s2);
    if (vmafgpu__v_mask_all(is_log)) {
        totals->logs += VMAFGPU__V_WORDS;
    } else {
        const vmafgpu__v flat = vmafgpu__v_drop32(is_log, vmafgpu__v_max32(distorted, zero));
        totals->noise[0] = vmafgpu__v_add64(totals->noise[0], flat);
        totals->noise[1] = vmafgpu__v_add64(totals->noise[1], vmafgpu__v_srli64(flat, 32));
        if (!vmafgpu__v_mask_any(is_log))
            return;
        totals->logs += vmafgpu__v_mask_count(is_log);
    }
    /* The others count as noise, and that many too much are taken off in the end. */
    vmafgpu__v log[2];
    totals->registers++;
    vmafgpu__vif_logs_(c, vmafgpu__v_add32(vmafgpu__v_max32(variance, c->noise), c->noise), log);
    VMAFGPU__UNROLL
    for (int i = 0; i < 2; i++)
        totals->denominator[i] = vmafgpu__v_add32(totals->denominator[i], log[i]);
    /* Samples without a term get the covariance 0: then gain and term are 0, whatever the variances. */
    const vmafgpu__v_mask has_term = vmafgpu__v_mask_and(is_log, vmafgpu__v_greater32(distorted, zero));
    vmafgpu__v_store(s12, vmafgpu__v_keep32(has_term, vmafgpu__v_max32(vmafgpu__v_load(s12), zero)));
    VMAFGPU__VIF_PENDING next;
    next.s2 = s2;
    vmafgpu__vif_doubles_(s1, next.x1);
    vmafgpu__vif_doubles_(s12, next.x12);
    VMAFGPU__UNROLL
    for (int i = 0; i < 2; i++)
        next.gain[i] = vmafgpu__v_div_f64(next.x12[i], vmafgpu__v_add_f64(next.x1[i], c->epsilon));
    VMAFGPU__LEVEL_NAME(vmafgpu__vif_numerators)(plan, variants, c, pending, totals);
    *pending = next;
}

/* The sum of lanes of logarithms. */
static uint64_t VMAFGPU__LEVEL_NAME(vmafgpu__vif_lanes)(const vmafgpu__v *logs, uint32_t bias) {
    uint32_t lanes[VMAFGPU__V_WORDS];
    uint64_t sum = 0;
    uint32_t parts[VMAFGPU__V_WORDS];
    vmafgpu__v_store(lanes, logs[0]);
    vmafgpu__v_store(parts, logs[1]);
    for (int i = 0; i < VMAFGPU__V_WORDS; i++)
        sum += lanes[i] + VMAFGPU__LOG_PART * parts[i] - bias;   /* modulo 2^32 */
    return sum;
}

/* Adds the totals of `samples` samples and starts anew. */
static void VMAFGPU__LEVEL_NAME(vmafgpu__vif_deliver)(const vmafgpu__plan *plan, VMAFGPU__VIF_TOTALS *totals,
                                                      int samples, vmafgpu__vif_sums *sums) {
    uint64_t noise[2][VMAFGPU__V_BYTES / 8], sum = 0;
    vmafgpu__v_store(noise[0], totals->noise[0]);
    vmafgpu__v_store(noise[1], totals->noise[1]);
    for (int i = 0; i < VMAFGPU__V_BYTES / 8; i++)
        sum += noise[0][i] - (noise[1][i] << 32) + noise[1][i];
    sums->flat_noise += (int64_t)sum;
    for (int k = 0; k < plan->vif_variants; k++) {
        sums->numerator[k] += (int64_t)VMAFGPU__LEVEL_NAME(vmafgpu__vif_lanes)(totals->numerator[k], 0);
        totals->numerator[k][0] = totals->numerator[k][1] = vmafgpu__v_zero();
    }
    const uint32_t bias = totals->registers * (VMAFGPU__VIF_LOG_BIAS + VMAFGPU__VIF_LOG_NOISE);
    sums->denominator += (int64_t)VMAFGPU__LEVEL_NAME(vmafgpu__vif_lanes)(totals->denominator, bias) -
                         /* log2(1 + noise / noise) each */
                         (int64_t)2048 * (totals->registers * VMAFGPU__V_WORDS - totals->logs);
    sums->flat_count += samples - (int64_t)totals->logs;
    totals->noise[0] = totals->noise[1] = totals->denominator[0] = totals->denominator[1] = vmafgpu__v_zero();
    totals->logs = totals->registers = 0;
}

/* Zeroes what stands in a line for columns outside of the strip. Without variances, samples add nothing. */
static void VMAFGPU__LEVEL_NAME(vmafgpu__vif_clear_outside)(const VMAFGPU__VIF_STATE *s, int32_t *line) {
    static const int32_t lanes[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    const int columns = s->end - s->x, past = columns % (4 * VMAFGPU__V_WORDS);
    line += columns - past;
    for (int i = 0; past && i < 4; i++, line += VMAFGPU__V_WORDS) {
        const vmafgpu__v_mask inside = vmafgpu__v_greater32(vmafgpu__v_set32((past + 3 - i) / 4), vmafgpu__v_load(lanes));
        vmafgpu__v_store(line, vmafgpu__v_keep32(inside, vmafgpu__v_load(line)));
    }
}

/* The reference along a row: mean and variance. */
VMAFGPU__INLINE void VMAFGPU__LEVEL_NAME(vmafgpu__vif_reference_along)(const VMAFGPU__VIF_STATE *s, int row, int reach,
                                                                       int halved, const VMAFGPU__VIF_TAPS *taps) {
    uint16_t *const line[3] = { s->line[row][0], s->line[row][1], s->line[row][2] };
    uint32_t *mean = s->mean[row];
    int32_t *variance = s->variance[row];
    for (int x = s->x; x < s->end; x += 4 * VMAFGPU__V_WORDS) {
        vmafgpu__v sum[2][4];
        vmafgpu__vif_along_(line, s->odd, x - s->left, 1, reach, halved, vmafgpu__vif_anew_(taps), sum);
        VMAFGPU__UNROLL
        for (int i = 0; i < 4; i++, mean += VMAFGPU__V_WORDS, variance += VMAFGPU__V_WORDS) {
            vmafgpu__v_store(mean, sum[0][i]);
            vmafgpu__v_store(variance, vmafgpu__v_sub32(sum[1][i], vmafgpu__vif_mean_products_(sum[0][i], sum[0][i])));
        }
    }
    VMAFGPU__LEVEL_NAME(vmafgpu__vif_clear_outside)(s, s->variance[row]);
}

/* A distorted image along a row: variance and covariance. */
VMAFGPU__INLINE void VMAFGPU__LEVEL_NAME(vmafgpu__vif_distorted_along)(const VMAFGPU__VIF_STATE *s, int row, int reach,
                                                                       int halved, const VMAFGPU__VIF_TAPS *taps) {
    uint16_t *const line[5] = { s->line[row][3], s->line[row][4], s->line[row][5], s->line[row][6], s->line[row][7] };
    const uint32_t *mean = s->mean[row];
    int32_t *variance = s->variance[4], *covariance = s->variance[5];
    for (int x = s->x; x < s->end; x += 4 * VMAFGPU__V_WORDS) {
        vmafgpu__v sum[3][4];
        vmafgpu__vif_along_(line, s->odd, x - s->left, 2, reach, halved, vmafgpu__vif_anew_(taps), sum);
        VMAFGPU__UNROLL
        for (int i = 0; i < 4; i++) {
            vmafgpu__v_store(variance, vmafgpu__v_sub32(sum[1][i], vmafgpu__vif_mean_products_(sum[0][i], sum[0][i])));
            vmafgpu__v_store(covariance, vmafgpu__v_sub32(sum[2][i], vmafgpu__vif_mean_products_(sum[0][i],
                                                                                                vmafgpu__v_load(mean))));
            mean += VMAFGPU__V_WORDS;
            variance += VMAFGPU__V_WORDS;
            covariance += VMAFGPU__V_WORDS;
        }
    }
    VMAFGPU__LEVEL_NAME(vmafgpu__vif_clear_outside)(s, s->variance[4]);
}

/* The sums of one row. */
VMAFGPU__INLINE void VMAFGPU__LEVEL_NAME(vmafgpu__vif_statistics_of)(const VMAFGPU__VIF_STATE *s, int row, int variants,
                                                                     const VMAFGPU__VIF_CONSTANTS *constants,
                                                                     VMAFGPU__VIF_TOTALS *totals) {
    const int all = 4 * VMAFGPU__V_WORDS, count = (s->end - s->x + all - 1) / all * all;
    const vmafgpu__plan *plan = s->job->plan;
    const int32_t *s1 = s->variance[row], *s2 = s->variance[4];
    int32_t *s12 = s->variance[5];
    const VMAFGPU__VIF_CONSTANTS c = *constants;
    VMAFGPU__VIF_PENDING pending;
    VMAFGPU__VIF_TOTALS sum;
    for (int i = 0; i < 2; i++) {
        sum.denominator[i] = totals->denominator[i];
        sum.noise[i] = totals->noise[i];
        for (int k = 0; k < variants; k++)
            sum.numerator[k][i] = totals->numerator[k][i];
    }
    sum.logs = totals->logs;
    sum.registers = totals->registers;
    memset(&pending, 0, sizeof pending);   /* terms of 0 */
    pending.s2 = s2;
    for (int x = 0; x < count; x += VMAFGPU__V_WORDS)
        VMAFGPU__LEVEL_NAME(vmafgpu__vif_add)(plan, variants, &c, s1 + x, s2 + x, s12 + x, &pending, &sum);
    VMAFGPU__LEVEL_NAME(vmafgpu__vif_numerators)(plan, variants, &c, &pending, &sum);
    for (int i = 0; i < 2; i++) {
        totals->denominator[i] = sum.denominator[i];
        totals->noise[i] = sum.noise[i];
        for (int k = 0; k < variants; k++)
            totals->numerator[k][i] = sum.numerator[k][i];
    }
    totals->logs = sum.logs;
    totals->registers = sum.registers;
}

/* Apart from the rest, so that its registers are its own. */
static __attribute__((noinline)) void VMAFGPU__LEVEL_NAME(vmafgpu__vif_statistics)(
    const VMAFGPU__VIF_STATE *s, int row, const VMAFGPU__VIF_CONSTANTS *constants, VMAFGPU__VIF_TOTALS *totals) {
    if (s->job->plan->vif_variants == 1)
        VMAFGPU__LEVEL_NAME(vmafgpu__vif_statistics_of)(s, row, 1, constants, totals);
    else
        VMAFGPU__LEVEL_NAME(vmafgpu__vif_statistics_of)(s, row, s->job->plan->vif_variants, constants, totals);
}

/* ---- strips and bands ---- */

/* One strip of the band. `pairs_at` is where pairs are: of the reference, then of each distorted image. */
VMAFGPU__INLINE void VMAFGPU__LEVEL_NAME(vmafgpu__vif_run_strip)(VMAFGPU__VIF_STATE *s, int scale, int wide,
                                                                 char *pairs_at, vmafgpu__vif_sums *const *sums) {
    const vmafgpu__vif_job *job = s->job;
    const int reach = 8 >> scale, slots = VMAFGPU__VIF_SLOTS(reach), halved = scale == 3;
    const int kind = scale ? VMAFGPU__VIF_SCALED : wide ? VMAFGPU__VIF_WORDS : VMAFGPU__VIF_BYTES;
    const int has_next = scale < 3 && job->reference.next != NULL, has_sums = !job->images_only;
    const int apart = VMAFGPU__V_REGISTERS < 32 && kind != VMAFGPU__VIF_BYTES;   /* not all sums have registers */
    /* From one pair of rows to the next, not a multiple of 4096 bytes, and from one image to the next. */
    const ptrdiff_t pitch = (2 * s->blocks + 1) * VMAFGPU__V_BYTES;
    const ptrdiff_t plane = pitch * slots;
    VMAFGPU__VIF_TAPS down, along, next_down, next_along;
    VMAFGPU__VIF_TOTALS totals;
    VMAFGPU__VIF_CONSTANTS constants;
    int samples = 0;
    memset(&totals, 0, sizeof totals);
    VMAFGPU__LEVEL_NAME(vmafgpu__vif_set_constants)(&constants);
    VMAFGPU__LEVEL_NAME(vmafgpu__vif_set_taps)(&down, scale, reach);
    VMAFGPU__LEVEL_NAME(vmafgpu__vif_set_taps)(&along, scale, VMAFGPU__VIF_ALONG(reach));
    if (has_next) {
        VMAFGPU__LEVEL_NAME(vmafgpu__vif_set_taps)(&next_down, scale + 1, reach);
        VMAFGPU__LEVEL_NAME(vmafgpu__vif_set_taps)(&next_along, scale + 1, VMAFGPU__VIF_ALONG(reach / 2));
    }
    for (int y = job->first, taken = 0; y < job->end; y += 4) {
        const int from = (y - job->first) / 2, rows = job->end - y < 4 ? job->end - y : 4;
        for (; taken < from + slots; taken++)
            for (int d = -1; d < job->distorted_count; d++)
                VMAFGPU__LEVEL_NAME(vmafgpu__vif_take)(s, d < 0 ? &job->reference : &job->distorted[d], wide,
                                                       job->first - reach + 2 * taken,
                                                       pairs_at + (1 + d) * plane + taken % slots * pitch);
        ptrdiff_t at[10];
        for (int i = 0; i < slots; i++)
            at[i] = (from + i) % slots * pitch;
        /* First what goes down the columns, and the borders: what that stores can only be loaded from elsewhere after a while. */
        for (int d = -1; d < job->distorted_count; d++) {
            const vmafgpu__vif_picture *picture = d < 0 ? &job->reference : &job->distorted[d];
            const char *image = pairs_at + (1 + d) * plane, *ahead[4];
            const int line = d < 0 ? 0 : 3;
            for (int i = 0; i < 4; i++)
                ahead[i] = vmafgpu__vif_row_at_(s, picture, wide, job->first - reach + 2 * taken + i);
            if (has_next && has_sums)
                vmafgpu__vif_means_(s, image, at, kind, scale, 1, line, &down, 1, s->next_line[d >= 0], &next_down, ahead);
            else if (has_next)
                vmafgpu__vif_means_(s, image, at, kind, scale, 0, line, &down, 1, s->next_line[d >= 0], &next_down, ahead);
            else
                vmafgpu__vif_means_(s, image, at, kind, scale, 1, line, &down, 0, NULL, NULL, ahead);
            if (has_next)
                VMAFGPU__LEVEL_NAME(vmafgpu__vif_reflect_lines)(s, s->next_line[d >= 0], 2);
            if (has_sums && d < 0)
                vmafgpu__vif_products_(s, image, 1, NULL, 0, at, kind, scale, 1, &down);
            else if (has_sums && !apart)
                vmafgpu__vif_products_(s, image, 1, pairs_at, 1, at, kind, scale, 4, &down);
            else if (has_sums) {
                vmafgpu__vif_products_(s, image, 1, NULL, 0, at, kind, scale, 4, &down);
                vmafgpu__vif_products_(s, image, 0, pairs_at, 1, at, kind, scale, 6, &down);
            }
            for (int i = 0; has_next && i < rows && y + i + 1 < job->h; i += 2)
                VMAFGPU__LEVEL_NAME(vmafgpu__vif_shrink_along)(s, picture, &next_along, scale, y + i,
                                                               s->next_line[d >= 0][i / 2]);
            if (!has_sums || d < 0)
                continue;
            for (int i = 0; i < rows; i++)
                VMAFGPU__LEVEL_NAME(vmafgpu__vif_reflect_lines)(s, s->line[i] + (d > 0 ? 3 : 0), d > 0 ? 5 : 8);
            for (int i = 0; i < rows; i++) {
                if (d == 0)
                    VMAFGPU__LEVEL_NAME(vmafgpu__vif_reference_along)(s, i, VMAFGPU__VIF_ALONG(reach), halved, &along);
                VMAFGPU__LEVEL_NAME(vmafgpu__vif_distorted_along)(s, i, VMAFGPU__VIF_ALONG(reach), halved, &along);
                VMAFGPU__LEVEL_NAME(vmafgpu__vif_statistics)(s, i, &constants, &totals);
            }
            samples += rows * (s->end - s->x);
            if (job->distorted_count == 1 && totals.registers < 1 << 15 && y + 4 < job->end)
                continue;   /* lanes hold more */
            VMAFGPU__LEVEL_NAME(vmafgpu__vif_deliver)(job->plan, &totals, samples, sums[d]);
            samples = 0;
        }
    }
}

static void VMAFGPU__LEVEL_NAME(vmafgpu__vif_strip_0_8)(VMAFGPU__VIF_STATE *s, char *at,
                                                        vmafgpu__vif_sums *const *sums) {
    VMAFGPU__LEVEL_NAME(vmafgpu__vif_run_strip)(s, 0, 0, at, sums);
}
static void VMAFGPU__LEVEL_NAME(vmafgpu__vif_strip_0_16)(VMAFGPU__VIF_STATE *s, char *at,
                                                         vmafgpu__vif_sums *const *sums) {
    VMAFGPU__LEVEL_NAME(vmafgpu__vif_run_strip)(s, 0, 1, at, sums);
}
static void VMAFGPU__LEVEL_NAME(vmafgpu__vif_strip_1)(VMAFGPU__VIF_STATE *s, char *at, vmafgpu__vif_sums *const *sums) {
    VMAFGPU__LEVEL_NAME(vmafgpu__vif_run_strip)(s, 1, 1, at, sums);
}
static void VMAFGPU__LEVEL_NAME(vmafgpu__vif_strip_2)(VMAFGPU__VIF_STATE *s, char *at, vmafgpu__vif_sums *const *sums) {
    VMAFGPU__LEVEL_NAME(vmafgpu__vif_run_strip)(s, 2, 1, at, sums);
}
static void VMAFGPU__LEVEL_NAME(vmafgpu__vif_strip_3)(VMAFGPU__VIF_STATE *s, char *at, vmafgpu__vif_sums *const *sums) {
    VMAFGPU__LEVEL_NAME(vmafgpu__vif_run_strip)(s, 3, 1, at, sums);
}

/* Adds the sums of a band of rows, sums[i] those of distorted[i], and makes its rows of the next scale's images: those
 * of rows first, first + 2, .. */
static VMAFGPU__UNUSED void VMAFGPU__LEVEL_NAME(vmafgpu__vif_band)(const vmafgpu__vif_job *job,
                                                                   vmafgpu__vif_sums *const *sums) {
    VMAFGPU__VIF_STATE s;
    s.job = job;
    s.mean_shift = vmafgpu__vif_mean_shift(job->scale, job->bit_depth);
    s.square_shift = vmafgpu__vif_square_shift(job->scale, job->bit_depth);
    /* Means go into their lines less 32768; bytes are summed as they are, words less 32768. */
    const int halved = job->scale == 3;
    const uint32_t mean_start =
        (job->wide ? 0x80000000u : 0) + (1u << (s.mean_shift - 1)) - (1u << (15 + s.mean_shift));
    s.mean_start = vmafgpu__vif_start_(mean_start, halved);
    s.next_start = vmafgpu__vif_start_(mean_start, job->scale == 2);
    /* So do the upper halves of squares. */
    s.high_start = vmafgpu__vif_start_(0x80000000u + (1u << (15 + s.square_shift)), halved);
    s.low_start = vmafgpu__vif_start_((job->wide ? 0x80000000u : 0) + (uint32_t)vmafgpu__half(s.square_shift), halved);

    char *at = (char *)job->scratch;
    const size_t columns = (size_t)job->widest + VMAFGPU__VIF_FILL;
    s.odd = VMAFGPU__VIF_ODD(job->widest);
    for (int i = 0; i < 6; i++, at += columns * sizeof(int32_t))
        s.variance[i] = (int32_t *)(void *)at;
    for (int i = 0; i < 4; i++) {
        s.mean[i] = (uint32_t *)(void *)at;
        at += columns * sizeof(uint32_t);
        for (int k = 0; k <= 8; k++) {
            *(k < 8 ? &s.line[i][k] : &s.next_line[i / 2][i % 2]) = (uint16_t *)(void *)at + VMAFGPU__VIF_MARGIN;
            at += 2 * (size_t)s.odd * sizeof(uint16_t);
        }
    }
    /* Strips of about the same width, a multiple of what the widest registers take. */
    const int strips = (job->w + job->widest - 1) / job->widest;
    const int width = ((job->w + strips - 1) / strips + 63) / 64 * 64;
    for (int x = 0; x < job->w; x += width) {
        s.x = x;
        s.end = x + width < job->w ? x + width : job->w;
        s.left = x > 0 ? x - VMAFGPU__VIF_SIDE : 0;
        s.columns = (s.end + VMAFGPU__VIF_SIDE < job->w ? s.end + VMAFGPU__VIF_SIDE : job->w) - s.left;
        s.blocks = (s.columns + 2 * VMAFGPU__VIF_BLOCK - 1) / (2 * VMAFGPU__VIF_BLOCK) * 2;
        if (job->scale == 0 && !job->wide)
            VMAFGPU__LEVEL_NAME(vmafgpu__vif_strip_0_8)(&s, at, sums);
        else if (job->scale == 0)
            VMAFGPU__LEVEL_NAME(vmafgpu__vif_strip_0_16)(&s, at, sums);
        else if (job->scale == 1)
            VMAFGPU__LEVEL_NAME(vmafgpu__vif_strip_1)(&s, at, sums);
        else if (job->scale == 2)
            VMAFGPU__LEVEL_NAME(vmafgpu__vif_strip_2)(&s, at, sums);
        else
            VMAFGPU__LEVEL_NAME(vmafgpu__vif_strip_3)(&s, at, sums);
    }
}

/* ---- ADM ----
 *
 * Per row of bands: the vertical filters of the wavelet leave lines of 16-bit samples (from scale 1 on two: x is
 * 65536 h + l with a signed l), whose horizontal filters are products of neighbouring pairs, two unaligned loads each.
 * Then coefficients become signals and shares of the threshold in one go, kept as lines for three rows; with the row
 * below the masked cubes can be added up. A chunk is a register of words, or two of 32-bit lanes. At scale 0
 * coefficients are words in PACKED ORDER: what pack made of two registers in order, and unpack takes apart again; so
 * nothing is ever permuted.
 *
 * >>arithmetic has the definitions. Short cuts, and why they are exact:
 *   filters     of scale 0 all sums fit 32 bits. Of x = 65536 h + l, |x| < 1.63e9 with mirrored borders, those of c l
 *               do, and those of c h, modulo 2^32, leave a result that does.
 *   angle       its two sides err by less than 2^-19 in floats; within 2^-18 the definition decides.
 *   scale 0     up to vmafgpu__adm_plain_limit(): restored is min(|o|, |t|) for equal signs (all pairs were tried), and
 *               an integer gain is a factor on |o|. Weighted: (F m + 2^14) >> 15 is the upper half of (4 m) F, halved
 *               with rounding; for d (F m + 2^16) >> 17 likewise of m F. side = c + (273 c + 2048 >> 12), and
 *               273 / 4096 is 2184 / 32768; mid = 2 c + (546 c + 2048 >> 12). Columns with larger coefficients are
 *               done again by the definition.
 *   scale 1..   restored is min(u, v) up to u = 16384; beyond, divisors q are 16385..32768. v is cut at 2 u, as the
 *               quotient is at 32768, which keeps products below 2^48.
 */
#define VMAFGPU__ADM(name) VMAFGPU__LEVEL_NAME(vmafgpu__adm_##name)
#undef VMAFGPU__ADM_CHUNK
#define VMAFGPU__ADM_CHUNK (2 * VMAFGPU__V_WORDS)

typedef struct VMAFGPU__ADM(taps) {
    vmafgpu__v first[2], second[2];          /* low, high filter: taps 0 and 1, 2 and 3 */
} VMAFGPU__ADM(taps);

VMAFGPU__INLINE vmafgpu__v VMAFGPU__ADM(pair)(int a, int b) {
    return vmafgpu__v_set32((int32_t)((uint32_t)b << 16 | ((uint32_t)a & 0xffff)));
}

VMAFGPU__INLINE VMAFGPU__ADM(taps) VMAFGPU__ADM(taps_of)(void) {
    VMAFGPU__ADM(taps) t;
    const int32_t *low = vmafgpu__dwt_low, *high = vmafgpu__dwt_high;
    t.first[0] = VMAFGPU__ADM(pair)(low[0], low[1]);
    t.second[0] = VMAFGPU__ADM(pair)(low[2], low[3]);
    t.first[1] = VMAFGPU__ADM(pair)(high[0], high[1]);
    t.second[1] = VMAFGPU__ADM(pair)(high[2], high[3]);
    return t;
}

/* ---- what does not change along a row ---- */

/* Roundings of a cube, as 64-bit lanes. */
typedef struct VMAFGPU__ADM(rounding) {
    vmafgpu__v square_half, square_shift, half, shift;
} VMAFGPU__ADM(rounding);

VMAFGPU__INLINE VMAFGPU__ADM(rounding) VMAFGPU__ADM(rounding_of)(int64_t square_half, int square_shift, int shift) {
    VMAFGPU__ADM(rounding) r;
    r.square_half = vmafgpu__v_set64(square_half);
    r.square_shift = vmafgpu__v_set64(square_shift);
    r.half = vmafgpu__v_set64(vmafgpu__half(shift));
    r.shift = vmafgpu__v_set64(shift);
    return r;
}

typedef struct VMAFGPU__ADM(variant) {
    int fast, gains;                         /* gains: the gain limit is above 1 */
    vmafgpu__v gain, reach;                  /* words at scale 0; reach: what the gain takes beyond any coefficient */
    vmafgpu__v factor[2], limit[2];
} VMAFGPU__ADM(variant);

typedef struct VMAFGPU__ADM(constants) {
    VMAFGPU__ADM(variant) variant[VMAFGPU__MAX_VARIANTS];
    int all_fast, any_gain, any_general;
    int left, right, chunks;                 /* columns with coefficients, and the number of their chunks */
    VMAFGPU__ADM(rounding) mask[2], den;     /* mask: of h and v, d */
} VMAFGPU__ADM(constants);

static void VMAFGPU__ADM(constants_of)(VMAFGPU__ADM(constants) *c, const vmafgpu__adm_task *task,
                                       const vmafgpu__adm_work *work) {
    const vmafgpu__adm_geometry *g = &task->geometry;
    c->left = g->left > 0 ? g->left - 1 : 0;
    c->right = g->left > 0 ? g->w - g->left + 1 : g->w;
    c->chunks = (c->right - c->left + VMAFGPU__ADM_CHUNK - 1) / VMAFGPU__ADM_CHUNK;
    c->any_gain = c->any_general = 0;
    for (int d = 0; d < 2; d++) {
        const int square_shift = task->scale || d ? 30 : 29;
        c->mask[d] = VMAFGPU__ADM(rounding_of)(vmafgpu__half(square_shift), square_shift, g->mask_shift[d ? 2 : 0]);
    }
    /* Half of the denominator's squares is a whole unit, and not used at scale 0. */
    const int den_square_shift = task->scale == 2 ? 30 : 31;
    c->den = VMAFGPU__ADM(rounding_of)((int64_t)1 << den_square_shift, den_square_shift, g->den_shift);
    for (int i = 0; i < task->variant_count; i++) {
        const vmafgpu__adm_variant *from = &task->variants[i];
        VMAFGPU__ADM(variant) *to = &c->variant[i];
        to->fast = vmafgpu__adm_vectors_fit(from, task->scale);
        c->any_general |= !to->fast;
        if (!to->fast)
            continue;
        const int gain = (int)from->gain_limit;
        to->gains = gain > 1;
        c->any_gain |= to->gains;
        for (int d = 0; d < 2; d++) {
            const uint32_t factor = from->factor[task->scale][d];
            if (task->scale) {
                to->factor[d] = vmafgpu__v_set32((int32_t)factor);
            } else {
                to->factor[d] = vmafgpu__v_set16((int16_t)(uint16_t)factor);
                to->limit[d] = vmafgpu__v_set16((int16_t)vmafgpu__adm_plain_limit(factor, d ? 2 : 0));
            }
        }
        to->gain = task->scale ? vmafgpu__v_set32(gain) : vmafgpu__v_set16((int16_t)gain);
        to->reach = task->scale ? vmafgpu__v_set32((int32_t)(0xffffffffu / (uint32_t)gain))
                                : vmafgpu__v_set16((int16_t)(32767 / gain));
    }
    /* Where the sums' region is. */
    for (int i = 0; i < c->chunks; i++) {
        const int x = c->left + i * VMAFGPU__ADM_CHUNK;
        int32_t lanes[VMAFGPU__ADM_CHUNK];
        for (int k = 0; k < VMAFGPU__ADM_CHUNK; k++)
            lanes[k] = -(x + k >= g->left && x + k < g->w - g->left);
        const vmafgpu__v low = vmafgpu__v_load(lanes), high = vmafgpu__v_load(lanes + VMAFGPU__V_WORDS);
        if (task->scale == 0) {
            vmafgpu__v_store(work->inside + i * VMAFGPU__ADM_CHUNK, vmafgpu__v_pack32(low, high));
        } else {
            vmafgpu__v_store(work->inside + 2 * i * VMAFGPU__ADM_CHUNK, low);
            vmafgpu__v_store(work->inside + (2 * i + 1) * VMAFGPU__ADM_CHUNK, high);
        }
    }
}

/* ---- vertical filters ---- */

enum { VMAFGPU__ADM(BYTES), VMAFGPU__ADM(LUMA), VMAFGPU__ADM(BAND_0) };

VMAFGPU__INLINE vmafgpu__v VMAFGPU__ADM(load16)(const void *row, int x, int kind, vmafgpu__v offset) {
    if (kind == VMAFGPU__ADM(BYTES))
        return vmafgpu__v_load_u8_as_16((const uint8_t *)row + x);
    const vmafgpu__v words = vmafgpu__v_load((const uint16_t *)row + x);
    return kind == VMAFGPU__ADM(LUMA) ? vmafgpu__v_sub16(words, offset) : words;
}

/* Packs what 65536 h + l = x - 32768 are made of. */
VMAFGPU__INLINE void VMAFGPU__ADM(split)(vmafgpu__v a, vmafgpu__v b, vmafgpu__v *l, vmafgpu__v *h) {
    const vmafgpu__v word = vmafgpu__v_set32(65535), half = vmafgpu__v_set16(-32768);
    *l = vmafgpu__v_xor(vmafgpu__v_pack_u32(vmafgpu__v_and(a, word), vmafgpu__v_and(b, word)), half);
    *h = vmafgpu__v_pack32(vmafgpu__v_srai32(a, 16), vmafgpu__v_srai32(b, 16));
}

/* A chunk of columns of scale 0 or 1 from x on. */
VMAFGPU__INLINE void VMAFGPU__ADM(vertical_chunk)(const void *const *rows, int x, int kind, int filters,
                                                  vmafgpu__v offset, const vmafgpu__v *half, vmafgpu__v shift,
                                                  const VMAFGPU__ADM(taps) *t, int16_t *(*line)[2]) {
    const vmafgpu__v a = VMAFGPU__ADM(load16)(rows[0], x, kind, offset);
    const vmafgpu__v b = VMAFGPU__ADM(load16)(rows[1], x, kind, offset);
    const vmafgpu__v c = VMAFGPU__ADM(load16)(rows[2], x, kind, offset);
    const vmafgpu__v d = VMAFGPU__ADM(load16)(rows[3], x, kind, offset);
    const vmafgpu__v ab[2] = { vmafgpu__v_unpack_low16(a, b), vmafgpu__v_unpack_high16(a, b) };
    const vmafgpu__v cd[2] = { vmafgpu__v_unpack_low16(c, d), vmafgpu__v_unpack_high16(c, d) };
    VMAFGPU__UNROLL
    for (int filter = 0; filter < 2; filter++) {
        vmafgpu__v sum[2], l, h;
        if (filter == filters)
            break;
        VMAFGPU__UNROLL
        for (int i = 0; i < 2; i++)
            sum[i] = vmafgpu__v_add_pairs16(vmafgpu__v_add_pairs16(half[filter], ab[i], t->first[filter]), cd[i],
                                            t->second[filter]);
        if (kind == VMAFGPU__ADM(BAND_0)) {
            VMAFGPU__ADM(split)(sum[0], sum[1], &l, &h);
            vmafgpu__v_store(line[filter][0] + x, l);
            vmafgpu__v_store(line[filter][1] + x, h);
        } else {
            vmafgpu__v_store(line[filter][0] + x, vmafgpu__v_pack32(vmafgpu__v_srav32(sum[0], shift),
                                                                     vmafgpu__v_srav32(sum[1], shift)));
        }
    }
}

/* How many filters the chunk of input columns at x needs: only rows and columns with coefficients need the high one. */
VMAFGPU__INLINE int VMAFGPU__ADM(filters)(const VMAFGPU__ADM(constants) *c, int x, int needed) {
    return needed && x + VMAFGPU__ADM_CHUNK > 2 * c->left - 2 && x <= 2 * (c->left + c->chunks * VMAFGPU__ADM_CHUNK) + 2
               ? 2 : 1;
}

VMAFGPU__INLINE void VMAFGPU__ADM(vertical16)(const vmafgpu__adm_task *task, const vmafgpu__adm_work *work,
                                              const VMAFGPU__ADM(constants) *c, const void *const *rows, int kind,
                                              int needed, int16_t *(*line)[2]) {
    enum { CHUNK = VMAFGPU__ADM_CHUNK };
    const VMAFGPU__ADM(taps) t = VMAFGPU__ADM(taps_of)();
    const int w = task->in_width, element = kind == VMAFGPU__ADM(BYTES) ? 1 : 2, bits = task->bit_depth;
    const vmafgpu__v shift = vmafgpu__v_set32(kind == VMAFGPU__ADM(BAND_0) ? 0 : bits);
    const vmafgpu__v offset = vmafgpu__v_set16((int16_t)(uint16_t)(1u << (bits - 1)));
    vmafgpu__v half[2] = { vmafgpu__v_set32(32768), vmafgpu__v_set32(32768) };   /* as split wants it */
    if (kind != VMAFGPU__ADM(BAND_0)) {
        const int32_t one_half = (int32_t)1 << (bits - 1);
        /* Mid grey comes off the sums of bytes: the taps add up to 46342 and 0. */
        half[0] = vmafgpu__v_set32(kind == VMAFGPU__ADM(BYTES) ? one_half - 46342 * 128 : one_half);
        half[1] = vmafgpu__v_set32(one_half);
    }
    int x = 0;
    for (; x + CHUNK <= w; x += CHUNK) {
        /* The rows that the next row of bands adds: too short for the hardware to see them coming. */
        vmafgpu__v_prefetch((const unsigned char *)rows[4] + x * element);
        vmafgpu__v_prefetch((const unsigned char *)rows[5] + x * element);
        VMAFGPU__ADM(vertical_chunk)(rows, x, kind, VMAFGPU__ADM(filters)(c, x, needed), offset, half, shift, &t, line);
    }
    if (x == w)
        return;
    const int filters = VMAFGPU__ADM(filters)(c, x, needed);
    if (kind == VMAFGPU__ADM(BAND_0)) {
        VMAFGPU__ADM(vertical_chunk)(rows, x, kind, filters, offset, half, shift, &t, line);
    } else if (w >= CHUNK) {
        VMAFGPU__ADM(vertical_chunk)(rows, w - CHUNK, kind, filters, offset, half, shift, &t, line);
    } else {
        for (int k = 0; k < 4; k++)
            memcpy(work->narrow[k], rows[k], (size_t)(w * element));
        VMAFGPU__ADM(vertical_chunk)((const void *const *)work->narrow, 0, kind, filters, offset, half, shift, &t,
                                     line);
    }
}

/* Samples of scales 2 and 3 are 65536 h + l, h rounded. Interleaves the l and the h of two rows. */
VMAFGPU__INLINE void VMAFGPU__ADM(row_pair)(const int32_t *upper, const int32_t *lower, vmafgpu__v *l, vmafgpu__v *h) {
    const vmafgpu__v half = vmafgpu__v_set32(32768);
    const vmafgpu__v a = vmafgpu__v_load(upper), b = vmafgpu__v_load(lower);
    *l = vmafgpu__v_even_odd16(a, vmafgpu__v_slli32(b, 16));
    *h = vmafgpu__v_even_odd16(vmafgpu__v_srli32(vmafgpu__v_add32(a, half), 16), vmafgpu__v_add32(b, half));
}

static void VMAFGPU__ADM(vertical32)(const vmafgpu__adm_task *task, const VMAFGPU__ADM(constants) *c,
                                     const void *const *rows, int needed, int16_t *(*line)[2]) {
    enum { WORDS = VMAFGPU__V_WORDS };
    const VMAFGPU__ADM(taps) t = VMAFGPU__ADM(taps_of)();
    const vmafgpu__v half = vmafgpu__v_set32(32768);
    for (int x = 0; x < task->in_width; x += 2 * WORDS) {
        vmafgpu__v sum[2][2];
        const int filters = VMAFGPU__ADM(filters)(c, x, needed);
        VMAFGPU__UNROLL
        for (int i = 0; i < 2; i++) {
            const int32_t *in[4];
            vmafgpu__v l[2], h[2];
            for (int k = 0; k < 4; k++)
                in[k] = (const int32_t *)rows[k] + x + i * WORDS;
            VMAFGPU__ADM(row_pair)(in[0], in[1], &l[0], &h[0]);
            VMAFGPU__ADM(row_pair)(in[2], in[3], &l[1], &h[1]);
            VMAFGPU__UNROLL
            for (int filter = 0; filter < 2; filter++) {
                vmafgpu__v s = vmafgpu__v_add_pairs16(half, l[0], t.first[filter]);
                if (filter == filters)
                    break;
                s = vmafgpu__v_srai32(vmafgpu__v_add_pairs16(s, l[1], t.second[filter]), 16);
                s = vmafgpu__v_add_pairs16(vmafgpu__v_add32(s, half), h[0], t.first[filter]);
                sum[filter][i] = vmafgpu__v_add_pairs16(s, h[1], t.second[filter]);
            }
        }
        VMAFGPU__UNROLL
        for (int filter = 0; filter < 2; filter++) {
            vmafgpu__v l, h;
            if (filter == filters)
                break;
            VMAFGPU__ADM(split)(sum[filter][0], sum[filter][1], &l, &h);
            vmafgpu__v_store(line[filter][0] + x, vmafgpu__v_in_order(l));
            vmafgpu__v_store(line[filter][1] + x, vmafgpu__v_in_order(h));
        }
    }
}

/* Vertical filters of one row, and the border of the lines. */
static void VMAFGPU__ADM(vertical)(const vmafgpu__adm_task *task, const vmafgpu__adm_work *work,
                                   const VMAFGPU__ADM(constants) *c, const vmafgpu__adm_image *image, int y,
                                   int needed, int16_t *(*line)[2]) {
    const int w = task->in_width;
    const void *rows[6];
    for (int k = 0; k < 6; k++)
        rows[k] = (const unsigned char *)image->in +
                  vmafgpu__reflect_repeat(2 * y - 1 + k, task->in_height) * image->in_pitch;
    if (task->scale > 1)
        VMAFGPU__ADM(vertical32)(task, c, rows, needed, line);
    else if (task->scale == 1)
        VMAFGPU__ADM(vertical16)(task, work, c, rows, VMAFGPU__ADM(BAND_0), needed, line);
    else if (task->bytes == 1)
        VMAFGPU__ADM(vertical16)(task, work, c, rows, VMAFGPU__ADM(BYTES), needed, line);
    else
        VMAFGPU__ADM(vertical16)(task, work, c, rows, VMAFGPU__ADM(LUMA), needed, line);
    VMAFGPU__UNROLL
    for (int filter = 0; filter < 2; filter++)
        for (int part = 0; part < (task->scale ? 2 : 1); part++) {
            int16_t *l = line[filter][part];
            const int16_t beyond[2] = { l[vmafgpu__reflect_repeat(w, w)], l[vmafgpu__reflect_repeat(w + 1, w)] };
            /* Columns that make a chunk whole must not have coefficients larger than any picture's. */
            for (int i = 0; i < 3; i++)
                vmafgpu__v_store(l + w + i * VMAFGPU__ADM_CHUNK, vmafgpu__v_zero());
            l[-1] = l[1];
            l[w] = beyond[0];
            l[w + 1] = beyond[1];
        }
}

/* ---- horizontal filters ---- */

/* A register of scale 0's coefficients from column x on, as 32-bit lanes. */
VMAFGPU__INLINE vmafgpu__v VMAFGPU__ADM(horizontal_half)(const int16_t *line, int x, const VMAFGPU__ADM(taps) *t,
                                                         int filter) {
    const int16_t *in = line + 2 * x;
    vmafgpu__v s = vmafgpu__v_set32(32768);
    s = vmafgpu__v_add_pairs16(s, vmafgpu__v_load(in - 1), t->first[filter]);
    s = vmafgpu__v_add_pairs16(s, vmafgpu__v_load(in + 1), t->second[filter]);
    return vmafgpu__v_srai32(s, 16);
}

/* A chunk of scale 0's coefficients, packed. */
VMAFGPU__INLINE vmafgpu__v VMAFGPU__ADM(horizontal0)(const int16_t *line, int x, const VMAFGPU__ADM(taps) *t,
                                                     int filter) {
    return vmafgpu__v_pack32(VMAFGPU__ADM(horizontal_half)(line, x, t, filter),
                             VMAFGPU__ADM(horizontal_half)(line, x + VMAFGPU__V_WORDS, t, filter));
}

/* A register of coefficients of scales 1 to 3: the shift is 16 at scale 2, else 15. */
VMAFGPU__INLINE vmafgpu__v VMAFGPU__ADM(horizontal)(int16_t *const *line, int x, const VMAFGPU__ADM(taps) *t,
                                                    int filter, int scale) {
    const int16_t *l = line[0] + 2 * x, *h = line[1] + 2 * x;
    vmafgpu__v s = vmafgpu__v_set32(scale == 2 ? 32768 : 16384);
    s = vmafgpu__v_add_pairs16(s, vmafgpu__v_load(l - 1), t->first[filter]);
    s = vmafgpu__v_add_pairs16(s, vmafgpu__v_load(l + 1), t->second[filter]);
    s = scale == 2 ? vmafgpu__v_srai32(s, 16) : vmafgpu__v_srai32(s, 15);
    if (scale == 2) {
        s = vmafgpu__v_add_pairs16(s, vmafgpu__v_load(h - 1), t->first[filter]);
        return vmafgpu__v_add_pairs16(s, vmafgpu__v_load(h + 1), t->second[filter]);
    }
    const vmafgpu__v u = vmafgpu__v_add_pairs16(vmafgpu__v_pairs16(vmafgpu__v_load(h - 1), t->first[filter]),
                                                vmafgpu__v_load(h + 1), t->second[filter]);
    return vmafgpu__v_add32(s, vmafgpu__v_add32(u, u));
}

/* The low-pass band of a row. */
static void VMAFGPU__ADM(low_row)(const vmafgpu__adm_task *task, const vmafgpu__adm_image *image, int y,
                                  int16_t *(*line)[2]) {
    const VMAFGPU__ADM(taps) t = VMAFGPU__ADM(taps_of)();
    const int w = task->geometry.w;
    if (task->scale == 0) {
        int16_t *out = (int16_t *)image->low + y * image->low_stride;
        for (int x = 0; x < w; x += VMAFGPU__ADM_CHUNK)
            vmafgpu__v_store(out + x, vmafgpu__v_in_order(VMAFGPU__ADM(horizontal0)(line[0][0], x, &t, 0)));
        return;
    }
    int32_t *out = (int32_t *)image->low + y * image->low_stride;
    const int end = (w + VMAFGPU__ADM_CHUNK - 1) / VMAFGPU__ADM_CHUNK * VMAFGPU__ADM_CHUNK;
    if (task->scale == 1)
        for (int x = 0; x < end; x += VMAFGPU__V_WORDS)
            vmafgpu__v_store(out + x, VMAFGPU__ADM(horizontal)(line[0], x, &t, 0, 1));
    else
        for (int x = 0; x < end; x += VMAFGPU__V_WORDS)
            vmafgpu__v_store(out + x, VMAFGPU__ADM(horizontal)(line[0], x, &t, 0, 2));
}

VMAFGPU__INLINE uint64_t VMAFGPU__ADM(sum64)(vmafgpu__v a) {
    uint64_t lanes[VMAFGPU__V_WORDS / 2], sum = 0;
    vmafgpu__v_store(lanes, a);
    for (int i = 0; i < VMAFGPU__V_WORDS / 2; i++)
        sum += lanes[i];
    return sum;
}

/* ---- the denominator ---- */

/* Adds (z x + half) >> shift, z = (x^2 + square_half) >> square_shift, of 32-bit lanes x. */
VMAFGPU__INLINE vmafgpu__v VMAFGPU__ADM(cubes)(vmafgpu__v sum, vmafgpu__v x, const VMAFGPU__ADM(rounding) *r) {
    const vmafgpu__v lanes[2] = { x, vmafgpu__v_srli64(x, 32) };
    VMAFGPU__UNROLL
    for (int i = 0; i < 2; i++) {
        const vmafgpu__v square = vmafgpu__v_mul_even_u32(lanes[i], lanes[i]);
        const vmafgpu__v z = vmafgpu__v_srlv64(vmafgpu__v_add64(square, r->square_half), r->square_shift);
        const vmafgpu__v cube = vmafgpu__v_mul_even_u32(z, lanes[i]);
        sum = vmafgpu__v_add64(sum, vmafgpu__v_srlv64(vmafgpu__v_add64(cube, r->half), r->shift));
    }
    return sum;
}

/* Adds the cubes of words x, in 32-bit lanes: nothing is shifted at scale 0. */
VMAFGPU__INLINE vmafgpu__v VMAFGPU__ADM(cubes0)(vmafgpu__v sum, vmafgpu__v x) {
    const vmafgpu__v square = vmafgpu__v_pairs16(x, x);
    sum = vmafgpu__v_add64(sum, vmafgpu__v_mul_even_u32(square, x));
    return vmafgpu__v_add64(sum, vmafgpu__v_mul_even_u32(vmafgpu__v_srli64(square, 32), vmafgpu__v_srli64(x, 32)));
}

VMAFGPU__INLINE vmafgpu__v VMAFGPU__ADM(den0)(vmafgpu__v sum, vmafgpu__v magnitude) {
    const vmafgpu__v zero = vmafgpu__v_zero();
    sum = VMAFGPU__ADM(cubes0)(sum, vmafgpu__v_unpack_low16(magnitude, zero));
    return VMAFGPU__ADM(cubes0)(sum, vmafgpu__v_unpack_high16(magnitude, zero));
}

/* Parts of scale 0's sums, in 32-bit lanes: x (x^2 >> 15) and x (x^2 & 32767). */
typedef struct VMAFGPU__ADM(den_parts) {
    vmafgpu__v of[VMAFGPU__BANDS][2];
} VMAFGPU__ADM(den_parts);

/* Adds the words of a chunk, to the parts if they are small. With 16 registers that costs more than it saves. */
VMAFGPU__INLINE void VMAFGPU__ADM(add_den0)(vmafgpu__v *den, VMAFGPU__ADM(den_parts) *parts, const vmafgpu__v *words) {
    const vmafgpu__v low_bits = vmafgpu__v_set16(32767);
    const vmafgpu__v most = vmafgpu__v_max16(vmafgpu__v_max16(words[0], words[1]), words[2]);
    const int is_small = VMAFGPU__V_REGISTERS >= 32 &&
                         !vmafgpu__v_any(vmafgpu__v_sub_to_0_u16(most, vmafgpu__v_set16(4095)));
    VMAFGPU__UNROLL
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        const vmafgpu__v x = words[band];
        vmafgpu__v *part = parts->of[band];
        if (is_small) {
            part[0] = vmafgpu__v_add_pairs16(part[0], x, vmafgpu__v_mulhi_u16(x, vmafgpu__v_add16(x, x)));
            part[1] = vmafgpu__v_add_pairs16(part[1], x, vmafgpu__v_and(vmafgpu__v_mullo16(x, x), low_bits));
        } else {
            den[band] = VMAFGPU__ADM(den0)(den[band], x);
        }
    }
}

/* Needed after eight chunks: 16 * 4095 * 32767 is what 32 bits hold. */
VMAFGPU__INLINE void VMAFGPU__ADM(join_den0)(vmafgpu__v *den, VMAFGPU__ADM(den_parts) *parts) {
    const vmafgpu__v even = vmafgpu__v_set64(0xffffffff);
    VMAFGPU__UNROLL
    for (int band = 0; band < VMAFGPU__BANDS; band++)
        VMAFGPU__UNROLL
        for (int i = 0; i < 2; i++) {
            const vmafgpu__v part = parts->of[band][i];
            const vmafgpu__v sum = vmafgpu__v_add64(vmafgpu__v_and(part, even), vmafgpu__v_srli64(part, 32));
            den[band] = vmafgpu__v_add64(den[band], i ? sum : vmafgpu__v_slli64(sum, 15));
            parts->of[band][i] = vmafgpu__v_zero();
        }
}

static void VMAFGPU__ADM(den_row)(const vmafgpu__adm_task *task, const vmafgpu__v *row, vmafgpu__adm_sums *sums) {
    const int shift = task->geometry.den_row_shift;
    VMAFGPU__UNROLL
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        const int64_t sum = (int64_t)VMAFGPU__ADM(sum64)(row[band]);
        for (int i = 0; i < task->distorted; i++)
            sums[i].denominator[band] += (sum + vmafgpu__half(shift)) >> shift;
    }
}

/* ---- a row of scale 0 ---- */

/* The angle test in floats, for sums of products: `apart` is negative where the angle is too large, `doubt` positive
 * where floats cannot tell. */
VMAFGPU__INLINE void VMAFGPU__ADM(angle)(vmafgpu__v dot, vmafgpu__v o_square, vmafgpu__v t_square, vmafgpu__v *apart,
                                         vmafgpu__v *doubt) {
    const vmafgpu__v magnitude = vmafgpu__v_set32(0x7fffffff);
    const vmafgpu__v near_side = vmafgpu__v_mul_f32(dot, vmafgpu__v_and(dot, magnitude));   /* with the sign of dot */
    const vmafgpu__v far_side =
        vmafgpu__v_mul_f32(vmafgpu__v_mul_f32(vmafgpu__v_set_f32(33544212.0f / 33554432.0f), o_square), t_square);
    *apart = vmafgpu__v_sub_f32(near_side, far_side);
    *doubt = vmafgpu__v_sub_f32(
        vmafgpu__v_mul_f32(vmafgpu__v_and(near_side, magnitude), vmafgpu__v_set_f32(3.814697265625e-6f)),
        vmafgpu__v_and(*apart, magnitude));
}

/* The same for exact 32-bit sums of words, packed again. */
VMAFGPU__INLINE void VMAFGPU__ADM(angle0)(const vmafgpu__v *o, const vmafgpu__v *t, vmafgpu__v *apart,
                                          vmafgpu__v *doubt) {
    vmafgpu__v f[2], u[2];
    VMAFGPU__UNROLL
    for (int i = 0; i < 2; i++) {
        const vmafgpu__v a = i ? vmafgpu__v_unpack_high16(o[0], o[1]) : vmafgpu__v_unpack_low16(o[0], o[1]);
        const vmafgpu__v b = i ? vmafgpu__v_unpack_high16(t[0], t[1]) : vmafgpu__v_unpack_low16(t[0], t[1]);
        VMAFGPU__ADM(angle)(vmafgpu__v_to_f32(vmafgpu__v_pairs16(a, b)),
                            vmafgpu__v_to_f32(vmafgpu__v_pairs16(a, a)),
                            vmafgpu__v_to_f32(vmafgpu__v_pairs16(b, b)), &f[i], &u[i]);
    }
    *apart = vmafgpu__v_pack32(f[0], f[1]);
    *doubt = vmafgpu__v_max16(vmafgpu__v_pack32(u[0], u[1]), vmafgpu__v_zero());
}

/* Does columns again by the definition, where `rare` is not 0. */
static void VMAFGPU__ADM(rare0)(const vmafgpu__adm_variant *variant, const vmafgpu__v *o_packed,
                                const vmafgpu__v *t_packed, vmafgpu__v rare_packed, int x, int at,
                                const vmafgpu__adm_row *row) {
    enum { CHUNK = VMAFGPU__ADM_CHUNK };
    int16_t o[VMAFGPU__BANDS][CHUNK], t[VMAFGPU__BANDS][CHUNK], rare[CHUNK];
    vmafgpu__v_store(rare, rare_packed);
    VMAFGPU__UNROLL
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        vmafgpu__v_store(o[band], o_packed[band]);
        vmafgpu__v_store(t[band], t_packed[band]);
    }
    for (int i = 0; i < CHUNK; i++) {
        if (!rare[i])
            continue;
        const int column = x + (i & 3) + (i >> 3) * 4 + (i & 4 ? CHUNK / 2 : 0);   /* of word i in packed order */
        const int same_angle = vmafgpu__adm_same_angle(o[0][i], o[1][i], t[0][i], t[1][i]);
        uint32_t side[2] = { 0, 0 }, centre[2] = { 0, 0 };
        VMAFGPU__UNROLL
        for (int band = 0; band < VMAFGPU__BANDS; band++) {
            int32_t value[2];
            value[0] = vmafgpu__adm_restore(o[band][i], t[band][i]);
            if (value[0] && same_angle)
                value[0] = vmafgpu__adm_enhance(value[0], o[band][i], t[band][i], variant->gain_limit);
            value[1] = t[band][i] - value[0];
            VMAFGPU__UNROLL
            for (int k = 0; k < 2; k++) {
                const vmafgpu__adm_weighted weighted =
                    vmafgpu__adm_weigh(0, band, variant->factor[0][band == 2], value[k]);
                ((uint16_t *)row->signal[k][band])[at + i] = (uint16_t)vmafgpu__magnitude(value[k]);
                side[k] += weighted.side;
                centre[k] += weighted.centre;
            }
        }
        VMAFGPU__UNROLL
        for (int k = 0; k < 2; k++) {
            row->side[!k][column] = side[k];
            row->centre[!k][column] = centre[k];
        }
    }
}

/* Signals and shares of the threshold of a chunk at column x, for one variant. Signals are magnitudes of what is
 * restored [0] and what is added [1], at index `at` of their lines, packed. */
VMAFGPU__INLINE void VMAFGPU__ADM(weigh0)(const VMAFGPU__ADM(variant) *variant, const vmafgpu__adm_variant *definition,
                                          const vmafgpu__v *o, const vmafgpu__v *t, const vmafgpu__v *u,
                                          const vmafgpu__v *v, vmafgpu__v apart, vmafgpu__v doubt, int x, int at,
                                          const vmafgpu__adm_row *row) {
    const vmafgpu__v zero = vmafgpu__v_zero(), side_rest = vmafgpu__v_set16(2184), mid_rest = vmafgpu__v_set16(4368);
    vmafgpu__v rare = variant->gains ? doubt : zero;
    vmafgpu__v weighted[2], side[2], mid[2];
    VMAFGPU__UNROLL
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        const int d = band == 2;
        vmafgpu__v reached = u[band], value[2];
        rare = vmafgpu__v_or(rare, vmafgpu__v_sub_to_0_u16(vmafgpu__v_max16(u[band], v[band]), variant->limit[d]));
        if (variant->gains)   /* the gain is no less than 1, so the larger one is what is wanted */
            reached = vmafgpu__v_max16(reached, vmafgpu__v_andnot(vmafgpu__v_srai16(apart, 15),
                vmafgpu__v_mullo16(vmafgpu__v_min16(u[band], variant->reach), variant->gain)));
        value[0] = vmafgpu__v_andnot(vmafgpu__v_srai16(vmafgpu__v_xor(o[band], t[band]), 15),
                                     vmafgpu__v_min16(reached, v[band]));
        value[1] = vmafgpu__v_sub16(v[band], value[0]);
        VMAFGPU__UNROLL
        for (int k = 0; k < 2; k++) {
            vmafgpu__v_store((uint16_t *)row->signal[k][band] + at, value[k]);
            const vmafgpu__v c = vmafgpu__v_average_u16(
                vmafgpu__v_mulhi_u16(d ? value[k] : vmafgpu__v_slli16(value[k], 2), variant->factor[d]), zero);
            const vmafgpu__v s = vmafgpu__v_mul_round16(c, side_rest), m = vmafgpu__v_mul_round16(c, mid_rest);
            weighted[k] = band ? vmafgpu__v_add16(weighted[k], c) : c;
            side[k] = band ? vmafgpu__v_add16(side[k], s) : s;
            mid[k] = band ? vmafgpu__v_add16(mid[k], m) : m;
        }
    }
    VMAFGPU__UNROLL
    for (int k = 0; k < 2; k++) {
        const vmafgpu__v sides = vmafgpu__v_add16(weighted[k], side[k]);
        const vmafgpu__v centres = vmafgpu__v_sub16(vmafgpu__v_add16(weighted[k], mid[k]), side[k]);
        vmafgpu__v_store(row->side[!k] + x, vmafgpu__v_unpack_low16(sides, zero));
        vmafgpu__v_store(row->side[!k] + x + VMAFGPU__V_WORDS, vmafgpu__v_unpack_high16(sides, zero));
        vmafgpu__v_store(row->centre[!k] + x, vmafgpu__v_unpack_low16(centres, zero));
        vmafgpu__v_store(row->centre[!k] + x + VMAFGPU__V_WORDS, vmafgpu__v_unpack_high16(centres, zero));
    }
    if (vmafgpu__v_any(rare))
        VMAFGPU__ADM(rare0)(definition, o, t, rare, x, at, row);
}

/* Packed coefficients to 32-bit lines, for the scalar functions. */
static void VMAFGPU__ADM(keep0)(const vmafgpu__v *coefficients, int x, int32_t *const *out) {
    VMAFGPU__UNROLL
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        const vmafgpu__v zero = vmafgpu__v_zero(), a = coefficients[band];
        vmafgpu__v_store(out[band] + x, vmafgpu__v_srai32(vmafgpu__v_unpack_low16(zero, a), 16));
        vmafgpu__v_store(out[band] + x + VMAFGPU__V_WORDS, vmafgpu__v_srai32(vmafgpu__v_unpack_high16(zero, a), 16));
    }
}

static void VMAFGPU__ADM(signals0)(const vmafgpu__adm_task *task, const vmafgpu__adm_work *work,
                                   const VMAFGPU__ADM(constants) *c, const vmafgpu__adm_row *rows, int ring,
                                   vmafgpu__v *den) {
    const VMAFGPU__ADM(taps) taps = VMAFGPU__ADM(taps_of)();
    VMAFGPU__ADM(den_parts) parts;
    memset(&parts, 0, sizeof parts);
    for (int chunk = 0; chunk < c->chunks; chunk++) {
        const int at = chunk * VMAFGPU__ADM_CHUNK, x = c->left + at;
        vmafgpu__v o[VMAFGPU__BANDS], t[VMAFGPU__BANDS], u[VMAFGPU__BANDS], v[VMAFGPU__BANDS];
        vmafgpu__v apart = vmafgpu__v_zero(), doubt = vmafgpu__v_zero();
        VMAFGPU__UNROLL
        for (int f = 0; f < 2; f++) {
            vmafgpu__v *band = f ? t : o;
            band[0] = VMAFGPU__ADM(horizontal0)(work->line[f][1][0], x, &taps, 0);
            band[1] = VMAFGPU__ADM(horizontal0)(work->line[f][0][0], x, &taps, 1);
            band[2] = VMAFGPU__ADM(horizontal0)(work->line[f][1][0], x, &taps, 1);
        }
        VMAFGPU__UNROLL
        for (int band = 0; band < VMAFGPU__BANDS; band++) {
            u[band] = vmafgpu__v_abs16(o[band]);
            v[band] = vmafgpu__v_abs16(t[band]);
        }
        if (den) {
            const vmafgpu__v inside = vmafgpu__v_load(work->inside + at);
            vmafgpu__v words[VMAFGPU__BANDS];
            VMAFGPU__UNROLL
            for (int band = 0; band < VMAFGPU__BANDS; band++)
                words[band] = vmafgpu__v_and(u[band], inside);
            VMAFGPU__ADM(add_den0)(den, &parts, words);
            if (VMAFGPU__V_REGISTERS >= 32 && (chunk % 8 == 7 || chunk + 1 == c->chunks))
                VMAFGPU__ADM(join_den0)(den, &parts);
        }
        if (c->any_gain)
            VMAFGPU__ADM(angle0)(o, t, &apart, &doubt);
        for (int i = 0; i < task->variant_count; i++)
            if (c->variant[i].fast)
                VMAFGPU__ADM(weigh0)(&c->variant[i], &task->variants[i], o, t, u, v, apart, doubt, x, at,
                                     &rows[3 * i + ring]);
        if (c->any_general) {
            VMAFGPU__ADM(keep0)(o, x, work->general.band[0]);
            VMAFGPU__ADM(keep0)(t, x, work->general.band[1]);
        }
    }
}

/* ---- a row of scales 1 to 3 ---- */

/* floor(2^30 / q) for 16384 < q <= 32768. The float quotient is that, or an integer too large by one; the remainder is
 * exact. */
VMAFGPU__INLINE vmafgpu__v VMAFGPU__ADM(reciprocal)(vmafgpu__v q) {
    const vmafgpu__v divisor = vmafgpu__v_to_f32(q), one = vmafgpu__v_set_f32(1073741824.0f);
#ifdef vmafgpu__v_div_down_f32
    return vmafgpu__v_truncate_f32(vmafgpu__v_div_down_f32(one, divisor));
#else
    const vmafgpu__v estimate = vmafgpu__v_truncate_f32(vmafgpu__v_div_f32(one, divisor));
    const vmafgpu__v rest = vmafgpu__v_fnma_f32(vmafgpu__v_to_f32(estimate), divisor, one);
    return vmafgpu__v_add32(estimate, vmafgpu__v_srai32(rest, 31));
#endif
}

/* Merges shifted products: bits n to n + 31 of the 64-bit lanes of even and odd lanes. */
#define VMAFGPU__ADM_MERGE(even, odd, n) \
    vmafgpu__v_even_odd32(vmafgpu__v_srli64(even, n), vmafgpu__v_slli64(odd, 32 - (n)))

/* |restored| where the signs are equal: u = |o|, v = |t|. With u and v shifted left until bit 30 of u is set, the
 * divisor is u's upper half, rounded, and every lane's quotient is shifted by the same. */
VMAFGPU__INLINE vmafgpu__v VMAFGPU__ADM(restore)(vmafgpu__v o, vmafgpu__v u, vmafgpu__v v) {
    const vmafgpu__v one = vmafgpu__v_set32(1), half = vmafgpu__v_set64(16384);
    const vmafgpu__v left = vmafgpu__v_sub32(vmafgpu__v_leading_zeros32(u), one);
    const vmafgpu__v q =
        vmafgpu__v_srli32(vmafgpu__v_add32(vmafgpu__v_sllv32(u, left), vmafgpu__v_set32(32768)), 16);
    const vmafgpu__v reciprocal = VMAFGPU__ADM(reciprocal)(q);
    const vmafgpu__v cut = vmafgpu__v_sllv32(vmafgpu__v_min_u32(v, vmafgpu__v_add32(u, u)), left);
    vmafgpu__v even = vmafgpu__v_mul_even_u32(reciprocal, cut);
    vmafgpu__v odd = vmafgpu__v_mul_even_u32(vmafgpu__v_srli64(reciprocal, 32), vmafgpu__v_srli64(cut, 32));
    vmafgpu__v k = vmafgpu__v_srli32(vmafgpu__v_add32(VMAFGPU__ADM_MERGE(even, odd, 30), one), 1);
    k = vmafgpu__v_min_u32(k, vmafgpu__v_set32(32768));
    even = vmafgpu__v_add64(vmafgpu__v_mul_even32(k, o), half);
    odd = vmafgpu__v_add64(vmafgpu__v_mul_even32(vmafgpu__v_srli64(k, 32), vmafgpu__v_srli64(o, 32)), half);
    const vmafgpu__v scaled = vmafgpu__v_abs32(VMAFGPU__ADM_MERGE(even, odd, 15));
    const vmafgpu__v is_large = vmafgpu__v_srai32(vmafgpu__v_sub32(vmafgpu__v_set32(16384), u), 31);
    return vmafgpu__v_select(is_large, scaled, vmafgpu__v_min_u32(u, v));
}

/* Negative where the angle is too large. */
VMAFGPU__INLINE vmafgpu__v VMAFGPU__ADM(apart)(const vmafgpu__v *o, const vmafgpu__v *t) {
    vmafgpu__v f[4], apart, doubt;
    VMAFGPU__UNROLL
    for (int i = 0; i < 2; i++) {
        f[i] = vmafgpu__v_to_f32(o[i]);
        f[2 + i] = vmafgpu__v_to_f32(t[i]);
    }
    VMAFGPU__ADM(angle)(vmafgpu__v_add_f32(vmafgpu__v_mul_f32(f[0], f[2]), vmafgpu__v_mul_f32(f[1], f[3])),
                        vmafgpu__v_add_f32(vmafgpu__v_mul_f32(f[0], f[0]), vmafgpu__v_mul_f32(f[1], f[1])),
                        vmafgpu__v_add_f32(vmafgpu__v_mul_f32(f[2], f[2]), vmafgpu__v_mul_f32(f[3], f[3])),
                        &apart, &doubt);
    if (vmafgpu__v_any_positive32(doubt)) {
        int32_t lanes[4][VMAFGPU__V_WORDS], doubts[VMAFGPU__V_WORDS], fars[VMAFGPU__V_WORDS];
        VMAFGPU__UNROLL
        for (int i = 0; i < 2; i++) {
            vmafgpu__v_store(lanes[i], o[i]);
            vmafgpu__v_store(lanes[2 + i], t[i]);
        }
        vmafgpu__v_store(doubts, doubt);
        vmafgpu__v_store(fars, apart);
        for (int i = 0; i < VMAFGPU__V_WORDS; i++)
            if (doubts[i] > 0)
                fars[i] = vmafgpu__adm_same_angle(lanes[0][i], lanes[1][i], lanes[2][i], lanes[3][i]) ? 0 : -1;
        apart = vmafgpu__v_load(fars);
    }
    return apart;
}

/* Signals, which are weighted magnitudes here, and shares of the threshold, for one variant. */
VMAFGPU__INLINE void VMAFGPU__ADM(weigh)(const VMAFGPU__ADM(variant) *variant, const vmafgpu__v *t, const vmafgpu__v *v,
                                         const vmafgpu__v *restored, const vmafgpu__v *opposite, vmafgpu__v not_far,
                                         int x, int at, const vmafgpu__adm_row *row) {
    const vmafgpu__v weight_half = vmafgpu__v_set64(134217728), half = vmafgpu__v_set64(0x80000000);
    const vmafgpu__v side_factor = vmafgpu__v_set32(143165577), mid_factor = vmafgpu__v_set32(286331153);
    /* Sums of 64-bit products, each half separately: only their upper halves count. */
    vmafgpu__v side[2][2], mid[2][2];
    VMAFGPU__UNROLL
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        vmafgpu__v r = restored[band], value[2];
        vmafgpu__v gained = r;
        if (variant->gains)
            gained = vmafgpu__v_mullo32(vmafgpu__v_min_u32(r, variant->reach), variant->gain);
        r = vmafgpu__v_select(not_far, vmafgpu__v_min_u32(gained, v[band]), r);
        r = vmafgpu__v_andnot(opposite[band], r);
        const vmafgpu__v negative = vmafgpu__v_srai32(t[band], 31);
        value[0] = vmafgpu__v_sub32(vmafgpu__v_xor(r, negative), negative);
        value[1] = vmafgpu__v_sub32(t[band], value[0]);
        VMAFGPU__UNROLL
        for (int k = 0; k < 2; k++) {
            const vmafgpu__v factor = variant->factor[band == 2];
            vmafgpu__v even = vmafgpu__v_add64(vmafgpu__v_mul_even32(value[k], factor), weight_half);
            vmafgpu__v odd =
                vmafgpu__v_add64(vmafgpu__v_mul_even32(vmafgpu__v_srli64(value[k], 32), factor), weight_half);
            const vmafgpu__v signal = vmafgpu__v_abs32(VMAFGPU__ADM_MERGE(even, odd, 28));
            vmafgpu__v_store(row->signal[k][band] + at, signal);
            VMAFGPU__UNROLL
            for (int i = 0; i < 2; i++) {
                const vmafgpu__v lanes = i ? vmafgpu__v_srli64(signal, 32) : signal;
                const vmafgpu__v s = vmafgpu__v_add64(vmafgpu__v_mul_even_u32(lanes, side_factor), half);
                const vmafgpu__v m = vmafgpu__v_add64(vmafgpu__v_mul_even_u32(lanes, mid_factor), half);
                side[k][i] = band ? vmafgpu__v_add32(side[k][i], s) : s;
                mid[k][i] = band ? vmafgpu__v_add32(mid[k][i], m) : m;
            }
        }
    }
    /* (c m - 2^31) >> 32 is the upper half of c m + 2^31, less one. */
    VMAFGPU__UNROLL
    for (int k = 0; k < 2; k++) {
        const vmafgpu__v sides = vmafgpu__v_high_halves(side[k][0], side[k][1]);
        const vmafgpu__v mids = vmafgpu__v_high_halves(mid[k][0], mid[k][1]);
        vmafgpu__v_store(row->side[!k] + x, vmafgpu__v_sub32(sides, vmafgpu__v_set32(VMAFGPU__BANDS)));
        vmafgpu__v_store(row->centre[!k] + x, vmafgpu__v_sub32(mids, sides));
    }
}

VMAFGPU__INLINE void VMAFGPU__ADM(signals_of)(const vmafgpu__adm_task *task, const vmafgpu__adm_work *work,
                                              const VMAFGPU__ADM(constants) *c, const vmafgpu__adm_row *rows, int ring,
                                              int scale, vmafgpu__v *den) {
    const VMAFGPU__ADM(taps) taps = VMAFGPU__ADM(taps_of)();
    for (int at = 0; at < c->right - c->left; at += VMAFGPU__V_WORDS) {
        const int x = c->left + at;
        vmafgpu__v o[VMAFGPU__BANDS], t[VMAFGPU__BANDS], v[VMAFGPU__BANDS];
        vmafgpu__v restored[VMAFGPU__BANDS], opposite[VMAFGPU__BANDS];
        VMAFGPU__UNROLL
        for (int f = 0; f < 2; f++) {
            vmafgpu__v *band = f ? t : o;
            band[0] = VMAFGPU__ADM(horizontal)(work->line[f][1], x, &taps, 0, scale);
            band[1] = VMAFGPU__ADM(horizontal)(work->line[f][0], x, &taps, 1, scale);
            band[2] = VMAFGPU__ADM(horizontal)(work->line[f][1], x, &taps, 1, scale);
        }
        const vmafgpu__v inside = vmafgpu__v_load(work->inside + 2 * at);
        VMAFGPU__UNROLL
        for (int band = 0; band < VMAFGPU__BANDS; band++) {
            const vmafgpu__v u = vmafgpu__v_abs32(o[band]);
            v[band] = vmafgpu__v_abs32(t[band]);
            restored[band] = VMAFGPU__ADM(restore)(o[band], u, v[band]);
            opposite[band] = vmafgpu__v_srai32(vmafgpu__v_xor(o[band], t[band]), 31);
            if (den) {
                const vmafgpu__v magnitude = vmafgpu__v_and(u, inside);
                den[band] = VMAFGPU__ADM(cubes)(den[band], magnitude, &c->den);
            }
        }
        const vmafgpu__v apart = VMAFGPU__ADM(apart)(o, t);
        const vmafgpu__v not_far = vmafgpu__v_xor(vmafgpu__v_srai32(apart, 31), vmafgpu__v_set32(-1));
        for (int i = 0; i < task->variant_count; i++)
            if (c->variant[i].fast)
                VMAFGPU__ADM(weigh)(&c->variant[i], t, v, restored, opposite, not_far, x, at, &rows[3 * i + ring]);
        if (c->any_general)
            VMAFGPU__UNROLL
            for (int band = 0; band < VMAFGPU__BANDS; band++) {
                vmafgpu__v_store(work->general.band[0][band] + x, o[band]);
                vmafgpu__v_store(work->general.band[1][band] + x, t[band]);
            }
    }
}

/* Outside the region no signal may be above its threshold: takes away signals there, and centres, which may be negative
 * where they have wrapped. Only the first and the last register have such columns. */
static void VMAFGPU__ADM(clear_outside)(const vmafgpu__adm_task *task, const vmafgpu__adm_work *work,
                                        const VMAFGPU__ADM(constants) *c, const vmafgpu__adm_row *row) {
    enum { WORDS = VMAFGPU__V_WORDS, CHUNK = VMAFGPU__ADM_CHUNK };
    const int lanes = task->scale ? WORDS : CHUNK, last = (c->right - c->left - 1) / lanes;
    for (int place = 0; place <= last; place += last ? last : 1) {
        const vmafgpu__v inside = vmafgpu__v_load((const unsigned char *)work->inside + place * VMAFGPU__V_BYTES);
        VMAFGPU__UNROLL
        for (int k = 0; k < 2; k++) {
            VMAFGPU__UNROLL
            for (int band = 0; band < VMAFGPU__BANDS; band++) {
                unsigned char *signal = (unsigned char *)row->signal[k][band] + place * VMAFGPU__V_BYTES;
                vmafgpu__v_store(signal, vmafgpu__v_and(vmafgpu__v_load(signal), inside));
            }
            for (int half = 0; half < 2 && task->scale == 0; half++) {
                uint32_t *centre = row->centre[k] + c->left + place * CHUNK + half * WORDS;
                vmafgpu__v_store(centre, vmafgpu__v_and(vmafgpu__v_load(centre),
                                                        half ? vmafgpu__v_unpack_high16(inside, inside)
                                                             : vmafgpu__v_unpack_low16(inside, inside)));
            }
        }
    }
}

static void VMAFGPU__ADM(signals)(const vmafgpu__adm_task *task, const vmafgpu__adm_work *work,
                                  const VMAFGPU__ADM(constants) *c, const vmafgpu__adm_row *rows, int ring,
                                  vmafgpu__v *den) {
    if (task->scale == 0)
        VMAFGPU__ADM(signals0)(task, work, c, rows, ring, den);
    else if (task->scale == 2)
        VMAFGPU__ADM(signals_of)(task, work, c, rows, ring, 2, den);
    else
        VMAFGPU__ADM(signals_of)(task, work, c, rows, ring, 1, den);
    for (int i = 0; i < task->variant_count; i++)
        if (c->variant[i].fast)
            VMAFGPU__ADM(clear_outside)(task, work, c, &rows[3 * i + ring]);
    if (c->any_general)
        vmafgpu__adm_decouple_row(&work->general, c->left, c->right);
    for (int i = 0; i < task->variant_count; i++)
        if (!c->variant[i].fast)
            vmafgpu__adm_weigh_row(&work->general, &task->variants[i], task->scale, c->left, c->right,
                                   &rows[3 * i + ring]);
}

/* ---- masked cubes ----
 *
 * A third of the signals is above the threshold, too scattered for a branch to pay. A level that can push lanes together
 * collects those of a row first.
 */

typedef struct VMAFGPU__ADM(cubes_of) {
    vmafgpu__v sum[VMAFGPU__BANDS], low[2];   /* low: what adds nothing, as its square rounds to 0; of h and v, d */
    uint32_t *rest[VMAFGPU__BANDS];
} VMAFGPU__ADM(cubes_of);

/* Adds the cubes of what is above 0. */
VMAFGPU__INLINE void VMAFGPU__ADM(add_cubes)(VMAFGPU__ADM(cubes_of) *to, int band, vmafgpu__v rest,
                                             const VMAFGPU__ADM(rounding) *r) {
#ifdef vmafgpu__v_compress32
    const vmafgpu__v_mask counts = vmafgpu__v_greater32(rest, to->low[band == 2]);
    vmafgpu__v_store(to->rest[band], vmafgpu__v_compress32(counts, rest));
    to->rest[band] += vmafgpu__v_mask_count(counts);
    (void)r;
#else
    to->sum[band] = VMAFGPU__ADM(cubes)(to->sum[band], vmafgpu__v_max32(rest, vmafgpu__v_zero()), r);
#endif
}

VMAFGPU__INLINE vmafgpu__v VMAFGPU__ADM(threshold)(const uint32_t *column_sum, const uint32_t *centre, int x) {
    return vmafgpu__v_add32(
        vmafgpu__v_add32(vmafgpu__v_load(column_sum + x - 1), vmafgpu__v_load(column_sum + x)),
        vmafgpu__v_add32(vmafgpu__v_load(column_sum + x + 1), vmafgpu__v_load(centre + x)));
}

static void VMAFGPU__ADM(mask_row)(const vmafgpu__adm_task *task, const vmafgpu__adm_work *work,
                                   const VMAFGPU__ADM(constants) *c, const VMAFGPU__ADM(variant) *variant,
                                   const vmafgpu__adm_row *above, const vmafgpu__adm_row *row,
                                   const vmafgpu__adm_row *below, int which, int64_t *sums) {
    enum { WORDS = VMAFGPU__V_WORDS, CHUNK = VMAFGPU__ADM_CHUNK };
    const vmafgpu__adm_geometry *g = &task->geometry;
    uint32_t *column_sum = work->column_sum;
    VMAFGPU__ADM(cubes_of) cubes;
    const int lanes = task->scale == 0 ? CHUNK : WORDS;
    const int stop = c->left + (c->right - c->left + lanes - 1) / lanes * lanes;
    const uint32_t *const upper = above->side[which], *const middle = row->side[which], *const lower = below->side[which];
    for (int x = c->left; x < stop; x += WORDS)
        vmafgpu__v_store(column_sum + x, vmafgpu__v_add32(vmafgpu__v_add32(vmafgpu__v_load(upper + x),
                                                                           vmafgpu__v_load(middle + x)),
                                                          vmafgpu__v_load(lower + x)));
    column_sum[c->left - 1] = column_sum[stop] = 0;   /* of no column inside, but they must not be old values */
    if (c->left == 0)
        column_sum[-1] = column_sum[vmafgpu__reflect_repeat(-1, g->w)];
    if (c->right == g->w)
        column_sum[g->w] = column_sum[g->w - 1];
    VMAFGPU__UNROLL
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        cubes.sum[band] = vmafgpu__v_zero();
        cubes.rest[band] = work->rest[band];
    }
    cubes.low[0] = vmafgpu__v_set32(task->scale ? 23170 : 16383);
    cubes.low[1] = vmafgpu__v_set32(23170);
    if (task->scale == 0) {
        for (int n = 1; n <= c->chunks; n++) {
            const int at = n < c->chunks ? n * CHUNK : 0, x = c->left + at;
            const vmafgpu__v threshold[2] = { VMAFGPU__ADM(threshold)(column_sum, row->centre[which], x),
                                              VMAFGPU__ADM(threshold)(column_sum, row->centre[which], x + WORDS) };
            VMAFGPU__UNROLL
            for (int band = 0; band < VMAFGPU__BANDS; band++) {
                const int d = band == 2;
                const vmafgpu__v signal = vmafgpu__v_load((const uint16_t *)row->signal[which][band] + at);
                const vmafgpu__v low = vmafgpu__v_mullo16(signal, variant->factor[d]);
                const vmafgpu__v high = vmafgpu__v_mulhi_u16(signal, variant->factor[d]);
                vmafgpu__v rest[2] = { vmafgpu__v_unpack_low16(low, high), vmafgpu__v_unpack_high16(low, high) };
                VMAFGPU__UNROLL
                for (int i = 0; i < 2; i++)
                    rest[i] = vmafgpu__v_sub32(rest[i], d ? vmafgpu__v_slli32(threshold[i], 12)
                                                          : vmafgpu__v_slli32(threshold[i], 10));
                VMAFGPU__UNROLL
                for (int i = 0; i < 2; i++)
                    VMAFGPU__ADM(add_cubes)(&cubes, band, rest[i], &c->mask[d]);
            }
        }
    } else {
        for (int n = 1, count = (c->right - c->left + WORDS - 1) / WORDS; n <= count; n++) {
            const int at = n < count ? n * WORDS : 0, x = c->left + at;
            const vmafgpu__v threshold = VMAFGPU__ADM(threshold)(column_sum, row->centre[which], x);
            VMAFGPU__UNROLL
            for (int band = 0; band < VMAFGPU__BANDS; band++) {
                const vmafgpu__v signal = vmafgpu__v_load(row->signal[which][band] + at);
                VMAFGPU__ADM(add_cubes)(&cubes, band, vmafgpu__v_sub32(signal, threshold), &c->mask[0]);
            }
        }
    }
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        vmafgpu__v sum = cubes.sum[band];
#ifdef vmafgpu__v_compress32
        vmafgpu__v_store(cubes.rest[band], vmafgpu__v_zero());
        for (const uint32_t *rest = work->rest[band]; rest < cubes.rest[band]; rest += WORDS)
            sum = VMAFGPU__ADM(cubes)(sum, vmafgpu__v_load(rest), &c->mask[task->scale == 0 && band == 2]);
#endif
        sums[band] += ((int64_t)VMAFGPU__ADM(sum64)(sum) + vmafgpu__half(g->mask_row_shift)) >> g->mask_row_shift;
    }
}

/* ---- a band of rows ---- */

/* Rows first..end-1 of the bands of one scale: writes their low-pass rows and adds to the sums of each distorted
 * frame. */
static void VMAFGPU__LEVEL_NAME(vmafgpu__adm_rows)(const vmafgpu__adm_task *task, int first, int end,
                                                   vmafgpu__adm_sums *sums) {
    const vmafgpu__adm_geometry *g = &task->geometry;
    const int top = g->top > 0 ? g->top - 1 : 0, bottom = g->top > 0 ? g->h - g->top + 1 : g->h;
    const int left = g->left > 0 ? g->left - 1 : 0;
    vmafgpu__adm_work work;
    VMAFGPU__ADM(constants) c;
    if (first >= end)
        return;
    (void)vmafgpu__adm_layout(&work, (unsigned char *)task->scratch, task->in_width, task->variant_count,
                              task->distorted, -left & (VMAFGPU__V_WORDS - 1));
    VMAFGPU__ADM(constants_of)(&c, task, &work);
    for (int y = first - 1; y <= end; y++) {
        const int own = y >= first && y < end, needed = y >= top && y < bottom;
        const int makes_low = own && task->scale + 1 < VMAFGPU__SCALES;
        const int done = y - 1, masks = done >= first && done < end && done >= g->top && done < g->h - g->top;
        const int above = vmafgpu__reflect_repeat(done - 1, g->h), below = vmafgpu__reflect_repeat(done + 1, g->h);
        vmafgpu__v den[VMAFGPU__BANDS];
        for (int f = 0; f <= task->distorted; f++) {
            if (makes_low || needed)
                VMAFGPU__ADM(vertical)(task, &work, &c, &task->image[f], y, needed, work.line[f > 0]);
            if (makes_low)
                VMAFGPU__ADM(low_row)(task, &task->image[f], y, work.line[f > 0]);
            if (f == 0)
                continue;
            const vmafgpu__adm_row *rows = work.rows + 3 * task->variant_count * (f - 1);
            if (needed) {
                const int adds = f == 1 && own && y >= g->top && y < g->h - g->top;
                VMAFGPU__UNROLL
                for (int band = 0; band < VMAFGPU__BANDS; band++)
                    den[band] = vmafgpu__v_zero();
                VMAFGPU__ADM(signals)(task, &work, &c, rows, y % 3, adds ? den : NULL);
                if (adds)
                    VMAFGPU__ADM(den_row)(task, den, sums);
            }
            for (int i = 0; masks && i < task->variant_count; i++)
                for (int which = 0; which < 2; which++) {
                    const vmafgpu__adm_row *r = rows + 3 * i;
                    int64_t *out = which ? sums[f - 1].impairment[i] : sums[f - 1].numerator[i];
                    if (c.variant[i].fast)
                        VMAFGPU__ADM(mask_row)(task, &work, &c, &c.variant[i], &r[above % 3], &r[done % 3],
                                               &r[below % 3], which, out);
                    else
                        vmafgpu__adm_mask_row(g, task->scale, &r[above % 3], &r[done % 3], &r[below % 3],
                                              work.column_sum, which, out);
                }
        }
    }
}
/* ---- CAMBI ----
 *
 * The rows' functions do what their plain forms in >>cambi do, 8, 16 or 32 samples at a time. Counting is another way to
 * the same integers: per value and column of a strip there is the count in the whole window around it. From row to row
 * only those columns change it whose sample comes or goes in another value; neighbours that do so alike are a run, which
 * adds to the columns within reach as many samples as they see of it. Where a row has been flat, there is nothing
 * to do. A register of samples then reads its counts side by side, once for each value in it.
 */
#define VMAFGPU__CAMBI(name) VMAFGPU__LEVEL_NAME(vmafgpu__cambi_##name)
#undef VMAFGPU__CAMBI_LANES
#define VMAFGPU__CAMBI_LANES (VMAFGPU__V_BYTES / 2)

static void VMAFGPU__CAMBI(import_row)(const uint8_t *source, int wide, int bit_depth, int w, uint16_t *row) {
    const vmafgpu__v zero = vmafgpu__v_zero();
    if (!wide) {
        for (int x = 0; x < w; x += VMAFGPU__CAMBI_LANES)
            vmafgpu__v_store(row + x, vmafgpu__v_sll16(vmafgpu__v_load_u8_as_16(source + x), 2));
    } else if (bit_depth <= 10) {
        for (int x = 0; x < w; x += VMAFGPU__CAMBI_LANES)
            vmafgpu__v_store(row + x, vmafgpu__v_sll16(vmafgpu__v_load(source + 2 * x), 10 - bit_depth));
    } else {
        /* Half of the unit dropped is the last bit but one that is: rounding is the average with 0. */
        for (int x = 0; x < w; x += VMAFGPU__CAMBI_LANES)
            vmafgpu__v_store(row + x, vmafgpu__v_average_u16(
                                          vmafgpu__v_srl16(vmafgpu__v_load(source + 2 * x), bit_depth - 11), zero));
    }
}

static void VMAFGPU__CAMBI(soften)(const uint16_t *row, const uint16_t *below, int w, uint16_t *out) {
    if (!below)
        below = row;   /* the average of two samples, taken twice */
    for (int x = 0; x < w; x += VMAFGPU__CAMBI_LANES) {
        const vmafgpu__v own = vmafgpu__v_add16(vmafgpu__v_load(row + x), vmafgpu__v_load(row + x + 1));
        const vmafgpu__v other = vmafgpu__v_add16(vmafgpu__v_load(below + x), vmafgpu__v_load(below + x + 1));
        vmafgpu__v_store(out + x, vmafgpu__v_srl16(vmafgpu__v_add16(own, other), 2));
    }
}

static void VMAFGPU__CAMBI(flat_row)(const uint16_t *row, const uint16_t *below, int w, uint8_t *flat) {
    const vmafgpu__v one = vmafgpu__v_set8(1);
    for (int x = 0; x < (int)vmafgpu__padded(w); x += VMAFGPU__V_BYTES) {
        vmafgpu__v half[2], both;
        VMAFGPU__UNROLL
        for (int i = 0; i < 2; i++) {
            const uint16_t *at = row + x + i * VMAFGPU__CAMBI_LANES;
            const vmafgpu__v own = vmafgpu__v_load(at);
            half[i] = vmafgpu__v_and(
                vmafgpu__v_equal16(own, vmafgpu__v_load(at + 1)),
                vmafgpu__v_equal16(own, vmafgpu__v_load(below + x + i * VMAFGPU__CAMBI_LANES)));
        }
        both = vmafgpu__v_and(vmafgpu__v_in_order(vmafgpu__v_pack16(half[0], half[1])), one);
        if (x + VMAFGPU__V_BYTES > w)
            both = vmafgpu__v_and(both, vmafgpu__v_load((const uint8_t *)vmafgpu__inside + 64 - (w - x)));
        vmafgpu__v_store(flat + x, both);
    }
}

static void VMAFGPU__CAMBI(slide)(uint8_t *column, const uint8_t *newest, const uint8_t *oldest, int w) {
    for (int x = 0; x < w; x += VMAFGPU__V_BYTES)
        vmafgpu__v_store(column + x, vmafgpu__v_sub8(vmafgpu__v_add8(vmafgpu__v_load(column + x), vmafgpu__v_load(newest + x)),
                                                     vmafgpu__v_load(oldest + x)));
}

/* Every second byte of two registers. */
#define vmafgpu__cambi_halve_ VMAFGPU__CAMBI(halve)
VMAFGPU__INLINE vmafgpu__v vmafgpu__cambi_halve_(vmafgpu__v a, vmafgpu__v b) {
    const vmafgpu__v even = vmafgpu__v_set16(255);
    return vmafgpu__v_in_order(vmafgpu__v_pack_u16(vmafgpu__v_and(a, even), vmafgpu__v_and(b, even)));
}

/* Whether more than `threshold` of the 49 samples around are flat. */
#define vmafgpu__cambi_marked_ VMAFGPU__CAMBI(marked)
VMAFGPU__INLINE vmafgpu__v vmafgpu__cambi_marked_(const uint8_t *column, vmafgpu__v threshold) {
    vmafgpu__v sum = vmafgpu__v_load(column - 3);
    VMAFGPU__UNROLL
    for (int i = -2; i <= 3; i++)
        sum = vmafgpu__v_add8(sum, vmafgpu__v_load(column + i));
    return vmafgpu__v_greater8(sum, threshold);
}

static void VMAFGPU__CAMBI(mask_row)(const uint8_t *column, int w, int halved, int threshold, uint8_t *sum, uint8_t *mask) {
    const vmafgpu__v most = vmafgpu__v_set8((int8_t)threshold);
    (void)sum;
    if (!halved)
        for (int x = 0; x < w; x += VMAFGPU__V_BYTES)
            vmafgpu__v_store(mask + x, vmafgpu__cambi_marked_(column + x, most));
    else
        for (int x = 0; x < w; x += 2 * VMAFGPU__V_BYTES)
            vmafgpu__v_store(mask + x / 2, vmafgpu__cambi_halve_(
                                               vmafgpu__cambi_marked_(column + x, most),
                                               vmafgpu__cambi_marked_(column + x + VMAFGPU__V_BYTES, most)));
}

static void VMAFGPU__CAMBI(halve_row)(const uint16_t *row, int w, uint16_t *out) {
    const vmafgpu__v even = vmafgpu__v_set32(65535);
    for (int x = 0; x < w; x += VMAFGPU__CAMBI_LANES) {
        const vmafgpu__v a = vmafgpu__v_load(row + 2 * x), b = vmafgpu__v_load(row + 2 * x + VMAFGPU__CAMBI_LANES);
        vmafgpu__v_store(out + x, vmafgpu__v_in_order(vmafgpu__v_pack_u32(vmafgpu__v_and(a, even),
                                                                          vmafgpu__v_and(b, even))));
    }
}

static void VMAFGPU__CAMBI(halve_mask)(const uint8_t *mask, int w, uint8_t *out) {
    for (int x = 0; x < w; x += VMAFGPU__V_BYTES)
        vmafgpu__v_store(out + x, vmafgpu__cambi_halve_(vmafgpu__v_load(mask + 2 * x),
                                                        vmafgpu__v_load(mask + 2 * x + VMAFGPU__V_BYTES)));
}

static void VMAFGPU__CAMBI(mode_row)(const uint16_t *a, const uint16_t *b, const uint16_t *c, int w, uint16_t *out) {
    for (int x = 0; x < w; x += VMAFGPU__CAMBI_LANES) {
        const vmafgpu__v va = vmafgpu__v_load(a + x), vb = vmafgpu__v_load(b + x), vc = vmafgpu__v_load(c + x);
        const vmafgpu__v least = vmafgpu__v_min16(vmafgpu__v_min16(va, vb), vc);
        const vmafgpu__v other = vmafgpu__v_select(vmafgpu__v_equal16(vb, vc), vb, least);
        const vmafgpu__v twice = vmafgpu__v_or(vmafgpu__v_equal16(va, vb), vmafgpu__v_equal16(va, vc));
        vmafgpu__v_store(out + x, vmafgpu__v_select(twice, va, other));
    }
}

static void VMAFGPU__CAMBI(code_row)(const vmafgpu__cambi_variant *variant, const uint16_t *row, const uint8_t *mask, int w,
                                     uint16_t *code) {
    const vmafgpu__v base = vmafgpu__v_set16((int16_t)variant->base);
    const vmafgpu__v last = vmafgpu__v_set16((int16_t)(variant->bins - 1)), zero = vmafgpu__v_zero();
    const vmafgpu__v nothing = vmafgpu__v_set16(-1);
    for (int x = 0; x < w; x += VMAFGPU__CAMBI_LANES) {
        const vmafgpu__v value = vmafgpu__v_sub16(vmafgpu__v_load(row + x), base);
        const vmafgpu__v counts = vmafgpu__v_equal16(vmafgpu__v_min_u16(value, last), value);
        const vmafgpu__v marked = vmafgpu__v_greater16(vmafgpu__v_load_u8_as_16(mask + x), zero);
        vmafgpu__v_store(code + x, vmafgpu__v_select(vmafgpu__v_and(counts, marked), value, nothing));
    }
    memset(code + w, 0xff, sizeof *code * (vmafgpu__padded(w) - (size_t)w));
}

static const int16_t VMAFGPU__CAMBI(steps)[32] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31 };

/* Adds the samples first..last of a row, or takes them away, to a value's counts in columns 0..w-1 of a strip. What lies
 * within reach of a column is limited by the run's beginning, its end, its length and the window. */
VMAFGPU__INLINE void VMAFGPU__CAMBI(run)(uint16_t *counts, int first, int last, int reach, int w, int goes) {
    const int begin = first - reach > 0 ? (first - reach) / VMAFGPU__CAMBI_LANES * VMAFGPU__CAMBI_LANES : 0;
    const int end = last + reach < w ? last + reach + 1 : w;
    const int length = last - first, window = 2 * reach;
    const vmafgpu__v zero = vmafgpu__v_zero(), lanes = vmafgpu__v_set16(VMAFGPU__CAMBI_LANES);
    const vmafgpu__v most = vmafgpu__v_set16((int16_t)((length < window ? length : window) + 1));
    const vmafgpu__v step = vmafgpu__v_load(VMAFGPU__CAMBI(steps));
    vmafgpu__v before = vmafgpu__v_add16(vmafgpu__v_set16((int16_t)(begin - first + reach + 1)), step);
    vmafgpu__v after = vmafgpu__v_sub16(vmafgpu__v_set16((int16_t)(last + reach + 1 - begin)), step);
    for (int x = begin; x < end; x += VMAFGPU__CAMBI_LANES) {
        const vmafgpu__v seen = vmafgpu__v_max16(vmafgpu__v_min16(vmafgpu__v_min16(before, after), most), zero);
        const vmafgpu__v count = vmafgpu__v_load(counts + x);
        vmafgpu__v_store(counts + x, goes ? vmafgpu__v_sub16(count, seen) : vmafgpu__v_add16(count, seen));
        before = vmafgpu__v_add16(before, lanes);
        after = vmafgpu__v_sub16(after, lanes);
    }
}

/* What a strip needs at hand. */
typedef struct VMAFGPU__CAMBI(state) {
    const vmafgpu__cambi *cambi;
    uint16_t *counts;          /* of code 0 */
    ptrdiff_t pitch;           /* from one code's to the next one's */
    int       x0, w, reach;    /* first column, columns */
    int       left, right;     /* columns of the picture within reach */
    int       found;           /* c-values above 0 */
    vmafgpu__v sum;
} VMAFGPU__CAMBI(state);

/* A run of samples of one row; first < 0: none. */
typedef struct VMAFGPU__CAMBI(open_run) { int first, code; } VMAFGPU__CAMBI(open_run);

VMAFGPU__INLINE void VMAFGPU__CAMBI(close)(const VMAFGPU__CAMBI(state) *s, const VMAFGPU__CAMBI(open_run) *run, int end,
                                           int goes) {
    if (run->first >= 0)
        VMAFGPU__CAMBI(run)(s->counts + run->code * s->pitch, run->first - s->x0, end - 1 - s->x0, s->reach, s->w, goes);
}

/* Runs begin at `starts` and end before the next of `places`, which are counted from column x on. One that does not end
 * stays open. */
VMAFGPU__INLINE void VMAFGPU__CAMBI(runs)(const VMAFGPU__CAMBI(state) *s, VMAFGPU__CAMBI(open_run) *run,
                                          const uint16_t *row, int x, vmafgpu__v_lanes places, vmafgpu__v_lanes starts,
                                          int goes) {
    if (run->first >= 0 && places) {
        VMAFGPU__CAMBI(close)(s, run, x + vmafgpu__v_first_lane(places), goes);
        run->first = -1;
    }
    for (; starts; starts &= starts - 1) {
        const vmafgpu__v_lanes after = places & ~(starts ^ (starts - 1));
        VMAFGPU__CAMBI(open_run) own;
        own.first = x + vmafgpu__v_first_lane(starts);
        own.code = row[own.first];
        if (!after) {
            *run = own;
            return;
        }
        VMAFGPU__CAMBI(close)(s, &own, x + vmafgpu__v_first_lane(after), goes);
    }
}

/* A row that comes into the windows, and one that goes: where they differ. */
static void VMAFGPU__CAMBI(slide_rows)(const VMAFGPU__CAMBI(state) *s, const uint16_t *come, const uint16_t *gone) {
    enum { STEP = VMAFGPU__V_LANE_BITS, LANES = VMAFGPU__CAMBI_LANES, BITS = STEP * LANES };
    const vmafgpu__v nothing = vmafgpu__v_set16(-1);
    VMAFGPU__CAMBI(open_run) in = { -1, 0 }, out = { -1, 0 };
    vmafgpu__v_lanes before = 0;       /* whether the last column differs, in the first one's bit */
    for (int x = s->left; x < s->right; x += LANES) {
        const vmafgpu__v a = vmafgpu__v_load(come + x), b = vmafgpu__v_load(gone + x);
        vmafgpu__v_lanes differ = vmafgpu__v_unequal16(a, b);
        if (x + LANES > s->right)
            differ &= ((vmafgpu__v_lanes)1 << (s->right - x) * STEP) - 1;
        if (!(differ | before))
            continue;
        const vmafgpu__v_lanes edges = differ ^ (differ << STEP | before);
        const vmafgpu__v_lanes comes = edges | (differ & vmafgpu__v_unequal16(a, vmafgpu__v_load(come + x - 1)));
        const vmafgpu__v_lanes goes = edges | (differ & vmafgpu__v_unequal16(b, vmafgpu__v_load(gone + x - 1)));
        VMAFGPU__CAMBI(runs)(s, &in, come, x, comes, comes & differ & vmafgpu__v_unequal16(a, nothing), 0);
        VMAFGPU__CAMBI(runs)(s, &out, gone, x, goes, goes & differ & vmafgpu__v_unequal16(b, nothing), 1);
        before = differ >> (BITS - 1) << (STEP - 1);
    }
    VMAFGPU__CAMBI(close)(s, &in, s->right, 0);
    VMAFGPU__CAMBI(close)(s, &out, s->right, 1);
}

/* The c-values of a register of samples, as floats, in an order of their own. */
VMAFGPU__INLINE void VMAFGPU__CAMBI(values)(const VMAFGPU__CAMBI(state) *s, const uint16_t *code, int x, vmafgpu__v codes,
                                            vmafgpu__v_lanes todo, vmafgpu__v *value) {
    const vmafgpu__cambi *cambi = s->cambi;
    const int contrasts = cambi->variant->contrasts;
    const vmafgpu__v zero = vmafgpu__v_zero();
    value[0] = value[1] = zero;
    do {
        const int own_code = code[vmafgpu__v_first_lane(todo)];
        const vmafgpu__v own_codes = vmafgpu__v_set16((int16_t)own_code);
        const vmafgpu__v same = vmafgpu__v_equal16(codes, own_codes);
        const uint8_t *weights = cambi->weights + (size_t)own_code * (size_t)contrasts;
        const uint16_t *counts = s->counts + own_code * s->pitch + x;
        todo &= vmafgpu__v_unequal16(codes, own_codes);
        if (!cambi->counts[own_code])
            continue;
        const vmafgpu__v own = vmafgpu__v_and(vmafgpu__v_load(counts), same);
        for (int k = 1; k <= contrasts; k++) {
            const vmafgpu__v most = vmafgpu__v_max16(vmafgpu__v_load(counts + k * s->pitch),
                                                     vmafgpu__v_load(counts - k * s->pitch));
            if (!weights[k - 1] || !vmafgpu__v_any_and(most, same))
                continue;
            const vmafgpu__v weight = vmafgpu__v_set32(weights[k - 1]);
            VMAFGPU__UNROLL
            for (int i = 0; i < 2; i++) {
                const vmafgpu__v a = i ? vmafgpu__v_unpack_high16(own, zero) : vmafgpu__v_unpack_low16(own, zero);
                const vmafgpu__v b = i ? vmafgpu__v_unpack_high16(most, zero) : vmafgpu__v_unpack_low16(most, zero);
                const vmafgpu__v product = vmafgpu__v_mullo32(vmafgpu__v_pairs16(a, b), weight);
                const vmafgpu__v share = vmafgpu__v_gather32(cambi->reciprocal, vmafgpu__v_add32(a, b));
                /* None is negative, so that their bits are in the order of the values. */
                value[i] = vmafgpu__v_max32(value[i], vmafgpu__v_mul_f32(vmafgpu__v_to_f32(product), share));
            }
        }
    } while (todo);
}

/* The sum of the lanes in units of 2^-24. */
VMAFGPU__INLINE int64_t VMAFGPU__CAMBI(sum_of)(vmafgpu__v doubles) {
    double lanes[VMAFGPU__V_BYTES / 8], sum = 0;
    vmafgpu__v_store(lanes, doubles);
    for (int i = 0; i < VMAFGPU__V_BYTES / 8; i++)
        sum += lanes[i];
    return (int64_t)(sum * 16777216.0);
}

/* A register of samples' c-values in the order of the samples: blocks hold every other four. */
VMAFGPU__INLINE void VMAFGPU__CAMBI(order)(const vmafgpu__v *value, float *out) {
    float half[2][VMAFGPU__V_WORDS];
    vmafgpu__v_store(half[0], value[0]);
    vmafgpu__v_store(half[1], value[1]);
    for (int i = 0; i < VMAFGPU__CAMBI_LANES; i += 4)
        memcpy(out + i, half[i / 4 % 2] + i / 8 * 4, 4 * sizeof *out);
}

/* The samples of a row. Their c-values go to the list, whole registers with what is 0 in them, or to `place`. Returns how
 * much longer the list is. */
static size_t VMAFGPU__CAMBI(count_row)(VMAFGPU__CAMBI(state) *s, const uint16_t *code, float *list, float *place) {
    const vmafgpu__v nothing = vmafgpu__v_set16(-1), zero = vmafgpu__v_zero();
    float *at = list;
    for (int x = 0; x < s->w; x += VMAFGPU__CAMBI_LANES) {
        const int rest = s->w - x < VMAFGPU__CAMBI_LANES ? s->w - x : VMAFGPU__CAMBI_LANES;
        float line[VMAFGPU__CAMBI_LANES];
        vmafgpu__v value[2];
        const vmafgpu__v codes = vmafgpu__v_load(code + x);
        const vmafgpu__v_lanes todo = vmafgpu__v_unequal16(codes, nothing);
        if (!todo)
            continue;
        VMAFGPU__CAMBI(values)(s, code + x, x, codes, todo, value);
        if (!vmafgpu__v_any(vmafgpu__v_or(value[0], value[1])))
            continue;
        if (place || rest < VMAFGPU__CAMBI_LANES) {
            VMAFGPU__CAMBI(order)(value, line);
            memcpy(place ? place + x : at, line, sizeof *line * (size_t)rest);
        } else {
            vmafgpu__v_store(at, value[0]);
            vmafgpu__v_store(at + VMAFGPU__V_WORDS, value[1]);
        }
        if (place)
            continue;
        at += rest;
        VMAFGPU__UNROLL
        for (int i = 0; i < 2; i++) {
            s->found += (int)vmafgpu__v_mask_count(vmafgpu__v_greater32(value[i], zero));
            s->sum = vmafgpu__v_add_f64(s->sum, vmafgpu__v_add_f64(vmafgpu__v_low_to_f64(value[i]),
                                                                   vmafgpu__v_high_to_f64(value[i])));
        }
    }
    return (size_t)(at - list);
}

/* A strip's sum is exact below 2^29. From there on it may round, but not to less than that, and then it is not looked at. */
static void VMAFGPU__CAMBI(strip)(const vmafgpu__cambi *cambi, vmafgpu__cambi_band *band, int scale, int x0, int x1, int first,
                                  int end) {
    const vmafgpu__cambi_variant *variant = cambi->variant;
    const vmafgpu__plane *codes = &cambi->codes[scale];
    const int w = vmafgpu__cambi_size(variant, cambi->picture->width, scale);
    const int h = vmafgpu__cambi_size(variant, cambi->picture->height, scale);
    float *list = cambi->values[scale] + (size_t)band->first_row[scale] * (size_t)w + band->length[scale];
    const uint16_t *nothing = codes->data + h * codes->stride;
    VMAFGPU__CAMBI(state) s;
    s.cambi = cambi;
    s.x0 = x0;
    s.w = x1 - x0;
    s.reach = cambi->picture->window >> 1;
    s.pitch = (ptrdiff_t)vmafgpu__padded(s.w);
    s.counts = band->counts + variant->contrasts * s.pitch;
    s.left = x0 - s.reach > 0 ? x0 - s.reach : 0;
    s.right = x1 + s.reach < w ? x1 + s.reach : w;
    s.found = 0;
    s.sum = vmafgpu__v_zero();
    memset(band->counts, 0, sizeof(uint16_t) * (size_t)s.pitch * (size_t)(variant->bins + 2 * variant->contrasts));
    for (int y = first - s.reach < 0 ? 0 : first - s.reach; y < first + s.reach && y < h; y++)
        VMAFGPU__CAMBI(slide_rows)(&s, codes->data + y * codes->stride, nothing);
    for (int y = first; y < end; y++) {
        const uint16_t *code = codes->data + y * codes->stride;
        VMAFGPU__CAMBI(slide_rows)(&s, y + s.reach < h ? code + s.reach * codes->stride : nothing,
                                   y > first && y - s.reach - 1 >= 0 ? code - (s.reach + 1) * codes->stride : nothing);
        list += VMAFGPU__CAMBI(count_row)(
            &s, code + x0, list, cambi->in_place ? cambi->values[scale] + (size_t)y * (size_t)w + x0 : NULL);
    }
    band->length[scale] = (size_t)(list - cambi->values[scale]) - (size_t)band->first_row[scale] * (size_t)w;
    band->count[scale] += (size_t)s.found;
    band->sum[scale] += VMAFGPU__CAMBI(sum_of)(s.sum);
}

/* The bits of floats from 0 up are in the order of the values. */
static int64_t VMAFGPU__CAMBI(sum_above)(const float *values, size_t count, float low, float high, float *alike,
                                         size_t *alike_count) {
    enum { TOGETHER = 8192 / VMAFGPU__V_WORDS * VMAFGPU__V_WORDS };   /* below 2^15 each, so that their sum is exact */
    const vmafgpu__v below_low = vmafgpu__v_set32((int32_t)vmafgpu__float_bits(low) - 1);
    const vmafgpu__v below_high = vmafgpu__v_set32((int32_t)vmafgpu__float_bits(high) - 1);
    const size_t whole = count / VMAFGPU__V_WORDS * VMAFGPU__V_WORDS;
    int64_t sum = 0;
    for (size_t start = 0; start < whole; start += TOGETHER) {
        const size_t end = whole - start > TOGETHER ? start + TOGETHER : whole;
        vmafgpu__v part = vmafgpu__v_zero();
        for (size_t k = start; k < end; k += VMAFGPU__V_WORDS) {
            const vmafgpu__v value = vmafgpu__v_load(values + k);
            const vmafgpu__v_mask above = vmafgpu__v_greater32(value, below_high);
            const vmafgpu__v kept = vmafgpu__v_keep32(above, value);
            part = vmafgpu__v_add_f64(part, vmafgpu__v_add_f64(vmafgpu__v_low_to_f64(kept), vmafgpu__v_high_to_f64(kept)));
            if (vmafgpu__v_mask_any(vmafgpu__v_greater32(vmafgpu__v_drop32(above, value), below_low))) {
                float copy[VMAFGPU__V_WORDS];   /* `alike` may be in the place of values looked at */
                vmafgpu__v_store(copy, value);
                for (int i = 0; i < VMAFGPU__V_WORDS; i++)
                    if (copy[i] >= low && copy[i] < high)
                        alike[(*alike_count)++] = copy[i];
            }
        }
        sum += VMAFGPU__CAMBI(sum_of)(part);
    }
    return sum + vmafgpu__cambi_sum_above_scalar(values + whole, count - whole, low, high, alike, alike_count);
}

static const vmafgpu__cambi_functions VMAFGPU__LEVEL_NAME(vmafgpu__cambi) = {
    VMAFGPU__CAMBI(import_row), VMAFGPU__CAMBI(soften), VMAFGPU__CAMBI(flat_row), VMAFGPU__CAMBI(slide),
    VMAFGPU__CAMBI(mask_row), VMAFGPU__CAMBI(halve_row), VMAFGPU__CAMBI(halve_mask), VMAFGPU__CAMBI(mode_row),
    VMAFGPU__CAMBI(code_row), VMAFGPU__CAMBI_WIDE_STRIP, VMAFGPU__CAMBI(strip), VMAFGPU__CAMBI(sum_above)
};
#undef VMAFGPU__CAMBI
#undef vmafgpu__cambi_halve_
#undef vmafgpu__cambi_marked_

/* ---- SpEED chroma ----
 *
 * Each element sees the operations of the plain forms in >>speed in their order; only elements beside each other are
 * worked on at once. Products are rounded by themselves, but for exact ones.
 */
#define VMAFGPU__SPEED(name) VMAFGPU__LEVEL_NAME(vmafgpu__speed_##name)

static uint32_t VMAFGPU__SPEED(import)(const uint8_t *source, int bytes, int step, int shift, float unit, int w, float *row) {
    const vmafgpu__v centre = vmafgpu__v_set_f32(128), units = vmafgpu__v_set_f32(unit);
    const int whole = step == bytes ? w / VMAFGPU__V_WORDS * VMAFGPU__V_WORDS : 0;
    uint32_t lanes[VMAFGPU__V_WORDS], all = 0;
    vmafgpu__v seen = vmafgpu__v_zero();
    if (bytes == 1) {
        for (int x = 0; x < whole; x += VMAFGPU__V_WORDS)
            vmafgpu__v_store(row + x, vmafgpu__v_sub_f32(vmafgpu__v_to_f32(vmafgpu__v_load_u8_as_32(source + x)), centre));
    } else {
        for (int x = 0; x < whole; x += VMAFGPU__V_WORDS) {
            const vmafgpu__v words = vmafgpu__v_load_u16_as_32(source + 2 * x);
            seen = vmafgpu__v_or(seen, words);
            vmafgpu__v_store(row + x, vmafgpu__v_sub_f32(vmafgpu__v_mul_f32(vmafgpu__v_to_f32(vmafgpu__v_srl32(words, shift)),
                                                                      units), centre));
        }
    }
    vmafgpu__v_store(lanes, seen);
    for (int i = 0; i < VMAFGPU__V_WORDS; i++)
        all |= lanes[i];
    return all | vmafgpu__speed_import_scalar(source + whole * step, bytes, step, shift, unit, w - whole, row + whole);
}

static void VMAFGPU__SPEED(bilinear)(const float *const *rows, const float *weight, const vmafgpu__speed_between *columns,
                                     int w, float *out) {
    const vmafgpu__v down[2] = { vmafgpu__v_set_f32(weight[0]), vmafgpu__v_set_f32(weight[1]) };
    for (int x = 0; x < w; x += VMAFGPU__V_WORDS) {
        vmafgpu__v value = vmafgpu__v_zero();
        VMAFGPU__UNROLL
        for (int k = 0; k < 2; k++) {
            VMAFGPU__UNROLL
            for (int i = 0; i < 2; i++) {
                const vmafgpu__v both = vmafgpu__v_mul_f32(down[k], vmafgpu__v_load(columns->weight[i] + x));
                value = vmafgpu__v_add_f32(
                    value, vmafgpu__v_mul_f32(both, vmafgpu__v_gather32(rows[k], vmafgpu__v_load(columns->at[i] + x))));
            }
        }
        vmafgpu__v_store(out + x, value);
    }
}

static void VMAFGPU__SPEED(add_row)(float *sum, const float *row, float tap, int w) {
    const vmafgpu__v taps = vmafgpu__v_set_f32(tap);
    for (int x = 0; x < w; x += VMAFGPU__V_WORDS)
        vmafgpu__v_store(sum + x, vmafgpu__v_add_f32(vmafgpu__v_load(sum + x), vmafgpu__v_mul_f32(taps, vmafgpu__v_load(row + x))));
}

static void VMAFGPU__SPEED(totals)(const float *plane, ptrdiff_t pitch, int w, int h, float *total) {
    enum { BLOCK = VMAFGPU__SPEED_BLOCK, REGISTERS = (BLOCK + VMAFGPU__V_WORDS - 1) / VMAFGPU__V_WORDS };
    float lanes[REGISTERS * VMAFGPU__V_WORDS];
    vmafgpu__v sum[BLOCK][REGISTERS];
    VMAFGPU__UNROLL
    for (int k = 0; k < BLOCK; k++)
        VMAFGPU__UNROLL
        for (int i = 0; i < REGISTERS; i++)
            sum[k][i] = vmafgpu__v_zero();
    for (int y = 0; y < h; y++, plane += pitch)
        for (int x = 0; x < w; x++)
            VMAFGPU__UNROLL
            for (int k = 0; k < BLOCK; k++)
                VMAFGPU__UNROLL
                for (int i = 0; i < REGISTERS; i++)
                    sum[k][i] = vmafgpu__v_add_f32(sum[k][i], vmafgpu__v_load(plane + k * pitch + x + i * VMAFGPU__V_WORDS));
    for (int k = 0; k < BLOCK; k++) {
        for (int i = 0; i < REGISTERS; i++)
            vmafgpu__v_store(lanes + i * VMAFGPU__V_WORDS, sum[k][i]);
        memcpy(total + k * BLOCK, lanes, sizeof(float) * BLOCK);
    }
}

static void VMAFGPU__SPEED(column_sums)(const double *a, const double *b, ptrdiff_t pitch, ptrdiff_t b_pitch, int w, int h,
                                        int places, double *out, ptrdiff_t out_pitch) {
    enum { EDGE = VMAFGPU__SPEED_EDGE, LANES = VMAFGPU__V_BYTES / 8, TOGETHER = 4 };
    for (int start = 0; start < w; start += TOGETHER * LANES) {
        vmafgpu__v core[TOGETHER];
        VMAFGPU__UNROLL
        for (int i = 0; i < TOGETHER; i++)
            core[i] = vmafgpu__v_zero();
        for (int y = EDGE; y < h; y++) {
            VMAFGPU__UNROLL
            for (int i = 0; i < TOGETHER; i++) {
                const int x = start + i * LANES;
                core[i] = vmafgpu__v_fma_f64(vmafgpu__v_load(a + y * pitch + x), vmafgpu__v_load(b + y * b_pitch + x),
                                             core[i]);
            }
        }
        for (int i = 0; i < TOGETHER && start + i * LANES < w; i++) {
            const int x = start + i * LANES;
            vmafgpu__v above[EDGE + 1], below = vmafgpu__v_zero();
            above[EDGE] = below;
            for (int y = EDGE - 1; y >= 0; y--)
                above[y] = vmafgpu__v_fma_f64(vmafgpu__v_load(a + y * pitch + x),
                                              vmafgpu__v_load(b + y * b_pitch + x), above[y + 1]);
            for (int k = 0; k < places; k++) {
                vmafgpu__v_store(out + k * out_pitch + x,
                                     vmafgpu__v_add_f64(vmafgpu__v_add_f64(core[i], above[k]), below));
                if (k + 1 < places)
                    below = vmafgpu__v_fma_f64(vmafgpu__v_load(a + (h + k) * pitch + x),
                                               vmafgpu__v_load(b + (h + k) * b_pitch + x), below);
            }
        }
    }
}

/* Five rows at a time: the whole number of sums that keeps adders busy. */
static void VMAFGPU__SPEED(multiply)(const vmafgpu__speed_matrix *a, int first, const float *b, size_t pitch, int w,
                                     float *out) {
    enum { ROWS = 5, SIDE = VMAFGPU__SPEED_SIDE };
    for (int x = 0; x < w; x += VMAFGPU__V_WORDS)
        for (int row = SIDE - ROWS; row > first - ROWS; row -= ROWS) {
            vmafgpu__v sum[ROWS];
            VMAFGPU__UNROLL
            for (int i = 0; i < ROWS; i++)
                sum[i] = vmafgpu__v_zero();
            for (int k = first; k < SIDE; k++) {
                const vmafgpu__v other = vmafgpu__v_load(b + (size_t)k * pitch + x);
                VMAFGPU__UNROLL
                for (int i = 0; i < ROWS; i++)
                    sum[i] = vmafgpu__v_add_f32(sum[i], vmafgpu__v_mul_f32(vmafgpu__v_set_f32(a->at[row + i][k]), other));
            }
            for (int i = 0; i < ROWS; i++)
                if (row + i >= first)
                    vmafgpu__v_store(out + (size_t)(row + i) * pitch + x, sum[i]);
        }
}

/* Of a symmetric matrix a row is a column. */
static void VMAFGPU__SPEED(apply)(const vmafgpu__speed_matrix *a, int top, float tau, const float *v, float *x) {
    enum { SIDE = VMAFGPU__SPEED_SIDE, REGISTERS = VMAFGPU__SPEED_PITCH / VMAFGPU__V_WORDS };
    const vmafgpu__v taus = vmafgpu__v_set_f32(tau);
    vmafgpu__v sum[REGISTERS];
    VMAFGPU__UNROLL
    for (int i = 0; i < REGISTERS; i++)
        sum[i] = vmafgpu__v_zero();
    for (int c = top; c < SIDE; c++) {
        const vmafgpu__v other = vmafgpu__v_set_f32(v[c]);
        VMAFGPU__UNROLL
        for (int i = 0; i < REGISTERS; i++)
            sum[i] = vmafgpu__v_add_f32(
                sum[i], vmafgpu__v_mul_f32(vmafgpu__v_mul_f32(taus, vmafgpu__v_load(a->at[c] + i * VMAFGPU__V_WORDS)), other));
    }
    VMAFGPU__UNROLL
    for (int i = 0; i < REGISTERS; i++)
        vmafgpu__v_store(x + i * VMAFGPU__V_WORDS, sum[i]);
    for (int i = 0; i < top; i++)
        x[i] = 0;
}

/* Columns before `top` are left as they are, as x and v are 0 there. */
static void VMAFGPU__SPEED(rank_two)(vmafgpu__speed_matrix *a, int top, const float *x, const float *v) {
    enum { SIDE = VMAFGPU__SPEED_SIDE };
    for (int i = top / VMAFGPU__V_WORDS * VMAFGPU__V_WORDS; i < VMAFGPU__SPEED_PITCH; i += VMAFGPU__V_WORDS) {
        const vmafgpu__v xs = vmafgpu__v_load(x + i), vs = vmafgpu__v_load(v + i);
        for (int r = top; r < SIDE; r++)
            vmafgpu__v_store(a->at[r] + i, vmafgpu__v_sub_f32(vmafgpu__v_load(a->at[r] + i),
                                                           vmafgpu__v_add_f32(vmafgpu__v_mul_f32(vmafgpu__v_set_f32(x[r]), vs),
                                                                           vmafgpu__v_mul_f32(vmafgpu__v_set_f32(v[r]), xs))));
    }
}

static void VMAFGPU__SPEED(substitute)(const vmafgpu__speed_matrix *r, size_t pitch, int w, float *x) {
    for (size_t i = VMAFGPU__SPEED_SIDE; i-- > 0;) {
        float *own = x + i * pitch;
        for (int b = 0; b < w; b += VMAFGPU__V_WORDS) {
            vmafgpu__v rest = vmafgpu__v_load(own + b);
            for (size_t j = i + 1; j < VMAFGPU__SPEED_SIDE; j++)
                rest = vmafgpu__v_sub_f32(rest, vmafgpu__v_mul_f32(vmafgpu__v_load(x + j * pitch + b),
                                                             vmafgpu__v_set_f32(r->at[i][j])));
            vmafgpu__v_store(own + b, vmafgpu__v_div_f32(rest, vmafgpu__v_set_f32(r->at[i][i])));
        }
    }
}

static void VMAFGPU__SPEED(variances)(const float *x, const float *y, size_t pitch, int w, float *out) {
    const vmafgpu__v side = vmafgpu__v_set_f32((float)(int)VMAFGPU__SPEED_SIDE);
    for (int b = 0; b < w; b += VMAFGPU__V_WORDS) {
        vmafgpu__v sum = vmafgpu__v_zero();
        for (size_t p = 0; p < VMAFGPU__SPEED_SIDE; p++)
            sum = vmafgpu__v_add_f32(sum, vmafgpu__v_div_f32(vmafgpu__v_mul_f32(vmafgpu__v_load(x + p * pitch + b),
                                                                       vmafgpu__v_load(y + p * pitch + b)), side));
        vmafgpu__v_store(out + b, sum);
    }
}

static const vmafgpu__speed_functions VMAFGPU__LEVEL_NAME(vmafgpu__speed) = {
    VMAFGPU__SPEED(import), VMAFGPU__SPEED(bilinear), VMAFGPU__SPEED(add_row), VMAFGPU__SPEED(totals), VMAFGPU__SPEED(column_sums),
    VMAFGPU__SPEED(multiply), VMAFGPU__SPEED(apply), VMAFGPU__SPEED(rank_two), VMAFGPU__SPEED(substitute),
    VMAFGPU__SPEED(variances)
};
#undef VMAFGPU__SPEED

/* ---- what the engine calls ---- */

static const vmafgpu__cpu_functions VMAFGPU__LEVEL_NAME(vmafgpu__functions) = {
#if VMAFGPU__LEVEL == VMAFGPU__AVX2
    "avx2", 8,
#elif VMAFGPU__LEVEL == VMAFGPU__AVX512
    "avx512", 16,
#else
    "neon", 1,
#endif
    VMAFGPU__LEVEL_NAME(vmafgpu__or_words),
    VMAFGPU__LEVEL_NAME(vmafgpu__motion_rows),
    VMAFGPU__LEVEL_NAME(vmafgpu__vif_band),
    VMAFGPU__LEVEL_NAME(vmafgpu__adm_rows),
    &VMAFGPU__LEVEL_NAME(vmafgpu__cambi),
    &VMAFGPU__LEVEL_NAME(vmafgpu__speed)
};

#ifdef VMAFGPU__LEVEL_SCRATCH
#  include VMAFGPU__LEVEL_SCRATCH
#endif

#ifdef __clang__
#  pragma clang diagnostic pop
#endif
#if defined(__GNUC__) && !defined(__clang__)
#  pragma GCC diagnostic pop
#endif
#if VMAFGPU__LEVEL != VMAFGPU__NEON
#  if defined(__clang__)
#    pragma clang attribute pop
#  else
#    pragma GCC pop_options
#  endif
#endif
/* What the next level defines otherwise. */
#undef VMAFGPU__LEVEL_NAME
#undef VMAFGPU__V_ANY
#undef vmafgpu__v
#undef VMAFGPU__V_BYTES
#undef VMAFGPU__V_REGISTERS
#undef VMAFGPU__V
#undef VMAFGPU__V_BITS
#undef VMAFGPU__V_F32
#undef VMAFGPU__V_F64
#undef VMAFGPU__V_OF_F32
#undef VMAFGPU__V_OF_F64
#undef vmafgpu__v_load_u8_as_16
#undef vmafgpu__v_load_u8_as_32
#undef vmafgpu__v_load_u16_as_32
#undef vmafgpu__v_gather32
#undef vmafgpu__v_any_and
#undef vmafgpu__v_equal16
#undef vmafgpu__v_greater8
#undef vmafgpu__v_greater16
#undef VMAFGPU__V_LANE_BITS
#undef vmafgpu__v_lanes
#undef vmafgpu__v_unequal16
#undef vmafgpu__v_first_lane
#undef vmafgpu__v_low_to_f64
#undef vmafgpu__v_high_to_f64
#undef vmafgpu__v_load_32_as_f64
#undef vmafgpu__v_set64
#undef vmafgpu__v_add_pairs16
#undef vmafgpu__v_and_or
#undef vmafgpu__v_select
#undef vmafgpu__v_any
#undef vmafgpu__v_any_positive32
#undef vmafgpu__v_leading_zeros32
#undef vmafgpu__v_even_odd16
#undef vmafgpu__v_even_odd32
#undef vmafgpu__v_high_halves
#undef vmafgpu__v_in_order
#undef vmafgpu__v_evens32
#undef vmafgpu__v_odds32
#undef vmafgpu__v_mask
#undef vmafgpu__v_greater32
#undef vmafgpu__v_mask_and
#undef vmafgpu__v_mask_any
#undef vmafgpu__v_mask_all
#undef vmafgpu__v_mask_count
#undef vmafgpu__v_keep32
#undef vmafgpu__v_drop32
#undef vmafgpu__v_to_f32_low
#undef vmafgpu__v_join_truncated_f64
#undef VMAFGPU__LOG_BITS
#undef vmafgpu__v_table
#undef vmafgpu__v_load_table
#undef vmafgpu__v_lookup32
#undef VMAFGPU__POWER_UNIT
#undef VMAFGPU__POWER_BIAS
#undef vmafgpu__v_add_power_f32
#undef vmafgpu__v_compress32
#undef vmafgpu__v_div_down_f32
#undef VMAFGPU__V_TRUNCATED

#endif /* VMAFGPU__LEVEL */
