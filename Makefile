# make            builds the tool build/vmafgpu and the examples
# make help       lists all other targets
#
# CC, CXX, CPPFLAGS, CFLAGS and LDFLAGS have their usual meaning. SANITIZE=address,undefined builds with sanitizers, in
# a subfolder of build/. RUNNER="valgrind -q --error-exitcode=9" runs the tests under that program.
#
# Windows: CC=x86_64-w64-mingw32-gcc BUILD=build/windows. On other systems, RUNNER=wine runs the tests.
# NEON:    CC=aarch64-linux-gnu-gcc BUILD=build/neon LDFLAGS=-static RUNNER=qemu-aarch64.

CC         ?= cc
ifeq ($(origin CXX),default)
CXX        := $(if $(findstring clang,$(CC)),$(subst clang,clang++,$(CC)),g++)
endif
ifeq ($(origin CFLAGS),undefined)
CFLAGS     := -O2
endif
include examples/package/system.mk
# Windows programs are linked statically. Targets that need dlopen() are not built for Windows.
LDLIBS     := -lm -lpthread $(if $(WINDOWS),-static,$(LIBDL))
SANITIZE   ?=
RUNNER     ?=
# With the thread sanitizer, only the tests that use threads run; all tests would take hours.
TESTS      ?= $(if $(findstring thread,$(SANITIZE)),test_threads test_frames test_libvmaf.sh test_fuzz_api.sh)
DEPTH      ?=
VMAF       ?=

ifeq ($(SANITIZE),)
BUILD      ?= build
SANFLAGS   :=
else
BUILD      ?= build/$(subst $(comma),-,$(SANITIZE))
# -g1 is enough for the sanitizer reports; -g would make the build much slower.
SANFLAGS   := -g1 -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
endif

compile     = $(CC) -std=c99 -Wall -Wextra $(CPPFLAGS) $(CFLAGS) $(SANFLAGS)
library    := vmafgpu.h models/model_embed.h
VERSION    := $(shell sed -n 's/^.define VMAFGPU_VERSION_STRING "\(.*\)"/\1/p' vmafgpu.h)

