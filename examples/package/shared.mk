# Builds the shared library from $(BUILD)/vmafgpu.o. The Makefiles of the repository and of a release include this file.
# They include system.mk, define CC, BUILD and the compiler flags, and compile vmafgpu.o with $(export_api).
#
# The name of the library contains VMAFGPU_ABI, so programs only load a library whose structs they know. The library
# exports the functions that vmafgpu.h marks with VMAFGPU_API and nothing else.

LIBDIR      ?= $(PREFIX)/lib
abi         := $(shell sed -n 's/^.define VMAFGPU_ABI \([0-9]*\)$$/\1/p' vmafgpu.h)
export_api  := $(if $(WINDOWS),-D'VMAFGPU_API=__declspec(dllexport)',-fPIC -fvisibility=hidden \
               -D'VMAFGPU_API=__attribute__((visibility("default"))) extern')
shared_name := $(if $(WINDOWS),libvmafgpu-$(abi).dll,$(if $(MACOS),libvmafgpu.$(abi).dylib,libvmafgpu.so.$(abi)))
# The name that linkers look for
shared_link := $(if $(WINDOWS),libvmafgpu.dll.a,$(if $(MACOS),libvmafgpu.dylib,libvmafgpu.so))

PYTHON      ?= python3

.PHONY: shared wheel
shared: $(BUILD)/$(shared_name)

# -static in LDFLAGS is for programs. A DLL contains the libraries of the compiler.
$(BUILD)/$(shared_name): $(BUILD)/vmafgpu.o
	$(CC) $(CFLAGS) $(SANFLAGS) $(if $(WINDOWS),-shared -Wl$(comma)--out-implib$(comma)$(BUILD)/$(shared_link),$(if \
	    $(MACOS),-dynamiclib -install_name @rpath/$(shared_name),-shared -Wl$(comma)-soname$(comma)$(shared_name))) \
	    -o $@ $< $(if $(WINDOWS),$(LDFLAGS),$(filter-out -static,$(LDFLAGS))) $(LDLIBS)
	$(if $(WINDOWS),,ln -sf $(shared_name) $(BUILD)/$(shared_link))

# WHEEL_PLATFORM overrides the platform tag, for example if the library is compiled for another machine.
wheel: shared
	@$(PYTHON) examples/python/make_wheel.py $(BUILD) $(WHEEL_PLATFORM)
