# make            the tool build/vmafgpu and the examples
# make help       everything else
#
# CC, CXX, CFLAGS, CXXFLAGS, LDFLAGS as usual. SANITIZE=address,undefined builds everything with sanitizers, in a
# folder of its own; RUNNER="valgrind -q --error-exitcode=9" runs the tests under another program.
#
# CC=x86_64-w64-mingw32-gcc BUILD=build/windows builds for Windows; with RUNNER=wine the tests run elsewhere, too.
# CC=aarch64-linux-gnu-gcc BUILD=build/neon LDFLAGS=-static RUNNER=qemu-aarch64 does so for NEON.

CC         ?= cc
ifeq ($(origin CXX),default)
CXX        := $(if $(findstring clang,$(CC)),$(subst clang,clang++,$(CC)),g++)
endif
ifeq ($(origin CFLAGS),undefined)
CFLAGS     := -O2
endif
# Programs for Windows are linked statically, with the compiler's libraries. Programs that need dlopen() are left out.
WINDOWS    := $(filter %-mingw32 %-windows-gnu,$(shell $(CC) -dumpmachine 2> /dev/null))
EXE        := $(if $(WINDOWS),.exe)
LDLIBS     := -lm -lpthread $(if $(WINDOWS),-static,$(if $(filter Linux,$(shell uname -s)),-ldl))
SANITIZE   ?=
RUNNER     ?=
# With threads observed, those that have some: the others would take hours.
TESTS      ?= $(if $(findstring thread,$(SANITIZE)),test_threads test_frames test_libvmaf.sh test_fuzz_api.sh)
DEPTH      ?=
VMAF       ?=
comma      := ,

ifeq ($(SANITIZE),)
BUILD      ?= build
SANFLAGS   :=
else
BUILD      ?= build/$(subst $(comma),-,$(SANITIZE))
# -g1 gives the reports of sanitizers line numbers. Full debug information takes a third of the compile time.
SANFLAGS   := -g1 -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
endif

compile     = $(CC) -std=c99 -Wall -Wextra $(CPPFLAGS) $(CFLAGS) $(SANFLAGS)
library    := vmafgpu.h models/model_embed.h
VERSION    := $(shell sed -n 's/^.define VMAFGPU_VERSION_STRING "\(.*\)"/\1/p' vmafgpu.h)

