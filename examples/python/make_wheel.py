# Copyright (c) 2026 the vmafgpu authors
# SPDX-License-Identifier: BSD-2-Clause-Patent
"""Packs the Python module, the shared library and the kernels as a wheel, with the standard library only.

    python3 make_wheel.py BUILD [PLATFORM]        `make wheel` runs this script

BUILD is the folder of the shared library (`make shared`) and of the kernels (`make blobs`), if they were built. The
wheel is written to BUILD. PLATFORM is the platform tag; by default, it is derived from the library. On Linux, the tag
names the oldest C library that has all functions that the library calls. The same files give the same bytes.
"""
import base64
import glob
import hashlib
import os
import re
import sys
import sysconfig
import zipfile

METADATA = """Metadata-Version: 2.1
Name: vmafgpu
Version: {version}
Summary: VMAF of NumPy arrays and GPU tensors, with the bits of libvmaf
License: BSD-2-Clause-Patent
Requires-Python: >=3.8
Description-Content-Type: text/plain

{description}"""
WHEEL = """Wheel-Version: 1.0
Generator: vmafgpu make_wheel.py
Root-Is-Purelib: false
Tag: py3-none-{platform}
"""


def read(path):
    with open(path, "rb") as file:
        return file.read()


def platform_tag(library):
    """Returns the platform tag of a library for this machine."""
    system, _, machine = sysconfig.get_platform().partition("-")
    if system != "linux":
        return sysconfig.get_platform().replace("-", "_").replace(".", "_")
    if re.search(rb"\0libc\.musl-", library):
        return "musllinux_1_2_" + machine
    versions = [int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)", library)]
    return "manylinux_2_%d_%s" % (max(versions + [17]), machine)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: make_wheel.py BUILD [PLATFORM]")
    here = os.path.dirname(os.path.abspath(__file__))
    top, build = os.path.dirname(os.path.dirname(here)), sys.argv[1]
    header = read(os.path.join(top, "vmafgpu.h"))
    end = b"#endif /* VMAFGPU_H */\n"
    public = header[:header.index(end)] + end
    version = re.search(rb'#define VMAFGPU_VERSION_STRING "(.*)"', header)[1].decode()
    abi = re.search(rb"#define VMAFGPU_ABI (\d+)", header)[1].decode()
    found = [path for form in ("libvmafgpu.so.%s", "libvmafgpu.%s.dylib", "libvmafgpu-%s.dll")
             for path in glob.glob(os.path.join(glob.escape(build), form % abi))]
    if len(found) != 1:
        sys.exit("%s: must contain one shared library for VMAFGPU_ABI %s, but contains %d; run `make shared`"
                 % (build, abi, len(found)))
    library = read(found[0])
    platform = sys.argv[2] if len(sys.argv) == 3 else platform_tag(library)
    module = read(os.path.join(here, "vmafgpu.py"))
    description = re.search(r'"""(.*?)"""', module.decode(), flags=re.S)[1]
    info = "vmafgpu-%s.dist-info/" % version
    files = {"vmafgpu.py": module, "vmafgpu_torch.py": read(os.path.join(here, "vmafgpu_torch.py")),
             "vmafgpu_files/vmafgpu.h": public, "vmafgpu_files/" + os.path.basename(found[0]): library}
    for name in ("vmafgpu_kernels.nvidia", "vmafgpu_kernels.amd"):
        if os.path.exists(os.path.join(build, name)):
            files["vmafgpu_files/" + name] = read(os.path.join(build, name))
    files[info + "LICENSE"] = read(os.path.join(top, "LICENSE"))
    files[info + "METADATA"] = METADATA.format(version=version, description=description).encode()
    files[info + "WHEEL"] = WHEEL.format(platform=platform).encode()
    record = ["%s,sha256=%s,%d\n" % (name, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("="),
                                     len(data)) for name, data in files.items()]
    files[info + "RECORD"] = "".join(record + [info + "RECORD,,\n"]).encode()
    path = os.path.join(build, "vmafgpu-%s-py3-none-%s.whl" % (version, platform))
    with zipfile.ZipFile(path + ".new", "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
            wheel.writestr(entry, data)
    os.replace(path + ".new", path)
    print(path)


if __name__ == "__main__":
    main()