# x264_vmaf needs libx264; `make x264` builds it.
examples   := $(patsubst examples/%.c,$(BUILD)/%$(EXE),$(filter-out %/x264_vmaf.c,$(wildcard examples/*.c)))
# The command-line tool consists of main() and of modules. Tests and cluster_mpi also link the modules.
tool_heads := $(wildcard examples/tool/*.h)
tool_parts := $(patsubst examples/tool/%.c,$(BUILD)/tool/%.o,$(filter-out %/main.c,$(wildcard examples/tool/*.c)))
tests      := $(filter-out $(if $(WINDOWS),test/test_gpu.c),$(wildcard test/test_*.c))
programs   := $(patsubst test/%.c,$(BUILD)/test/%$(EXE),$(tests))
ifneq ($(TESTS),)
programs   := $(filter $(patsubst %,$(BUILD)/test/%$(EXE),$(TESTS:.sh=)),$(programs))
endif
test_heads := $(wildcard test/*.h test/golden/*.h) $(tool_heads)
fuzzers    := y4m options model blobs libvmaf
simulated  := $(if $(WINDOWS),,$(if $(shell command -v $(CXX)),$(patsubst %,$(BUILD)/test/libsimulated_%.so,\
              $(if $(SANITIZE),cuda32 hip64,cuda32 cuda64 hip32 hip64 hip64_old))))

.PHONY: all help demo mpi test test-quick test-all test-emulated test-clients test-programs check-codegen blobs fuzz \
        fuzz-peer coverage bench tags install uninstall dist clean
.DELETE_ON_ERROR:

all: $(BUILD)/vmafgpu$(EXE) $(examples)

help:
	@echo 'make            build the tool $(BUILD)/vmafgpu and the examples'
	@echo 'make demo       generate a small pair of clips and score it'
	@echo 'make mpi        build $(BUILD)/cluster_mpi, which scores lists of clips on many machines; needs an MPI'
	@echo '                (Debian: libopenmpi-dev)'
	@echo 'make x264       build $(BUILD)/x264_vmaf, which encodes with libx264 and is therefore under the GPL; without'
	@echo '                libx264 (Debian: libx264-dev), print a line and build nothing'
	@echo 'make libvmaf    build $(BUILD)/libvmaf.so.3 and .a, which replace libvmaf in programs that are linked to it;'
	@echo '                LIBRARIES=static or shared builds one; EMBED="nvidia amd" compiles the kernels in'
	@echo 'make shared     build the shared library $(BUILD)/$(shared_name), for other languages'
	@echo 'make wheel      build the Python package $(BUILD)/vmafgpu-$(VERSION)-*.whl, with the shared library, and'
	@echo '                kernels if they were built; needs Python 3.8 or later'
	@echo 'make blobs      compile the GPU kernels, as files and as C headers'
	@echo '                NVIDIA: $(BUILD)/vmafgpu_kernels.nvidia and $(BUILD)/vmafgpu_nvidia.h; needs nvcc or clang 19'
	@echo '                or later (Debian: clang-19), ptxas for machine code, and xz. SM="75 90" selects targets.'
	@echo '                AMD: $(BUILD)/vmafgpu_kernels.amd and $(BUILD)/vmafgpu_amd.h; needs clang 19 or later with lld'
	@echo '                (Debian: clang-19 lld-19), and xz. GFX="gfx1100 gfx1201" selects targets.'
	@echo '                VENDORS=nvidia or VENDORS=amd builds the kernels of one vendor. FORCE=clang does not use nvcc.'
	@echo 'make web        build $(BUILD)/web: a WebAssembly module with an ES module, and a page that scores videos in a'
	@echo '                browser; needs clang for WebAssembly (Debian: clang-19 lld-19 wasi-libc'
	@echo '                libclang-rt-19-dev-wasm32). WEB_FEATURES=all compiles all features in.'
	@echo 'make models     regenerate models/model_embed.h from the JSON files in MODELS (../shared/models)'
	@echo 'make tags       write an index of functions for editors; needs Universal Ctags (Debian: universal-ctags) or'
	@echo '                Exuberant Ctags'
	@echo
	@echo 'make install    install header, models, tools, manual page, pkg-config and CMake files below DESTDIR and'
	@echo '                PREFIX (/usr/local); also kernels and the shared library (in LIBDIR), if they were built'
	@echo 'make install-libvmaf   install that library, its headers, its pkg-config file, and kernels if built'
	@echo 'make uninstall         undo make install; needs the same PREFIX, LIBDIR and DESTDIR'
	@echo 'make uninstall-libvmaf undo make install-libvmaf; needs the same variables'
	@echo 'make dist       build the release $(BUILD)/vmafgpu-$(VERSION).tar.gz and $(BUILD)/SHA256SUMS'
	@echo '                NO_KERNELS=1: without kernels. FORCE=clang SM=none: without code from NVIDIA. NO_WEB=1: without'
	@echo '                the module and the page for browsers.'
	@echo 'make clean      remove build/'
	@echo
	@echo 'make test-quick run a part of the tests: scores, API, tool; up to a minute on two processors'
	@echo 'make test       run all tests that only need compilers; about 13 minutes on two processors with -j2'
	@echo '                TESTS="test_model test_tool.sh" selects tests, DEPTH=all runs more cases and all AMD targets,'
	@echo '                SANITIZE=address,undefined or SANITIZE=thread uses sanitizers, RUNNER=valgrind uses valgrind'
	@echo 'make test-all   run all tests with each compiler, sanitizer and processor found; takes hours.'
	@echo '                VMAF=path/to/vmaf and VMAF17 (see make fuzz-peer) compare reports with those of libvmaf'
	@echo 'make test-clients   test that library with ffmpeg and other programs; needs the network, and libvmaf 3.2,'
	@echo '                    whose prefix is LIBVMAF (default: from pkg-config). STATIC=1 also builds an ffmpeg that'
	@echo '                    contains that library and the kernels; STATIC=windows builds another one for Windows'
	@echo 'make test-emulated  run the AMD code objects on the CPU; needs ../shared/amdemu, TINYGRAD_DIR, clang-19, lld'
	@echo 'make check-codegen  check loads, registers and spills of the compiled kernels; AMD: needs llvm-19 (Debian)'
	@echo 'make fuzz       run each fuzz target for FUZZ_SECONDS (60); FUZZ_SEED sets the seed (default: the time)'
	@echo 'make fuzz-peer  compare the tool with VMAF17, a build of the libvmaf tool, on random cases; without VMAF17,'
	@echo '                explain how to build it'
	@echo 'make coverage   measure which lines, branches and functions of vmafgpu.h the tests execute, by section; needs'
	@echo '                clang-19, libclang-rt-19-dev, llvm-19 (Debian) and python3, and half an hour'
	@echo 'make bench      measure frames per second, memory and latency; VMAF=path/to/vmaf and VMAF_CUDA_BENCH=program'
	@echo '                also measure libvmaf'

# ---- programs ----

$(BUILD) $(BUILD)/test $(BUILD)/fuzz $(BUILD)/tool:
	@mkdir -p $@

# The examples define VMAFGPU_IMPLEMENTATION, like user programs. VMAFGPU_IMPLEMENTED_ overrides this definition, so
# that the implementation is compiled only once and linked to all examples.
linked      = $(compile) -DVMAFGPU_IMPLEMENTED_

PREFIX     ?= /usr/local
include examples/package/shared.mk

# One object file for programs and for the shared library
$(BUILD)/vmafgpu.o: test/implementation.c $(library) Makefile examples/package/shared.mk | $(BUILD)
	$(compile) $(export_api) -c -o $@ $<

$(BUILD)/%$(EXE): examples/%.c $(wildcard examples/*.h examples/helpers/*.h) $(BUILD)/vmafgpu.o vmafgpu.h Makefile
	$(linked) -o $@ $< $(BUILD)/vmafgpu.o $(LDFLAGS) $(LDLIBS)

$(BUILD)/tool/%.o: examples/tool/%.c $(tool_heads) vmafgpu.h Makefile | $(BUILD)/tool
	$(linked) -o $@ -c $<

$(BUILD)/vmafgpu$(EXE): $(BUILD)/tool/main.o $(tool_parts) $(BUILD)/vmafgpu.o
	$(linked) -o $@ $^ $(LDFLAGS) $(LDLIBS)

# embed_model generates the models, so it cannot be linked to an implementation that includes them. It contains a
# separate implementation, without models.
$(BUILD)/embed_model$(EXE): examples/embed_model.c vmafgpu.h Makefile | $(BUILD)
	$(compile) -o $@ $< $(LDFLAGS) $(LDLIBS)

include examples/libvmaf/libvmaf.mk
include examples/web/web.mk
include examples/x264.mk

# Not built by default because it needs an MPI implementation.
MPICC ?= mpicc
mpi: $(BUILD)/cluster_mpi
# test_slurm.sh tests two implementations of MPI; the names of the compilers are those in Debian.
$(BUILD)/cluster_openmpi: MPICC := mpicc.openmpi
$(BUILD)/cluster_mpich: MPICC := mpicc.mpich
$(addprefix $(BUILD)/cluster_,mpi openmpi mpich): examples/tool/mpi/cluster_mpi.c \
        $(tool_parts) $(tool_heads) $(BUILD)/vmafgpu.o vmafgpu.h Makefile
	$(patsubst $(CC)%,$(MPICC)%,$(linked)) -o $@ $< $(tool_parts) $(BUILD)/vmafgpu.o $(LDFLAGS) $(LDLIBS)

# ---- kernels ----

blobs: | $(BUILD)
	@VENDORS='$(VENDORS)' GFX='$(GFX)' SM='$(SM)' test/make_blobs.sh $(BUILD)

# Kernels as C arrays, for EMBED in libvmaf.mk. The scripts write these files only if the kernels have changed.
.PHONY: vmaf_forced
$(BUILD)/vmafgpu_nvidia.h: vmaf_forced | $(BUILD)
	@SM='$(SM)' test/make_ptx.sh $(BUILD)
	@[ -f $@ ] || { echo 'EMBED=nvidia: the kernels could not be built, see above' >&2; exit 1; }
$(BUILD)/vmafgpu_amd.h: vmaf_forced | $(BUILD)
	@GFX='$(GFX)' test/make_hsaco.sh $(BUILD)
	@[ -f $@ ] || { echo 'EMBED=amd: the kernels could not be built, see above' >&2; exit 1; }

check-codegen: blobs
	@CC='$(CC)' CXX='$(CXX)' test/check_codegen.sh $(BUILD)

# ---- demo ----

# Before a target starts, make prints how long it takes, unless variables change which tests run.
whole_test := $(filter test,$(MAKECMDGOALS))$(if $(strip $(TESTS)$(SANITIZE)$(RUNNER)$(DEPTH)$(WINDOWS)),no)
$(if $(filter test,$(whole_test)),$(info make test: about 13 minutes on two processors with -j2, half of it compiling; \
make test-quick takes at most a minute))
$(if $(filter demo,$(MAKECMDGOALS)),$(info make demo: about a minute if the tool must be compiled, otherwise a second))

demo: $(BUILD)/vmafgpu $(BUILD)/test/make_clip
	@echo 'Two 320x180 clips of 10 frames; the distorted clip is blurred, grainy and blocky:'
	@$(BUILD)/test/make_clip texture+mix 320x180 8 420 10 1 $(BUILD)/demo_ref.y4m $(BUILD)/demo_dist.y4m
	@$(BUILD)/vmafgpu --reference $(BUILD)/demo_ref.y4m --distorted $(BUILD)/demo_dist.y4m --model version=vmaf_v0.6.1 \
	    --csv --output $(BUILD)/demo.csv --quiet
	@awk -F, -f test/table.awk $(BUILD)/demo.csv
	@$(BUILD)/vmafgpu -r $(BUILD)/demo_ref.y4m -d $(BUILD)/demo_dist.y4m --quiet \
	    --pool mean,harmonic_mean,min,max,p5,median

# ---- tests ----

# Repeats the calls that a build with VMAFGPU_RECORD has written.
$(BUILD)/replay$(EXE): test/replay.c $(BUILD)/vmafgpu.o Makefile
	$(compile) -o $@ $< $(BUILD)/vmafgpu.o $(LDFLAGS) $(LDLIBS)

$(BUILD)/test/make_clip$(EXE): test/make_clip.c test/clip.h Makefile | $(BUILD)/test
	$(compile) -o $@ $< $(LDFLAGS)

$(BUILD)/test/measure: test/measure.c Makefile | $(BUILD)/test
	$(compile) -o $@ $< $(LDFLAGS)

# These tests call private functions, so each contains a separate implementation. Some exclude features that the test
# does not need, because these features take a long time to compile.
inside     := test_private test_levels test_float_ssim test_edges test_blobs test_pixels test_functions
without_test_private := FLOAT PSNR_HVS CIEDE SSIM PSNR RGB
without_test_float_ssim := ADM VIF MOTION CAMBI SPEED PSNR_HVS CIEDE EDITS RGB GPU
without_test_blobs   := ADM VIF MOTION CAMBI SPEED PSNR SSIM FLOAT PSNR_HVS CIEDE EDITS RGB MODELS SIMD
without_test_pixels  := CAMBI SPEED SSIM PSNR_HVS GPU
without_test_functions := ADM VIF MOTION CAMBI SPEED PSNR SSIM FLOAT PSNR_HVS CIEDE EDITS RGB MODELS GPU
$(patsubst %,$(BUILD)/test/%$(EXE),$(inside)): $(BUILD)/test/%$(EXE): test/%.c $(test_heads) $(library) Makefile \
        | $(BUILD)/test
	$(compile) $(addprefix -DVMAFGPU_NO_,$(without_$*)) -o $@ $< $(LDFLAGS) $(LDLIBS)

# test_gpu consists of several files. gpu/internal.c contains the implementation.
gpu_parts  := $(patsubst test/gpu/%.c,$(BUILD)/test/gpu_%.o,$(wildcard test/gpu/*.c))

gpu_heads  := test/gpu/gpu.h test/simulated/simulated.h $(test_heads) vmafgpu.h Makefile
$(BUILD)/test/gpu_%.o: test/gpu/%.c $(gpu_heads) | $(BUILD)/test
	$(compile) -c -o $@ $<

$(BUILD)/test/gpu_internal.o: $(library)

$(BUILD)/test/test_gpu: test/test_gpu.c $(gpu_parts) $(gpu_heads)
	$(compile) -o $@ $< $(gpu_parts) $(LDFLAGS) $(LDLIBS)

# Modules of the tool that a test calls
calls_golden    := video
calls_features  := video
calls_align     := align video
calls_scale     := cut scale video
calls_page      := html plot png scores xxh64
calls_slopemap  := png slopemap xxh64
$(foreach name,golden features align scale page slopemap,$(eval \
    $(BUILD)/test/test_$(name)$(EXE): $(calls_$(name):%=$(BUILD)/tool/%.o)))

$(BUILD)/test/test_%$(EXE): test/test_%.c $(BUILD)/vmafgpu.o $(test_heads) vmafgpu.h Makefile | $(BUILD)/test
	$(compile) -o $@ $< $(filter %.o,$^) $(LDFLAGS) $(LDLIBS)

# Scores a cycle of pairs for hours. Built in $(BUILD), next to the kernel files, so that it finds them.
$(BUILD)/long_run: test/long_run.c test/bench.h test/json.h $(BUILD)/vmafgpu.o $(gpu_heads)
	$(compile) -o $@ $< $(BUILD)/vmafgpu.o $(LDFLAGS) $(LDLIBS)

# Random sequences of API calls; `make fuzz` builds the same program with sanitizers.
$(BUILD)/test/fuzz_api: test/fuzz/fuzz_api.c $(BUILD)/vmafgpu.o $(gpu_heads) | $(BUILD)/test
	$(compile) -o $@ $< $(BUILD)/vmafgpu.o $(LDFLAGS) $(LDLIBS)

# A client of the libvmaf replacement; --wrap lets it make any allocation fail.
$(BUILD)/test/include/libvmaf/libvmaf.h: examples/libvmaf/libvmaf.h
	@mkdir -p $(@D)
	cp $< $@
	echo '#include "libvmaf.h"' > $(@D)/libvmaf_cuda.h

client_parts := $(BUILD)/test/include/libvmaf/libvmaf.h $(BUILD)/libvmaf.a
$(BUILD)/test/libvmaf_client: test/libvmaf_client.c $(client_parts) | $(BUILD)/test
	$(compile) -I$(BUILD)/test/include -DCLIENT_WRAPPED -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc -o $@ $< \
	    $(BUILD)/libvmaf.a $(LDFLAGS) $(LDLIBS)

# Clients that misuse the libvmaf replacement: libvmaf_hostile with fixed cases, fuzz_libvmaf with random calls.
$(BUILD)/test/libvmaf_hostile: test/libvmaf_hostile.c test/test.h $(client_parts) | $(BUILD)/test
	$(compile) -I$(BUILD)/test/include -o $@ $< $(BUILD)/libvmaf.a $(LDFLAGS) $(LDLIBS)

$(BUILD)/test/fuzz_libvmaf: test/fuzz/fuzz_libvmaf.c test/fuzz/driver.c $(client_parts) | $(BUILD)/test
	$(compile) -I$(BUILD)/test/include -o $@ $< test/fuzz/driver.c $(BUILD)/libvmaf.a $(LDFLAGS) $(LDLIBS)

# Simulated GPUs: the host compiler compiles the kernels once per image, and one driver per vendor. With sanitizers, the
# kernels take most of the time, so they are compiled with them only if DEPTH=all. (The simulator itself checks each
# access to memory.)
simulate   = $(CXX) -std=c++17 -Wall -Wextra -Wno-unknown-pragmas -ffp-contract=off -fPIC -fvisibility=hidden \
             $(CPPFLAGS) $(if $(SANFLAGS),-O1 $(SANFLAGS) -fno-sanitize=vptr $(no_function),-O2)
no_function = $(if $(findstring clang,$(CXX)),-fno-sanitize=function)
sim_heads := $(wildcard test/simulated/*.h) vmafgpu_kernels.cu vmafgpu.h Makefile

$(BUILD)/test/simulated_plain%.o: test/simulated/kernels.cpp $(sim_heads) | $(BUILD)/test
	$(simulate) -DLANES=$* -c -o $@ $<

$(BUILD)/test/simulated_matrix%.o: test/simulated/kernels.cpp $(sim_heads) | $(BUILD)/test
	$(simulate) -DLANES=$* -DGPU_MATRIX -c -o $@ $<

$(BUILD)/test/simulated_amd%.o: test/simulated/kernels.cpp vmafgpu_kernels.hip $(sim_heads) | $(BUILD)/test
	$(simulate) -DLANES=$* -DGPU_MATRIX_16 -DSIMULATED_KERNELS='"../../vmafgpu_kernels.hip"' -c -o $@ $<

$(BUILD)/test/simulated_cuda%.o: test/simulated/cuda.cpp $(sim_heads) | $(BUILD)/test
	$(simulate) -DLANES=$* -c -o $@ $<

$(BUILD)/test/simulated_hip%.o: test/simulated/hip.cpp $(sim_heads) | $(BUILD)/test
	$(simulate) -DLANES=$* -c -o $@ $<

$(BUILD)/test/simulated_hip%_old.o: test/simulated/hip.cpp $(sim_heads) | $(BUILD)/test
	$(simulate) -DLANES=$* -DSIMULATED_OLD_HIP -c -o $@ $<

ifeq ($(if $(SANITIZE),$(filter-out all,$(or $(DEPTH),some))),)
$(BUILD)/test/libsimulated_cuda32.so: $(addprefix $(BUILD)/test/simulated_,plain32.o matrix32.o cuda32.o)
$(BUILD)/test/libsimulated_cuda64.so: $(addprefix $(BUILD)/test/simulated_,plain64.o cuda64.o)
$(BUILD)/test/libsimulated_hip32.so: $(addprefix $(BUILD)/test/simulated_,amd32.o hip32.o)
$(BUILD)/test/libsimulated_hip64.so: $(addprefix $(BUILD)/test/simulated_,amd64.o hip64.o)
$(BUILD)/test/libsimulated_hip64_old.so: $(addprefix $(BUILD)/test/simulated_,amd64.o hip64_old.o)

$(BUILD)/test/libsimulated_%.so:
	$(CXX) -shared $(SANFLAGS) -o $@ $^ -lpthread
else
$(BUILD)/test/libsimulated_%.so: $(sim_heads) $(wildcard test/simulated/*.cpp) | $(BUILD)/test
	@$(MAKE) --no-print-directory BUILD=build SANITIZE= build/test/libsimulated_$*.so
	cp build/test/libsimulated_$*.so $@
endif

# Programs that test scripts may call
called     := $(BUILD)/test/make_clip$(EXE) $(BUILD)/test/test_page$(EXE) \
              $(BUILD)/test/test_slopemap$(EXE) $(BUILD)/vmafgpu$(EXE) $(examples) \
              $(if $(WINDOWS),,x264 libvmaf shared $(BUILD)/fuzz/levels $(BUILD)/replay $(BUILD)/long_run \
                  $(addprefix $(BUILD)/test/,libvmaf_client libvmaf_hostile fuzz_libvmaf fuzz_api)) \
              $(if $(findstring thread,$(SANITIZE))$(RUNNER),,$(simulated))

test-programs: $(programs) $(if $(TESTS),$(if $(filter %.sh test_gpu,$(TESTS)),$(called)),$(called))

# Tests that contain their own implementation are not in this list, because they take too long to compile.
quick      := test_figures test_config test_stream test_live
test-quick:
	@echo 'make test-quick: about half a minute on two processors, most of it compiling'
	@$(MAKE) --no-print-directory -j2 BUILD=$(BUILD)/quick CFLAGS='$(CFLAGS) -O1' TESTS='$(quick)' test-programs \
	    $(BUILD)/quick/vmafgpu$(EXE) $(BUILD)/quick/test/make_clip$(EXE)
	@CC='$(CC)' RUNNER='$(RUNNER)' SANITIZE='$(SANITIZE)' EXE='$(EXE)' TESTS='$(quick) test_output.sh' \
	    test/run.sh $(BUILD)/quick

test: test-programs
	@CC='$(CC)' CXX='$(CXX)' RUNNER='$(RUNNER)' SANITIZE='$(SANITIZE)' EXE='$(EXE)' TESTS='$(TESTS)' DEPTH='$(DEPTH)' \
	    test/run.sh $(BUILD)

test-clients: libvmaf
	@CC='$(CC)' test/clients.sh $(BUILD)

test-emulated: $(BUILD)/test/test_gpu $(BUILD)/vmafgpu
	@test/emulated.sh $(BUILD)

test-all:
	@VMAF='$(VMAF)' VMAF17='$(VMAF17)' test/matrix.sh all

coverage: $(simulated)
	@test/coverage.sh $(BUILD)/coverage

# ---- fuzzing: with libFuzzer and sanitizers if clang supports them, otherwise with test/fuzz/driver.c ----

FUZZ_SECONDS ?= 60
FUZZ_SEED    ?=
FUZZ_CC      ?= $(shell test/fuzz/find_clang.sh)

ifneq ($(FUZZ_CC),)
fuzz_compile = $(FUZZ_CC) -std=c99 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
fuzz_driver :=
fuzz_run     = -max_total_time=$(FUZZ_SECONDS) -max_len=8192 -rss_limit_mb=4096 -print_final_stats=1
else
fuzz_compile = $(compile) -g -fsanitize=address,undefined -fno-sanitize-recover=all
fuzz_driver := test/fuzz/driver.c
fuzz_run     = -seconds=$(FUZZ_SECONDS)
endif

$(BUILD)/fuzz/vmafgpu.o: test/implementation.c $(library) Makefile | $(BUILD)/fuzz
	$(fuzz_compile) -c -o $@ $<

$(BUILD)/fuzz/fuzz_%: test/fuzz/fuzz_%.c test/fuzz/driver.c $(BUILD)/fuzz/vmafgpu.o vmafgpu.h Makefile
	$(fuzz_compile) -o $@ $< $(fuzz_driver) $(filter %.o,$^) $(LDFLAGS) $(LDLIBS)

$(BUILD)/fuzz/fuzz_y4m: $(BUILD)/fuzz/video.o
$(BUILD)/fuzz/video.o: examples/tool/video.c $(tool_heads) vmafgpu.h Makefile | $(BUILD)/fuzz
	$(fuzz_compile) -o $@ -c $<

# fuzz_blobs calls private functions, so it contains a separate implementation.
$(BUILD)/fuzz/fuzz_blobs: test/fuzz/fuzz_blobs.c test/fuzz/driver.c vmafgpu.h Makefile | $(BUILD)/fuzz
	$(fuzz_compile) -o $@ $< $(fuzz_driver) $(LDFLAGS) $(LDLIBS)

# The libvmaf replacement contains a separate implementation.
$(BUILD)/fuzz/libvmaf.o: examples/libvmaf/libvmaf.c examples/libvmaf/libvmaf.h examples/tool/report.c \
        examples/tool/report.h $(library) Makefile | $(BUILD)/fuzz
	$(fuzz_compile) -c -o $@ $<

$(BUILD)/fuzz/fuzz_libvmaf: test/fuzz/fuzz_libvmaf.c test/fuzz/driver.c $(BUILD)/test/include/libvmaf/libvmaf.h \
        $(BUILD)/fuzz/libvmaf.o
	$(fuzz_compile) -I$(BUILD)/test/include -o $@ $< $(fuzz_driver) $(BUILD)/fuzz/libvmaf.o $(LDFLAGS) $(LDLIBS)

# fuzz_api has its own main(). It uses the simulated GPUs, which are compiled without sanitizers here.
$(BUILD)/fuzz/fuzz_api: test/fuzz/fuzz_api.c $(BUILD)/fuzz/vmafgpu.o test/gpu/gpu.h test/simulated/simulated.h \
        $(test_heads) Makefile
	$(subst =fuzzer$(comma),=fuzzer-no-link$(comma),$(fuzz_compile)) -o $@ $< $(BUILD)/fuzz/vmafgpu.o $(LDFLAGS) \
	    $(LDLIBS)

fuzz: $(addprefix $(BUILD)/fuzz/fuzz_,$(fuzzers) api) $(BUILD)/fuzz/levels $(simulated)
	@FUZZ_LIBFUZZER='$(FUZZ_CC)' FUZZ_SECONDS='$(FUZZ_SECONDS)' FUZZ_SEED='$(FUZZ_SEED)' \
	    test/fuzz/run.sh $(BUILD)/fuzz '$(fuzz_run)' $(fuzzers) levels

# Random cases: `levels` compares the levels of the CPU and the GPUs with each other, and `peer` compares the tool with
# that of libvmaf.
VMAF17 ?=
CASES  ?=
SEED   ?=
comparing := test/fuzz/cases.c test/fuzz/pictures.c
comparing_heads := $(wildcard test/fuzz/*.h) $(test_heads)
$(BUILD)/fuzz/levels: test/fuzz/levels.c $(comparing) $(comparing_heads) test/simulated/simulated.h $(BUILD)/vmafgpu.o \
        | $(BUILD)/fuzz
	$(compile) -o $@ $< $(comparing) $(BUILD)/vmafgpu.o $(LDFLAGS) $(LDLIBS)

$(BUILD)/fuzz/peer: test/fuzz/peer.c $(comparing) $(comparing_heads) $(BUILD)/vmafgpu.o | $(BUILD)/fuzz
	$(compile) -o $@ $< $(comparing) $(BUILD)/vmafgpu.o $(LDFLAGS) $(LDLIBS)

fuzz-peer: $(BUILD)/fuzz/peer $(BUILD)/vmafgpu
	@[ -x '$(VMAF17)' ] || { \
	    echo 'usage: make fuzz-peer VMAF17=path/to/vmaf17 [VMAF=path/to/vmaf] [CASES=300] [SEED=number] [ONLY=number]'; \
	    echo 'To build VMAF17: in libvmaf 3.2.0, replace each %.6f and %.16f in libvmaf/src/output.c with %.17g, and'; \
	    echo 'build the tool with -Denable_float=true. VMAF is the tool without that change, to compare reports with'; \
	    echo 'their default precision.'; \
	    exit 1; }
	@$(BUILD)/fuzz/peer --vmaf17 '$(VMAF17)' --ours $(BUILD)/vmafgpu --folder $(BUILD)/fuzz/peer_files \
	    $(if $(VMAF),--vmaf '$(VMAF)') $(if $(CASES),--cases $(CASES)) $(if $(SEED),--seed $(SEED)) \
	    $(if $(ONLY),--only $(ONLY))

# ---- benchmarks, tags, models, releases ----

# bench_gpu is built next to the kernel files, so that it finds them. It contains a separate implementation.
benchmarks := $(BUILD)/bench_gpu $(BUILD)/test/bench_cpu
$(BUILD)/bench_gpu: test/bench_gpu.c test/bench.h test/clip.h $(library) Makefile | $(BUILD)/test
	$(compile) -o $@ $< $(LDFLAGS) $(LDLIBS)
$(BUILD)/test/bench_cpu: test/bench_cpu.c test/bench.h test/clip.h $(BUILD)/vmafgpu.o vmafgpu.h Makefile | $(BUILD)/test
	$(linked) -o $@ $< $(BUILD)/vmafgpu.o $(LDFLAGS) $(LDLIBS)

bench: $(BUILD)/vmafgpu $(benchmarks) $(BUILD)/test/make_clip $(BUILD)/test/measure
	@test/bench.sh $(BUILD) '$(VMAF)'
	@$(BUILD)/test/bench_cpu
	@$(BUILD)/bench_gpu

# The options of Universal Ctags are in .ctags.d/vmafgpu.ctags, those of Exuberant Ctags in .ctags.
CTAGS ?= ctags
unexport CTAGS  # Exuberant Ctags reads options from a variable of this name
TAGS  ?= tags
tags:
	$(CTAGS) -f $(TAGS) vmafgpu.h vmafgpu_kernels.cu vmafgpu_kernels.hip $(wildcard examples/*.[ch] examples/*/*.[ch])

MODELS ?= ../shared/models
embedded := vmaf_v0.6.1 vmaf_v0.6.1neg vmaf_4k_v0.6.1 vmaf_4k_v0.6.1neg vmaf_b_v0.6.3 \
            $(foreach view,3d0h 5d0h 1d5h_2160 3d0h_2160,vmaf_v1.0.16_$(view) vmaf_v1.0.16_hfr_$(view)) \
            vmaf_float_v0.6.1 vmaf_float_v0.6.1neg vmaf_float_4k_v0.6.1 vmaf_float_b_v0.6.3

.PHONY: models
models: $(BUILD)/embed_model
	$(BUILD)/embed_model -o models/model_embed.h $(patsubst %,$(MODELS)/%.json,$(embedded))

shared_built := $(wildcard $(BUILD)/$(shared_name))
install: $(BUILD)/vmafgpu$(EXE) $(BUILD)/embed_model$(EXE) $(shared_built)
	@$(MAKE) --no-print-directory -f examples/package/Makefile install BUILD=$(BUILD) -o $(BUILD)/vmafgpu$(EXE) \
	    -o $(BUILD)/embed_model$(EXE) $(shared_built:%=-o %)

uninstall:
	@$(MAKE) --no-print-directory -f examples/package/Makefile uninstall BUILD=$(BUILD)

# The release archive is reproducible: names are sorted, dates and owner are fixed, and options of tar and gzip in the
# environment are ignored. It contains the kernels, vmafgpu_kernels.sha256, which names their compilers, and all sources
# from which `make blobs` compiles the kernels again.
NO_KERNELS    ?=
NO_WEB        ?=
release       := vmafgpu-$(VERSION)
kernel_source := vmafgpu_kernels.cu vmafgpu_kernels.hip $(addprefix test/,make_blobs.sh make_ptx.sh make_hsaco.sh \
                 pack_blobs.c interface.sh interface.awk codegen/compilers.sh codegen/no_comment.ld)
documents     := LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md test/README.md test/EMULATED.md \
                 test/bench/README.md
release_files := $(documents) vmafgpu.h models/model_embed.h $(kernel_source) \
                 $(filter-out examples/package/Makefile %.pyc,$(sort $(shell find examples -type f)))
release_blobs := vmafgpu_kernels.nvidia vmafgpu_nvidia.h vmafgpu_kernels.amd vmafgpu_amd.h
owner         := $(if $(findstring GNU,$(shell tar --version 2> /dev/null)),--owner=0 --group=0 --numeric-owner)
sha256        := $(if $(shell command -v sha256sum),sha256sum,shasum -a 256)

dist: | $(BUILD)
	rm -rf $(BUILD)/dist
	mkdir -p $(addprefix $(BUILD)/dist/$(release)/,$(sort $(dir $(release_files))))
	for file in $(release_files); do cp $$file $(BUILD)/dist/$(release)/$$file || exit 1; done
	cp examples/package/Makefile $(BUILD)/dist/$(release)/Makefile
ifeq ($(NO_KERNELS),)
	GFX='$(GFX)' SM='$(SM)' test/make_blobs.sh $(BUILD)/dist $(BUILD)/blobs
	@for file in $(release_blobs); do mv $(BUILD)/dist/$$file $(BUILD)/dist/$(release)/ 2> /dev/null || { \
	    echo "make dist: $$file could not be built, see above; set NO_KERNELS=1 for a release without kernels" >&2; \
	    exit 1; }; done
	{ echo '# The images in the kernel files of $(release), and the compilers that wrote them; packed by'; \
	    echo "# $$(xz --version | head -n 1)"; cat $(BUILD)/dist/vmafgpu_kernels.amd.sha256 \
	    $(BUILD)/dist/vmafgpu_kernels.nvidia.sha256; } > $(BUILD)/dist/$(release)/vmafgpu_kernels.sha256
endif
ifeq ($(NO_WEB),)
	@$(MAKE) --no-print-directory web || { echo 'make dist: set NO_WEB=1 for a release without build/web' >&2; exit 1; }
	mkdir -p $(BUILD)/dist/$(release)/web
	cp $(web_files) $(BUILD)/dist/$(release)/web/
endif
	cd $(BUILD)/dist/$(release) && find * -type f | LC_ALL=C sort | xargs $(sha256) > ../SHA256SUMS
	mv $(BUILD)/dist/SHA256SUMS $(BUILD)/dist/$(release)
	find $(BUILD)/dist/$(release) -type f -exec chmod 644 {} + -exec env TZ=UTC0 touch -t 202001010000 {} +
	chmod 755 $(BUILD)/dist/$(release)/test/*.sh
	cd $(BUILD)/dist && find $(release) -type f | LC_ALL=C sort | TAR_OPTIONS= xargs tar --format=ustar $(owner) \
	    -cf ../$(release).tar
	GZIP= gzip -9nf $(BUILD)/$(release).tar
	rm -rf $(BUILD)/dist
	cd $(BUILD) && $(sha256) $(release).tar.gz > SHA256SUMS
	@echo '$(BUILD)/$(release).tar.gz'

clean:
	rm -rf build
