# Builds the example x264_vmaf if libx264 is installed; otherwise prints a line and succeeds. The Makefiles of the
# repository and of a release include this file. libx264 is under the GPL, and so is a program that is linked with it.

X264_CFLAGS ?= $(shell pkg-config --cflags x264 2> /dev/null)
X264_LIBS   ?= $(shell pkg-config --libs x264 2> /dev/null || echo -lx264)

$(BUILD)/x264_vmaf$(EXE): examples/x264_vmaf.c $(BUILD)/vmafgpu.o vmafgpu.h examples/x264.mk
	$(compile) -DVMAFGPU_IMPLEMENTED_ $(X264_CFLAGS) -o $@ $< $(BUILD)/vmafgpu.o $(LDFLAGS) $(X264_LIBS) $(LDLIBS)

# Without libx264, `make x264` compiles nothing. If there are other targets, vmafgpu.o must be complete before the
# second make starts, so that only one of the two compiles it.
.PHONY: x264
x264: $(if $(filter-out x264,$(MAKECMDGOALS)),$(BUILD)/vmafgpu.o)
	@mkdir -p $(BUILD)
	@printf '#include <stdint.h>\n#include <x264.h>\nint main(void) { return x264_levels[0].level_idc == 0; }\n' \
	    > $(BUILD)/x264_probe.c
	@if $(compile) $(X264_CFLAGS) -o $(BUILD)/x264_probe $(BUILD)/x264_probe.c $(LDFLAGS) $(X264_LIBS) \
	    > /dev/null 2>&1; then \
	    $(MAKE) --no-print-directory $(BUILD)/x264_vmaf$(EXE); \
	else \
	    echo 'make x264: skipped, because libx264 is not installed (Debian: libx264-dev)'; \
	fi
