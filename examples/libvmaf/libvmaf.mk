# Builds and installs the library libvmaf. The Makefiles of the repository and of a release include this file. They
# define CC, BUILD, what system.mk defines, the compiler flags, and rules for $(BUILD)/vmafgpu_nvidia.h and _amd.h.
# PREFIX, LIBDIR and DESTDIR have their usual meaning.
#
# LIBRARIES=static (or shared) builds and installs only that library; the default is both. If a folder contains both,
# linkers use the shared one. EMBED="nvidia amd" compiles the GPU kernels into the library, so that it needs no kernel
# files.

PREFIX       ?= /usr/local
LIBDIR       ?= $(PREFIX)/lib
vmaf_headers := feature.h model.h picture.h libvmaf_cuda.h
vmaf_name    := $(if $(WINDOWS),libvmaf.dll,$(if $(MACOS),libvmaf.3.dylib,libvmaf.so.3))
# the name that linkers look for, a link to the library
vmaf_link    := $(if $(WINDOWS),,$(if $(MACOS),libvmaf.dylib,libvmaf.so))
vmaf_library := $(BUILD)/$(vmaf_name)
vmaf_soname   = $(if $(MACOS),-install_name$(comma)'$(LIBDIR)/$(vmaf_name)',-soname$(comma)$(vmaf_name))
vmaf_ar      := $(if $(filter-out default undefined,$(origin AR)),$(AR),$(if $(filter %-gcc,$(CC)),$(CC:gcc=ar),ar))
vmaf_kernels := vmafgpu_kernels.nvidia vmafgpu_kernels.amd
# A library in PREFIX/lib finds the kernels in PREFIX/lib/vmafgpu. A library in another folder needs the path at compile
# time.
vmaf_folder  := $(if $(WINDOWS)$(filter $(PREFIX)/lib,$(LIBDIR)),,-DVMAFGPU_KERNEL_FOLDER='"$(PREFIX)/lib/vmafgpu"')

LIBRARIES    ?= shared static
EMBED        ?=
vmaf_shared  := $(filter shared,$(LIBRARIES))
vmaf_static  := $(filter static,$(LIBRARIES))
$(if $(filter-out shared static,$(LIBRARIES))$(if $(strip $(LIBRARIES)),,empty),$(error LIBRARIES: \
    must contain static, shared or both ("$(LIBRARIES)")))
$(if $(filter-out nvidia amd,$(EMBED)),$(error EMBED: may contain nvidia and amd only ("$(EMBED)")))

# The recipe of libvmaf.o depends on EMBED and LIBDIR. The file libvmaf.flags changes if they do.
vmaf_arrays  := $(EMBED:%=$(BUILD)/vmafgpu_%.h)
vmaf_flags   := $(vmaf_folder) $(if $(EMBED),-I$(BUILD)) \
                $(if $(filter nvidia,$(EMBED)),-DVMAFGPU_NVIDIA_HEADER='"vmafgpu_nvidia.h"') \
                $(if $(filter amd,$(EMBED)),-DVMAFGPU_AMD_HEADER='"vmafgpu_amd.h"')
# Libraries that programs need in addition if they link libvmaf.a
vmaf_private := $(if $(WINDOWS),-lpthread,-lm -lpthread $(LIBDL))

.PHONY: libvmaf install-libvmaf uninstall-libvmaf vmaf_forced

libvmaf: $(if $(vmaf_shared),$(vmaf_library)) $(if $(vmaf_static),$(BUILD)/libvmaf.a)

$(BUILD)/libvmaf.flags: vmaf_forced
	@mkdir -p $(BUILD)
	@echo $(foreach flag,$(vmaf_flags),'$(subst ','\'',$(flag))') > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(BUILD)/libvmaf.o: examples/libvmaf/libvmaf.c examples/libvmaf/libvmaf.h examples/tool/report.c \
        examples/tool/report.h vmafgpu.h models/model_embed.h $(BUILD)/libvmaf.flags $(vmaf_arrays)
	$(CC) -std=c99 -Wall -Wextra $(if $(WINDOWS),,-fPIC) -fvisibility=hidden $(vmaf_flags) $(CPPFLAGS) $(CFLAGS) \
	    $(SANFLAGS) -c -o $@ $<

$(BUILD)/libvmaf.a: $(BUILD)/libvmaf.o
	rm -f $@
	$(vmaf_ar) rcs $@ $<