examples   := $(patsubst examples/%.c,$(BUILD)/%$(EXE),$(wildcard examples/*.c))
# the command-line tool: its main() and its modules, which tests and cluster_mpi have, too
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
        fuzz-peer bench tags install uninstall dist clean
.DELETE_ON_ERROR:

all: $(BUILD)/vmafgpu$(EXE) $(examples)

help:
	@echo 'make            the tool $(BUILD)/vmafgpu and the examples, beside it'
	@echo 'make demo       makes a small pair of clips and scores it'
	@echo 'make blobs      the kernels for GPUs: files to put beside a program, and headers to compile in.'
	@echo '                NVIDIA: $(BUILD)/vmafgpu_kernels.nvidia, $(BUILD)/vmafgpu_nvidia.h; needs xz, and nvcc or'
	@echo '                clang 19 and later (Debian: clang-19), and ptxas for machine code; SM="75 90" builds machine'
	@echo '                code for these only.'
	@echo '                AMD: $(BUILD)/vmafgpu_kernels.amd, $(BUILD)/vmafgpu_amd.h; needs xz, and clang 19 and later'
	@echo '                with lld (Debian: clang-19 lld-19); GFX="gfx1100 gfx1201" builds for these only'
	@echo 'make test-quick a part of the tests in at most a minute on two processors: figures, the API, the tool'
	@echo 'make test       all tests that need compilers only, about 13 minutes on two processors with -j2'
	@echo '                (SANITIZE=address,undefined or thread; RUNNER=valgrind;'
	@echo '                TESTS="test_model test_tool.sh" runs these only; DEPTH=all more of each, every AMD target)'
	@echo 'make test-all   make test with every compiler, sanitizer and emulated processor that is installed; takes'
	@echo '                hours. VMAF=path/to/vmaf and VMAF17 (see make fuzz-peer) compare with the reports of libvmaf'
	@echo 'make test-emulated  the code objects for AMD on the CPU; needs ../shared/amdemu and its TINYGRAD_DIR,'
	@echo '                clang-19, lld-19'
	@echo 'make check-codegen  what the compilers made of the kernels: loads, registers, spills. AMD: Debian llvm-19'
	@echo 'make fuzz       every fuzz target for FUZZ_SECONDS (60); targets with a seed start from FUZZ_SEED (default: a'
	@echo '                fresh seed, which is printed)'
	@echo "make fuzz-peer  random cases with libvmaf's tool, which VMAF17 names, and with ours; without VMAF17 it"
	@echo '                explains how to build that'
	@echo 'make bench      frames per second, memory, latency; VMAF=path/to/vmaf and VMAF_CUDA_BENCH=program compare'
	@echo 'make tags       tags, for editors: where each function is; needs Universal or Exuberant Ctags'
	@echo '                (Debian: universal-ctags)'
	@echo 'make models     models/model_embed.h, from the files of MODELS (../shared/models)'
	@echo 'make install    header, models, tools, kernels that were built, manual page, files for pkg-config and CMake,'
	@echo '                under PREFIX (/usr/local), below DESTDIR'
	@echo 'make uninstall, make uninstall-libvmaf  remove what those installed, with the same PREFIX, LIBDIR and DESTDIR'
	@echo 'make libvmaf    $(BUILD)/libvmaf.so.3: a library with the functions of libvmaf, for programs that are linked to'
	@echo '                libvmaf'
	@echo 'make install-libvmaf  that, its headers, its file for pkg-config and kernels that were built, under PREFIX'
	@echo 'make mpi        $(BUILD)/cluster_mpi, which scores lists of clips on many machines; needs an MPI'
	@echo '                (Debian: libopenmpi-dev)'
	@echo 'make test-clients  ffmpeg and other programs with that library; needs the network, and a libvmaf in LIBVMAF'
	@echo 'make dist       $(BUILD)/vmafgpu-$(VERSION).tar.gz: what a user downloads; with kernels, or NO_KERNELS=1'
	@echo 'make clean      removes build/'

# ---- programs ----

$(BUILD) $(BUILD)/test $(BUILD)/fuzz $(BUILD)/tool:
	@mkdir -p $@

# Programs say VMAFGPU_IMPLEMENTATION, as users' files do; here the implementation is compiled once and linked to all.
linked      = $(compile) -DVMAFGPU_IMPLEMENTED_

$(BUILD)/vmafgpu.o: test/implementation.c $(library) Makefile | $(BUILD)
	$(compile) -c -o $@ $<

$(BUILD)/%$(EXE): examples/%.c $(wildcard examples/*.h examples/helpers/*.h) $(BUILD)/vmafgpu.o vmafgpu.h Makefile
	$(linked) -o $@ $< $(BUILD)/vmafgpu.o $(LDFLAGS) $(LDLIBS)

$(BUILD)/tool/%.o: examples/tool/%.c $(tool_heads) vmafgpu.h Makefile | $(BUILD)/tool
	$(linked) -o $@ -c $<

$(BUILD)/vmafgpu$(EXE): $(BUILD)/tool/main.o $(tool_parts) $(BUILD)/vmafgpu.o
	$(linked) -o $@ $^ $(LDFLAGS) $(LDLIBS)

# Needs no models, since it makes them: an implementation of its own, without what takes long to compile.
$(BUILD)/embed_model$(EXE): examples/embed_model.c vmafgpu.h Makefile | $(BUILD)
	$(compile) -o $@ $< $(LDFLAGS) $(LDLIBS)

include examples/libvmaf/libvmaf.mk

# Not a part of `make`, since it needs an MPI.
MPICC ?= mpicc
mpi: $(BUILD)/cluster_mpi
$(BUILD)/cluster_mpi: examples/tool/mpi/cluster_mpi.c $(tool_parts) $(tool_heads) $(BUILD)/vmafgpu.o vmafgpu.h Makefile
	$(patsubst $(CC)%,$(MPICC)%,$(linked)) -o $@ $< $(tool_parts) $(BUILD)/vmafgpu.o $(LDFLAGS) $(LDLIBS)

# ---- kernels ----

blobs: | $(BUILD)
	@GFX='$(GFX)' SM='$(SM)' test/make_blobs.sh $(BUILD)

check-codegen: blobs
	@CC='$(CC)' CXX='$(CXX)' test/check_codegen.sh $(BUILD)

# ---- demo ----

# The first line of output is how long the target takes. It is not printed if only some tests run, or if they run under
# another program.
whole_test := $(filter test,$(MAKECMDGOALS))$(if $(strip $(TESTS)$(SANITIZE)$(RUNNER)$(DEPTH)$(WINDOWS)),no)
$(if $(filter test,$(whole_test)),$(info make test: about 13 minutes on two processors with -j2, half of them for the \
compiler; make test-quick takes one at the most))
$(if $(filter demo,$(MAKECMDGOALS)),$(info make demo: about a minute where the tool must be compiled, else a second))

demo: $(BUILD)/vmafgpu $(BUILD)/test/make_clip
	@echo 'A pair of 320x180, 10 frames, the second one blurred, grainy and blocky:'
	@$(BUILD)/test/make_clip texture+mix 320x180 8 420 10 1 $(BUILD)/demo_ref.y4m $(BUILD)/demo_dist.y4m
	@$(BUILD)/vmafgpu --reference $(BUILD)/demo_ref.y4m --distorted $(BUILD)/demo_dist.y4m --model version=vmaf_v0.6.1 \
	    --csv --output $(BUILD)/demo.csv --quiet
	@awk -F, -f test/table.awk $(BUILD)/demo.csv
	@$(BUILD)/vmafgpu -r $(BUILD)/demo_ref.y4m -d $(BUILD)/demo_dist.y4m --quiet \
	    --pool mean,harmonic_mean,min,max,p5,median

# ---- tests ----

$(BUILD)/test/make_clip$(EXE): test/make_clip.c test/clip.h Makefile | $(BUILD)/test
	$(compile) -o $@ $< $(LDFLAGS)

$(BUILD)/test/measure: test/measure.c Makefile | $(BUILD)/test
	$(compile) -o $@ $< $(LDFLAGS)

# These tests call private functions, so each contains the implementation. Some leave out features that they do not need
# and that take long to compile.
inside     := test_private test_levels test_float_ssim test_edges test_blobs test_pixels
without_test_private := FLOAT PSNR_HVS CIEDE SSIM PSNR RGB
without_test_float_ssim := ADM VIF MOTION CAMBI SPEED PSNR_HVS CIEDE EDITS RGB GPU
without_test_blobs   := ADM VIF MOTION CAMBI SPEED PSNR SSIM FLOAT PSNR_HVS CIEDE EDITS RGB MODELS SIMD
without_test_pixels  := CAMBI SPEED SSIM PSNR_HVS GPU
$(patsubst %,$(BUILD)/test/%$(EXE),$(inside)): $(BUILD)/test/%$(EXE): test/%.c $(test_heads) $(library) Makefile \
        | $(BUILD)/test
	$(compile) $(addprefix -DVMAFGPU_NO_,$(without_$*)) -o $@ $< $(LDFLAGS) $(LDLIBS)

# A test of several files, one of which (gpu/inside.c) calls private functions.
gpu_parts  := $(patsubst test/gpu/%.c,$(BUILD)/test/gpu_%.o,$(wildcard test/gpu/*.c))

gpu_heads  := test/gpu/gpu.h test/simulated/simulated.h $(test_heads) vmafgpu.h Makefile
$(BUILD)/test/gpu_%.o: test/gpu/%.c $(gpu_heads) | $(BUILD)/test
	$(compile) -c -o $@ $<

$(BUILD)/test/gpu_inside.o: $(library)

$(BUILD)/test/test_gpu: test/test_gpu.c $(gpu_parts) $(gpu_heads)
	$(compile) -o $@ $< $(gpu_parts) $(LDFLAGS) $(LDLIBS)

# The modules of the tool that a test calls.
calls_golden    := video
calls_features  := video
calls_align     := align video
calls_scale     := cut scale video
calls_page      := html plot png scores xxh64
$(foreach name,golden features align scale page,$(eval \
    $(BUILD)/test/test_$(name)$(EXE): $(calls_$(name):%=$(BUILD)/tool/%.o)))

$(BUILD)/test/test_%$(EXE): test/test_%.c $(BUILD)/vmafgpu.o $(test_heads) vmafgpu.h Makefile | $(BUILD)/test
	$(compile) -o $@ $< $(filter %.o,$^) $(LDFLAGS) $(LDLIBS)

# Random sequences of API calls; `make fuzz` builds the same program with sanitizers.
$(BUILD)/test/fuzz_api: test/fuzz/fuzz_api.c $(BUILD)/vmafgpu.o $(gpu_heads) | $(BUILD)/test
	$(compile) -o $@ $< $(BUILD)/vmafgpu.o $(LDFLAGS) $(LDLIBS)

# A program linked to the library with libvmaf's functions. It can make each allocation of the library fail.
$(BUILD)/test/include/libvmaf/libvmaf.h: examples/libvmaf/libvmaf.h
	@mkdir -p $(@D)
	cp $< $@
	echo '#include "libvmaf.h"' > $(@D)/libvmaf_cuda.h

client_parts := $(BUILD)/test/include/libvmaf/libvmaf.h $(BUILD)/libvmaf.a
$(BUILD)/test/libvmaf_client: test/libvmaf_client.c $(client_parts) | $(BUILD)/test
	$(compile) -I$(BUILD)/test/include -DCLIENT_WRAPPED -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc -o $@ $< \
	    $(BUILD)/libvmaf.a $(LDFLAGS) $(LDLIBS)

# Programs that misuse this library: one with a list of cases, one with random calls.
$(BUILD)/test/libvmaf_hostile: test/libvmaf_hostile.c test/test.h $(client_parts) | $(BUILD)/test
	$(compile) -I$(BUILD)/test/include -o $@ $< $(BUILD)/libvmaf.a $(LDFLAGS) $(LDLIBS)

$(BUILD)/test/fuzz_libvmaf: test/fuzz/fuzz_libvmaf.c test/fuzz/driver.c $(client_parts) | $(BUILD)/test
	$(compile) -I$(BUILD)/test/include -o $@ $< test/fuzz/driver.c $(BUILD)/libvmaf.a $(LDFLAGS) $(LDLIBS)

# The simulated GPUs: the kernels, compiled by the host's compiler once for each image, and the drivers of both vendors.
simulate   = $(CXX) -std=c++17 -Wall -Wextra -Wno-unknown-pragmas -ffp-contract=off -fPIC -fvisibility=hidden \
             $(CPPFLAGS) $(if $(SANFLAGS),$(sim_sanitize),-O2)
sim_sanitize = -O1 $(SANFLAGS) -fno-sanitize=vptr $(if $(findstring clang,$(CXX)),-fno-sanitize=function)
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

$(BUILD)/test/libsimulated_cuda32.so: $(addprefix $(BUILD)/test/simulated_,plain32.o matrix32.o cuda32.o)
$(BUILD)/test/libsimulated_cuda64.so: $(addprefix $(BUILD)/test/simulated_,plain64.o cuda64.o)
$(BUILD)/test/libsimulated_hip32.so: $(addprefix $(BUILD)/test/simulated_,amd32.o hip32.o)
$(BUILD)/test/libsimulated_hip64.so: $(addprefix $(BUILD)/test/simulated_,amd64.o hip64.o)
$(BUILD)/test/libsimulated_hip64_old.so: $(addprefix $(BUILD)/test/simulated_,amd64.o hip64_old.o)

$(BUILD)/test/libsimulated_%.so:
	$(CXX) -shared $(SANFLAGS) -o $@ $^ -lpthread

# Programs that the scripts of the tests call.
called     := $(BUILD)/test/make_clip$(EXE) $(BUILD)/test/test_page$(EXE) $(BUILD)/vmafgpu$(EXE) $(examples) \
              $(if $(WINDOWS),,libvmaf $(BUILD)/fuzz/levels \
                  $(addprefix $(BUILD)/test/,libvmaf_client libvmaf_hostile fuzz_libvmaf fuzz_api)) \
              $(if $(findstring thread,$(SANITIZE))$(RUNNER),,$(simulated))

test-programs: $(programs) $(if $(TESTS),$(if $(filter %.sh test_gpu,$(TESTS)),$(called)),$(called))

# Without programs that have an implementation of their own: the compiler takes most of the time.
quick      := test_figures test_config test_stream test_live
test-quick:
	@echo 'make test-quick: half a minute on two processors, most of it for the compiler'
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

# ---- fuzzing: with libFuzzer and sanitizers where clang has them, else the driver of our own ----

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

# This program calls private functions.
$(BUILD)/fuzz/fuzz_blobs: test/fuzz/fuzz_blobs.c test/fuzz/driver.c vmafgpu.h Makefile | $(BUILD)/fuzz
	$(fuzz_compile) -o $@ $< $(fuzz_driver) $(LDFLAGS) $(LDLIBS)

# The library with libvmaf's functions, which has an implementation of its own.
$(BUILD)/fuzz/libvmaf.o: examples/libvmaf/libvmaf.c examples/libvmaf/libvmaf.h $(wildcard examples/tool/report.[ch]) \
        $(library) Makefile | $(BUILD)/fuzz
	$(fuzz_compile) -c -o $@ $<

$(BUILD)/fuzz/fuzz_libvmaf: test/fuzz/fuzz_libvmaf.c test/fuzz/driver.c $(BUILD)/test/include/libvmaf/libvmaf.h \
        $(BUILD)/fuzz/libvmaf.o
	$(fuzz_compile) -I$(BUILD)/test/include -o $@ $< $(fuzz_driver) $(BUILD)/fuzz/libvmaf.o $(LDFLAGS) $(LDLIBS)

# This one has a main() of its own and needs the simulated GPUs, which are not compiled with sanitizers here.
$(BUILD)/fuzz/fuzz_api: test/fuzz/fuzz_api.c $(BUILD)/fuzz/vmafgpu.o $(gpu_heads)
	$(subst =fuzzer$(comma),=fuzzer-no-link$(comma),$(fuzz_compile)) -o $@ $< $(BUILD)/fuzz/vmafgpu.o $(LDFLAGS) $(LDLIBS)

fuzz: $(addprefix $(BUILD)/fuzz/fuzz_,$(fuzzers) api) $(BUILD)/fuzz/levels $(simulated)
	@FUZZ_LIBFUZZER='$(FUZZ_CC)' FUZZ_SECONDS='$(FUZZ_SECONDS)' FUZZ_SEED='$(FUZZ_SEED)' \
	    test/fuzz/run.sh $(BUILD)/fuzz '$(fuzz_run)' $(fuzzers) levels

# Random cases: levels compares our levels and GPUs with each other, peer compares our tool with libvmaf's.
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
	    echo 'make fuzz-peer VMAF17=path/to/vmaf17 [VMAF=path/to/vmaf] [CASES=300] [SEED=fresh] [ONLY=N]'; \
	    echo "VMAF17 is libvmaf 3.2.0's tool, built with -Denable_float=true and with %.17g for each %.6f and %.16f in"; \
	    echo 'libvmaf/src/output.c. With VMAF, the same without that change, default reports are also compared.'; exit 1; }
	@$(BUILD)/fuzz/peer --vmaf17 '$(VMAF17)' --ours $(BUILD)/vmafgpu --folder $(BUILD)/fuzz/peer_files \
	    $(if $(VMAF),--vmaf '$(VMAF)') $(if $(CASES),--cases $(CASES)) $(if $(SEED),--seed $(SEED)) \
	    $(if $(ONLY),--only $(ONLY))

# ---- the rest ----

# bench_gpu is in the folder of the kernels, since it searches them there. It calls private functions.
benchmarks := $(BUILD)/bench_gpu $(BUILD)/test/bench_cpu
$(BUILD)/bench_gpu: test/bench_gpu.c test/bench.h test/clip.h $(library) Makefile | $(BUILD)/test
	$(compile) -o $@ $< $(LDFLAGS) $(LDLIBS)
$(BUILD)/test/bench_cpu: test/bench_cpu.c test/bench.h test/clip.h $(BUILD)/vmafgpu.o vmafgpu.h Makefile | $(BUILD)/test
	$(linked) -o $@ $< $(BUILD)/vmafgpu.o $(LDFLAGS) $(LDLIBS)

bench: $(BUILD)/vmafgpu $(benchmarks) $(BUILD)/test/make_clip $(BUILD)/test/measure
	@test/bench.sh $(BUILD) '$(VMAF)'
	@$(BUILD)/test/bench_cpu
	@$(BUILD)/bench_gpu

# For editors: where each function is. The options are in .ctags.d/vmafgpu.ctags and, for Exuberant Ctags, in .ctags.
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

install: $(BUILD)/vmafgpu$(EXE) $(BUILD)/embed_model$(EXE)
	@$(MAKE) --no-print-directory -f examples/package/Makefile install BUILD=$(BUILD)

uninstall:
	@$(MAKE) --no-print-directory -f examples/package/Makefile uninstall BUILD=$(BUILD)

# The archive that users download. Its files are sorted, with one date and no owner, so the same sources and compilers
# give the same bytes.
NO_KERNELS    ?=
release       := vmafgpu-$(VERSION)
release_files := LICENSE README.md CHANGELOG.md SECURITY.md vmafgpu.h models/model_embed.h \
                 $(filter-out examples/package/Makefile,$(sort $(shell find examples -type f)))
release_blobs := vmafgpu_kernels.nvidia vmafgpu_nvidia.h vmafgpu_kernels.amd vmafgpu_amd.h
nobody        := $(if $(findstring GNU,$(shell tar --version 2> /dev/null)),--owner=0 --group=0 --numeric-owner)

dist: | $(BUILD)
	rm -rf $(BUILD)/dist
	mkdir -p $(addprefix $(BUILD)/dist/$(release)/,$(sort $(dir $(release_files))))
	for file in $(release_files); do cp $$file $(BUILD)/dist/$(release)/$$file || exit 1; done
	cp examples/package/Makefile $(BUILD)/dist/$(release)/Makefile
ifeq ($(NO_KERNELS),)
	GFX='$(GFX)' SM='$(SM)' test/make_blobs.sh $(BUILD)/dist $(BUILD)/blobs
	@for file in $(release_blobs); do mv $(BUILD)/dist/$$file $(BUILD)/dist/$(release)/ 2> /dev/null || { \
	    echo "make dist: $$file could not be built, see above; NO_KERNELS=1 makes a release without kernels" >&2; \
	    exit 1; }; done
endif
	find $(BUILD)/dist/$(release) -type f -exec chmod 644 {} + -exec env TZ=UTC0 touch -t 202001010000 {} +
	cd $(BUILD)/dist && find $(release) -type f | LC_ALL=C sort | xargs tar $(nobody) -cf ../$(release).tar
	gzip -9nf $(BUILD)/$(release).tar
	rm -rf $(BUILD)/dist
	@echo '$(BUILD)/$(release).tar.gz'

clean:
	rm -rf build
