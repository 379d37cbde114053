# The library with libvmaf's functions, for the Makefiles of the repository and of a release. They say CC, WINDOWS, BUILD and
# what compiles; PREFIX, LIBDIR and DESTDIR are as usual.

PREFIX       ?= /usr/local
LIBDIR       ?= $(PREFIX)/lib
vmaf_headers := feature.h model.h picture.h libvmaf_cuda.h
vmaf_library := $(BUILD)/$(if $(WINDOWS),libvmaf.dll,libvmaf.so.3)
vmaf_kernels := vmafgpu_kernels.nvidia vmafgpu_kernels.amd

.PHONY: libvmaf install-libvmaf

libvmaf: $(vmaf_library) $(BUILD)/libvmaf.a

$(BUILD)/libvmaf.o: examples/libvmaf.c examples/libvmaf.h examples/report.h vmafgpu.h models/model_embed.h
	@mkdir -p $(BUILD)
	$(CC) -std=c99 -Wall -Wextra $(if $(WINDOWS),,-fPIC) -fvisibility=hidden $(CPPFLAGS) $(CFLAGS) $(SANFLAGS) -c -o $@ $<

$(BUILD)/libvmaf.a: $(BUILD)/libvmaf.o
	rm -f $@
	$(if $(filter %-gcc,$(CC)),$(CC:gcc=ar),ar) rcs $@ $<

# Programs look for the name with the number, linkers for the one without. Programs may be static, a shared object is not.
$(BUILD)/libvmaf.so.3: $(BUILD)/libvmaf.o
	$(CC) -shared -Wl,-soname,libvmaf.so.3 $(SANFLAGS) -o $@ $< $(filter-out -static,$(LDFLAGS)) $(LDLIBS)
	ln -sf libvmaf.so.3 $(BUILD)/libvmaf.so

$(BUILD)/libvmaf.dll: $(BUILD)/libvmaf.o
	$(CC) -shared -Wl,--out-implib,$@.a -o $@ $< $(LDFLAGS) $(LDLIBS)

install-libvmaf: libvmaf
	mkdir -p '$(DESTDIR)$(LIBDIR)/pkgconfig' '$(DESTDIR)$(PREFIX)/include/libvmaf' $(if $(WINDOWS),'$(DESTDIR)$(PREFIX)/bin')
	install -m 755 $(vmaf_library) '$(DESTDIR)$(if $(WINDOWS),$(PREFIX)/bin,$(LIBDIR))'
	$(if $(WINDOWS),install -m 644 $(BUILD)/libvmaf.dll.a '$(DESTDIR)$(LIBDIR)',ln -sf libvmaf.so.3 '$(DESTDIR)$(LIBDIR)/libvmaf.so')
	install -m 644 $(BUILD)/libvmaf.a '$(DESTDIR)$(LIBDIR)'
	install -m 644 examples/libvmaf.h '$(DESTDIR)$(PREFIX)/include/libvmaf'
	for file in $(vmaf_headers); do echo '#include "libvmaf.h"' > '$(DESTDIR)$(PREFIX)/include/libvmaf/'$$file && \
	    chmod 644 '$(DESTDIR)$(PREFIX)/include/libvmaf/'$$file || exit 1; done
	sed 's|@PREFIX@|$(PREFIX)|g; s|@LIBDIR@|$(LIBDIR)|g' examples/package/libvmaf.pc > '$(DESTDIR)$(LIBDIR)/pkgconfig/libvmaf.pc'
	chmod 644 '$(DESTDIR)$(LIBDIR)/pkgconfig/libvmaf.pc'
	for file in $(vmaf_kernels); do [ ! -f $(BUILD)/$$file ] || \
	    install -m 644 $(BUILD)/$$file '$(DESTDIR)$(if $(WINDOWS),$(PREFIX)/bin,$(LIBDIR))' || exit 1; done