# -static in LDFLAGS is for programs, not for a shared library. On macOS, a program stores the install name of a library
# as the path from which to load it.
$(BUILD)/libvmaf.so.3 $(BUILD)/libvmaf.3.dylib: $(BUILD)/libvmaf.o
	$(CC) -shared $(CFLAGS) -Wl,$(vmaf_soname) $(SANFLAGS) -o $@ $< $(filter-out -static,$(LDFLAGS)) $(LDLIBS)
	ln -sf $(vmaf_name) $(BUILD)/$(vmaf_link)

$(BUILD)/libvmaf.dll: $(BUILD)/libvmaf.o
	$(CC) -shared $(CFLAGS) -Wl,--out-implib,$@.a -o $@ $< $(LDFLAGS) -static-libgcc -Wl,-Bstatic \
	    $(filter-out -static,$(LDLIBS))

vmaf_include = $(DESTDIR)$(PREFIX)/include/libvmaf

# Fails if these folders contain another libvmaf. All files of this library contain the word vmafgpu.
vmaf_ours = for file in '$(DESTDIR)$(LIBDIR)/$(vmaf_name)' '$(DESTDIR)$(LIBDIR)/libvmaf.a' \
    '$(vmaf_include)/libvmaf.h' '$(DESTDIR)$(PREFIX)/bin/libvmaf.dll'; do \
    [ ! -e "$$file" ] || grep -q vmafgpu "$$file" || { \
        echo "$$file belongs to another libvmaf; choose another PREFIX and LIBDIR, or remove that libvmaf" >&2; \
        exit 1; }; done

install-libvmaf: libvmaf
	@$(vmaf_ours)
	mkdir -p '$(DESTDIR)$(LIBDIR)/pkgconfig' '$(vmaf_include)' $(if $(WINDOWS),'$(DESTDIR)$(PREFIX)/bin')
ifneq ($(vmaf_shared),)
	install -m 755 $(vmaf_library) '$(DESTDIR)$(if $(WINDOWS),$(PREFIX)/bin,$(LIBDIR))'
	$(if $(WINDOWS),install -m 644 $(BUILD)/libvmaf.dll.a '$(DESTDIR)$(LIBDIR)', \
	    ln -sf $(vmaf_name) '$(DESTDIR)$(LIBDIR)/$(vmaf_link)')
endif
	$(if $(vmaf_static),install -m 644 $(BUILD)/libvmaf.a '$(DESTDIR)$(LIBDIR)')
	install -m 644 examples/libvmaf/libvmaf.h '$(vmaf_include)'
	install -m 644 examples/libvmaf/libvmaf_version.h '$(vmaf_include)/version.h'
	for file in $(vmaf_headers); do echo '#include "libvmaf.h"' > '$(vmaf_include)/'$$file && \
	    chmod 644 '$(vmaf_include)/'$$file || exit 1; done
	sed 's|@PREFIX@|$(PREFIX)|g; s|@LIBDIR@|$(LIBDIR)|g; s|@PRIVATE@|$(vmaf_private)|g' examples/libvmaf/libvmaf.pc \
	    > '$(DESTDIR)$(LIBDIR)/pkgconfig/libvmaf.pc'
	chmod 644 '$(DESTDIR)$(LIBDIR)/pkgconfig/libvmaf.pc'
	install -m 644 LICENSE '$(vmaf_include)'
	for file in $(if $(EMBED),,$(vmaf_kernels)); do [ ! -f $(BUILD)/$$file ] || { \
	    mkdir -p '$(DESTDIR)$(PREFIX)/lib/vmafgpu' && \
	    install -m 644 $(BUILD)/$$file '$(DESTDIR)$(PREFIX)/lib/vmafgpu'; } || exit 1; done

# This also removes the kernels of the tool; `make install` installs them again.
uninstall-libvmaf:
	@$(vmaf_ours)
	cd '$(DESTDIR)$(PREFIX)' && rm -f $(vmaf_headers:%=include/libvmaf/%) include/libvmaf/libvmaf.h \
	    include/libvmaf/version.h include/libvmaf/LICENSE bin/libvmaf.dll $(vmaf_kernels:%=lib/vmafgpu/%)
	cd '$(DESTDIR)$(LIBDIR)' && rm -f $(vmaf_link) $(vmaf_name) libvmaf.a libvmaf.dll.a pkgconfig/libvmaf.pc
	cd '$(DESTDIR)$(PREFIX)' && for folder in include/libvmaf lib/vmafgpu; do [ ! -d $$folder ] || \
	    rmdir $$folder 2> /dev/null || :; done
