# Builds vmafgpu.wasm and vmaf.html. The Makefiles of the repository and of a release include this file and define
# BUILD.
#
# Needs clang with the WASI library (Debian: clang-19 lld-19 wasi-libc libclang-rt-19-dev-wasm32). WASM_CC names
# another clang. The module contains the models and psnr; WEB_FEATURES=all adds all other features.

WEB_FEATURES ?=
WASM_CC     ?= clang-19
web_sources := examples/web/module.c examples/tool/report.c examples/tool/report.h vmafgpu.h models/model_embed.h
web_flags   := --target=wasm32-wasi -O2 -msimd128 -Wall -Wextra \
               $(if $(filter all,$(WEB_FEATURES)),,$(addprefix -DVMAFGPU_NO_,SSIM PSNR_HVS CIEDE FLOAT))

.PHONY: web
# The second module has threads. Its memory is shared, so browsers load it only in pages that are cross-origin isolated.
# The C library of Debian is not compiled for shared memory. This is safe, because threads allocate no memory and call
# no functions that have a state.
web_threads := --shared-memory --import-memory --initial-memory=4194304 --max-memory=1073741824 --no-check-features \
               --export=__stack_pointer --export=__wasm_init_tls --export=__tls_size
web_shared  := -matomics -mbulk-memory
# The command that links has no -O flag. With -O2, clang runs wasm-opt if it is installed. wasm-opt inlines functions
# despite their attributes, and then browsers keep fewer values in registers.
web_linker  := $(WASM_CC) --target=wasm32-wasi -mexec-model=reactor -Wl,-z,stack-size=1048576,--strip-all
web_files   := $(addprefix $(BUILD)/web/,vmaf.html vmafgpu.wasm vmafgpu_threads.wasm vmaf.mjs vmaf.d.ts)
web: $(web_files)

$(BUILD)/web/vmafgpu.wasm: $(web_sources) examples/web/web.mk
	@mkdir -p $(@D)
	@printf '#include <stdlib.h>\n' | $(WASM_CC) --target=wasm32-wasi -E -xc - > $@.try 2>&1 || { \
	    echo 'make web: $(WASM_CC) cannot compile for WebAssembly (Debian: clang-19 lld-19 wasi-libc' \
	        'libclang-rt-19-dev-wasm32); WASM_CC names another clang' >&2; rm -f $@.try; exit 1; }
	@rm -f $@.try
	$(WASM_CC) $(web_flags) -c -o $@.o examples/web/module.c
	$(web_linker) -o $@ $@.o
	rm -f $@.o

$(BUILD)/web/vmafgpu_threads.wasm: $(BUILD)/web/vmafgpu.wasm
	$(WASM_CC) $(web_flags) $(web_shared) -c -o $@.o examples/web/module.c
	$(web_linker) $(web_shared) $(addprefix -Wl$(comma),$(web_threads)) -o $@ $@.o
	rm -f $@.o

$(BUILD)/web/vmaf.%: examples/web/vmaf.%
	@mkdir -p $(@D)
	cp $< $@

# The page contains the module and all code, so that it also works as a local file. page.html marks the places.
web_insert   = -e '/^@$(1)@$$/{r $(2)' -e 'd;}'
$(BUILD)/web/vmaf.html: $(addprefix examples/web/,page.html page.js worker.js vmaf.mjs web.mk) $(BUILD)/web/vmafgpu.wasm
	gzip -9nc $(BUILD)/web/vmafgpu.wasm | base64 > $@.base64
	sed -e 's/^export //' examples/web/vmaf.mjs > $@.module
	sed $(call web_insert,WASM,$@.base64) $(call web_insert,MODULE,$@.module) \
	    $(call web_insert,WORKER,examples/web/worker.js) $(call web_insert,PAGE,examples/web/page.js) \
	    examples/web/page.html > $@
	rm -f $@.base64 $@.module
