"""Tests of examples/python/vmafgpu.py, run by test_python.sh: python3 test/test_python.py BUILD

NumPy is optional. Simulated GPUs are used if they were built, and real clips if ../shared exists. DEPTH=all compares
all values in ../shared/golden."""
import array
import ctypes
import ctypes.util
import gc
import glob
import json
import logging
import mmap
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
import warnings
import weakref

BUILD = os.path.abspath(sys.argv.pop(1) if len(sys.argv) > 1 else "build")
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHARED = os.path.join(TOP, "..", "shared")
sys.path.insert(0, os.path.join(TOP, "examples", "python"))
import vmafgpu

try:
    import numpy
except ImportError:
    numpy = None
try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
except ImportError:
    torch = None
W, H = 64, 48
COLOUR = {"matrix": "bt709", "range": "limited", "siting": "left"}


def noise(seed, size, bits=8):
    source = random.Random(seed)
    if bits == 8:
        return source.getrandbits(8 * size).to_bytes(size, "little")
    return struct.pack("<%dH" % size, *(source.getrandbits(bits) for _ in range(size)))


def clip(seed, count, size=W * H * 3 // 2, bits=8):
    return [noise(100 * seed + i, size, bits) for i in range(count)]


class Array:
    """An array with __array_interface__ in the memory of `owner`, as NumPy has it."""
    def __init__(self, owner, shape, strides=None, kind="|u1", offset=0):
        self.owner = owner = ctypes.create_string_buffer(bytes(owner), len(owner))
        self.shape = shape
        self.__array_interface__ = {"data": (ctypes.addressof(owner) + offset, False), "shape": shape,
                                    "strides": strides, "typestr": kind, "version": 3}


class Managed(ctypes.Structure):     # DLManagedTensor
    _fields_ = [("tensor", vmafgpu._Tensor), ("context", ctypes.c_void_p), ("delete", ctypes.c_void_p)]


capsule_new = ctypes.pythonapi.PyCapsule_New
capsule_new.restype, capsule_new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Packed:
    """An array with __dlpack__ only. `streams` are the streams that consumers named."""
    def __init__(self, address, shape, owner=None, device=(1, 0), strides=None, code=1, bits=8):
        self.shape, self.owner, self.device, self.streams = shape, owner, device, []
        self.dimensions = (ctypes.c_int64 * len(shape))(*shape)
        self.steps = (ctypes.c_int64 * len(shape))(*strides) if strides else None
        self.managed = Managed(vmafgpu._Tensor(address, device[0], device[1], len(shape), code, bits, 1,
                                               self.dimensions, self.steps, 0), None, None)

    @classmethod
    def host(cls, data, shape):
        buffer = ctypes.create_string_buffer(data, len(data))
        return cls(ctypes.addressof(buffer), shape, buffer)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return capsule_new(ctypes.addressof(self.managed), b"dltensor", None)


def bits(values):
    return array.array("d", values).tobytes()


def luma(frame):
    return frame[:W * H]


def score(reference, distorted, **options):
    options = dict({"width": W, "height": H, "backend": "cpu"}, **options)
    return vmafgpu.score(reference, distorted, **options)


class Declarations(unittest.TestCase):
    """The structs of Python are those of the library."""

    def load(self, change, library=None):
        """Loads the module with a changed header, and returns its error."""
        with open(os.path.join(TOP, "vmafgpu.h"), encoding="utf-8") as file:
            text = file.read()
        changed = change(text)
        self.assertEqual(changed == text, library is not None)
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "vmafgpu.h"), "w", encoding="utf-8") as file:
                file.write(changed)
            environment = dict(os.environ, VMAFGPU_HEADER=os.path.join(folder, "vmafgpu.h"),
                               VMAFGPU_LIBRARY=library or vmafgpu.library_path,
                               PYTHONPATH=os.path.join(TOP, "examples", "python"))
            done = subprocess.run([sys.executable, "-c", "import vmafgpu"], env=environment, stderr=subprocess.PIPE,
                                  universal_newlines=True)
        return done.stderr.strip().split("\n")[-1]

    def test_complete(self):
        with open(os.path.join(TOP, "test", "abi.txt")) as file:
            facts = file.read()
        functions = re.findall(r"^function .*?(\w+)\(", facts, flags=re.M)
        self.assertEqual(sorted(vmafgpu.declarations.functions), sorted(functions))
        for name, size in re.findall(r"^struct (\w+), (\d+) bytes", facts, flags=re.M):
            self.assertEqual(ctypes.sizeof(vmafgpu.declarations.types[name]), int(size), name)
        for name, offset, size in re.findall(r"^field (\S+) at (\d+), (\d+) bytes", facts, flags=re.M):
            struct_name, field = name.split(".")
            member = getattr(vmafgpu.declarations.types[struct_name], field)
            self.assertEqual((member.offset, member.size), (int(offset), int(size)), name)
        values = {value for names in vmafgpu.declarations.enums.values() for value in names.items()}
        for name, value in re.findall(r"^enumerator VMAFGPU_(?:MEMORY|PIXELS|CHROMA)_(\w+) = (\S+)", facts, flags=re.M):
            self.assertIn((name.lower(), int(value)), values)

    def test_drifted_fields(self):
        for old, new, words in (
                ("    int             bit_depth; ", "    int inserted; int bit_depth; ",
                 "vmafgpu_config.inserted at offset 8"),
                ("    int             threads; ", "    double          threads; ", "vmafgpu_config.threads at offset"),
                ("    int             subsample; ", "    int             step; ", "vmafgpu_config.step at offset"),
                ("    uint64_t       tag; ", "    uint64_t tag, more; ", "has vmafgpu_score.more at offset 40")):
            error = self.load(lambda text: text.replace(old, new, 1))
            self.assertIn("ImportError", error)
            self.assertIn(words, error)

    def test_other_libraries(self):
        error = self.load(lambda text: re.sub(r"(#define VMAFGPU_ABI) \d+", r"\1 77", text))
        self.assertRegex(error, r"ImportError: .*VMAFGPU_ABI is \d+, but 77 in ")
        error = self.load(lambda text: text.replace("VMAFGPU_API int         vmafgpu_abi(void);",
                                                    "VMAFGPU_API int vmafgpu_other(void);"))
        self.assertRegex(error, "ImportError: .*has no function vmafgpu_other")
        error = self.load(lambda text: text, ctypes.util.find_library("m") or "libm.so.6")
        self.assertRegex(error, "ImportError: .*has no function vmafgpu_open")
        error = self.load(lambda text: text, "/nonexistent/libvmafgpu.so")
        self.assertRegex(error, "ImportError: .*/nonexistent/libvmafgpu.so.*make shared")


class Golden(unittest.TestCase):
    """The values are those of libvmaf."""

    def compare(self, result, path):
        with open(path) as file:
            report = json.load(file)
        frames = [frame["metrics"] for frame in report["frames"]]
        self.assertEqual(len(result), len(frames))
        different = 0
        for column in result.columns:
            expected = [float(frame[column]) for frame in frames]
            different += sum(bits([a]) != bits([b]) for a, b in zip(result[column], expected))
            for how, value in report["pooled_metrics"][column].items():
                different += bits([result.pool(how, column)]) != bits([float(value)])
        self.assertEqual(different, 0, path)
        return len(result.columns) * (len(frames) + 4)

    def read(self, name):
        """Returns the frames and the format of a clip in ../shared/clips."""
        path = os.path.join(SHARED, "clips", name)
        with open(path, "rb") as file:
            data = file.read()
        raw = re.match(r".*_(\d+)x(\d+)_420p(16)?\.yuv", name)
        if raw:
            size = int(raw[1]) * int(raw[2]) * 3 // 2 * (2 if raw[3] else 1)
            options = {"width": int(raw[1]), "height": int(raw[2]), "bit_depth": int(raw[3] or 8)}
            return [data[at:at + size] for at in range(0, len(data), size)], options
        head, at = data[:data.index(b"\n")].decode(), data.index(b"\n") + 1
        tags = {tag[0]: tag[1:] for tag in head.split()[1:]}
        chroma, depth = re.match(r"(4\d\d)(?:p(\d+))?", tags.get("C", "420")).groups()
        options = {"width": int(tags["W"]), "height": int(tags["H"]), "chroma": chroma, "bit_depth": int(depth or 8)}
        config, frames = vmafgpu._T["vmafgpu_config"](), []
        config.width, config.height, config.bit_depth = options["width"], options["height"], options["bit_depth"]
        config.chroma = vmafgpu._E["vmafgpu_chroma"][chroma]
        size = vmafgpu.lib.vmafgpu_frame_size(config, 0)
        while at < len(data):
            at = data.index(b"\n", at) + 1
            frames.append(data[at:at + size])
            at += size
        return frames, options

    @unittest.skipUnless(os.path.isdir(os.path.join(SHARED, "golden")), "there is no ../shared/golden")
    def test_real_clips(self):
        whole = os.environ.get("DEPTH") == "all"
        names = {re.sub("_(ref|dis).*", "", name): name for name in os.listdir(os.path.join(SHARED, "clips"))}
        cases = values = 0
        for path in sorted(glob.glob(os.path.join(SHARED, "golden", "*__vmaf_*.json"))):
            name, model = os.path.basename(path)[:-5].split("__")
            # In libvmaf, 18x22 is too small for adm.
            if name == "tiny" or (not whole and (name, model) not in (
                    ("akiyo", "vmaf_b_v0.6.3"), ("c422_10b", "vmaf_v1.0.16_3d0h"), ("c444_12b", "vmaf_v0.6.1neg"),
                    ("odd_8b", "vmaf_4k_v0.6.1"), ("seek_8b_same", "vmaf_v0.6.1"), ("src01_16b", "vmaf_v0.6.1"))):
                continue
            source = re.sub("_same", "", name)
            reference = [n for n in os.listdir(os.path.join(SHARED, "clips")) if n.startswith(source + "_ref")][0]
            distorted = reference if name.endswith("_same") else reference.replace("_ref", "_dis")
            frames, options = self.read(reference)
            result = vmafgpu.score(frames, self.read(distorted)[0], models={
                                   "vmaf": model}, backend="cpu", threads=2, **options)
            values += self.compare(result, path)
            cases += 1
        print("%d golden cases, %d values" % (cases, values))
        self.assertGreaterEqual(cases, 100 if whole else 6)

    @unittest.skipUnless(os.path.isfile(os.path.join(BUILD, "test", "python", "seek_8b.raw")),
                         "test_python.sh could not unpack the clips in test/golden/real")
    def test_committed_clips(self):
        cases = 0
        for path in sorted(glob.glob(os.path.join(TOP, "test", "golden", "real", "*.json"))):
            name, model = os.path.basename(path)[:-5].split("__")
            with open(os.path.join(BUILD, "test", "python", name + ".raw"), "rb") as file:
                width, height, depth, chroma = map(int, file.readline().split())
                size = width * height * {420: 3, 422: 4, 444: 6}[chroma] // 2 * (2 if depth > 8 else 1)
                frames = list(iter(lambda: file.read(size), b""))
            result = vmafgpu.score(frames[::2], frames[1::2], models={"vmaf": model}, width=width, height=height,
                                   bit_depth=depth, chroma=str(chroma), threads=2, backend="cpu")
            self.compare(result, path)
            cases += 1
        self.assertEqual(cases, 6)

    def test_same_as_tool(self):
        """Compares all columns with the report of the tool."""
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, name) for name in ("ref.yuv", "dis.yuv", "out.json")]
            sides = clip(1, 4), clip(2, 4)
            for path, frames in zip(files, sides):
                with open(path, "wb") as file:
                    file.write(b"".join(frames))
            subprocess.run([os.path.join(BUILD, "vmafgpu"), "-r", files[0], "-d", files[1], "-w", str(W), "-h", str(H),
                            "-p", "420", "-b", "8", "--feature", "psnr", "-m", "version=vmaf_v0.6.1", "--precision",
                            "max", "--backend", "cpu", "--json", "-o", files[2], "--quiet"],
                           check=True, stdout=subprocess.DEVNULL)
            self.assertGreater(self.compare(score(*sides, features="psnr"), files[2]), 100)


class Arrays(unittest.TestCase):
    """All forms of an array have the same scores."""

    def setUp(self):
        self.r, self.d = clip(1, 3), clip(2, 3)
        self.expected = bits(score(self.r, self.d)["vmaf"])

    def check(self, form, **options):
        result = score([form(f) for f in self.r], [form(f) for f in self.d], **options)
        self.assertEqual(bits(result["vmaf"]), self.expected)

    def test_host_forms(self):
        def mapped(frame):
            memory = mmap.mmap(-1, len(frame))
            memory.write(frame)
            return memory

        def wide(frame, order=1):
            rows = [b"\1" * 5 + frame[W * y:W * y + W] + b"\2" * 7 for y in range(H)][::order]
            first = 0 if order > 0 else (H - 1) * (W + 12)
            return Array(b"".join(rows), (H, W), (order * (W + 12), 1), offset=5 + first)

        for form in (bytes, bytearray, memoryview, mapped, lambda f: array.array("B", f),
                     lambda f: (ctypes.c_ubyte * len(f)).from_buffer_copy(f), lambda f: Array(f, (H, W)), wide,
                     lambda f: wide(f, -1), lambda f: Packed.host(f, (H, W)), lambda f: (Packed.host(f, (H, W)),),
                     lambda f: memoryview(luma(f)).cast("B", (H, W)), lambda f: Array(f, (len(f),))):
            self.check(form)

    def test_numpy(self):
        if numpy is None:
            self.skipTest("NumPy is not installed")
        def planes(frame):
            return numpy.frombuffer(luma(frame), numpy.uint8).reshape(H, W)
        self.check(planes)
        self.check(lambda f: numpy.pad(planes(f), 9)[9:-9, 9:-9])
        self.check(lambda f: planes(f)[::-1].copy()[::-1])
        self.check(lambda f: planes(f).astype("<u2"), bytes_per_sample=2, bit_depth=8)
        sides = [numpy.stack([planes(f) for f in side]) for side in (self.r, self.d)]
        result = vmafgpu.score(*sides, backend="cpu")
        self.assertEqual(bits(result["vmaf"]), self.expected)
        self.assertEqual((type(result["vmaf"]), result["vmaf"].dtype.str), (numpy.ndarray, "<f8"))
        single = vmafgpu.score(sides[0][0], sides[1][0], backend="cpu")
        self.assertEqual(len(single), 1)

    def test_clip(self):
        """One array for a whole clip, also of several planes, and with frames in reverse order in memory."""
        side = [Array(b"".join(map(luma, f)), (3, H, W)) for f in (self.r, self.d)]
        self.assertEqual(bits(score(*side)["vmaf"]), self.expected)
        side = [Array(b"".join(map(luma, reversed(f))), (3, H, W), (-W * H, W, 1), offset=2 * W * H)
                      for f in (self.r, self.d)]
        self.assertEqual(bits(score(*side)["vmaf"]), self.expected)
        whole = [Array(b"".join(f), (3, len(f[0]))) for f in (self.r, self.d)]
        with vmafgpu.Scorer(W, H, backend="cpu", features="psnr") as scorer:
            scorer.clip(*whole)
            expected = scorer.result()
            scorer.reset()
            y, c = W * H, W * H // 4
            planes = [tuple(Array(b"".join(x[at:at + n] for x in f), (3, h, w)) for at, n, h, w in
                            ((0, y, H, W), (y, c, H // 2, W // 2), (y + c, c, H // 2, W // 2)))
                      for f in (self.r, self.d)]
            scorer.clip(*planes)
            got = scorer.result()
        for column in got.columns:
            self.assertEqual(bits(got[column]), bits(expected[column]))

    def test_formats(self):
        """Planes and complete frames have the same scores in each format."""
        for chroma, layout, depth in (("420", "planar", 8), ("422", "planar", 10), ("444", "planar", 8),
                                      ("420", "semiplanar", 8),
                                      ("422", "semiplanar_high", 12), ("420", "planar", 16), ("400", "planar", 8)):
            across, down = {"420": (2, 2), "422": (2, 1), "444": (1, 1), "400": (0, 1)}[chroma]
            w, h, size = W // across if across else 0, H // down, 1 if depth == 8 else 2
            shift = 16 - depth if layout == "semiplanar_high" else 0
            kind, sides = ("|u1", "<u2")[size - 1], []
            for seed in (3, 4):
                frames = []
                for frame in clip(seed, 2, W * H + 2 * w * h, depth):
                    if shift:
                        frame = struct.pack("<%dH" % (len(frame) // 2), *(s << shift for s in struct.unpack(
                            "<%dH" % (len(frame) // 2), frame)))
                    y, c = frame[:size * W * H], frame[size * W * H:]
                    planes = [Array(y, (H, W), kind=kind)]
                    if layout != "planar":
                        planes.append(Array(c, (h, w, 2), kind=kind))
                    elif w:
                        planes += [Array(c[i * size * w * h:(i + 1) * size * w * h], (h, w), kind=kind) for i in (0, 1)]
                    frames.append((frame, tuple(planes)))
                sides.append(frames)
            found = [score([f[i] for f in sides[0]], [f[i] for f in sides[1]], chroma=chroma, layout=layout,
                           bit_depth=depth, features={"psnr": {"enable_chroma": chroma != "400"}}) for i in (0, 1)]
            for column in found[0].columns:
                self.assertEqual(bits(found[0][column]), bits(found[1][column]), (chroma, layout, column))

    def test_rgb(self):
        """Interleaved pixels and views of them have the same scores."""
        pictures = [clip(seed, 2, W * H * 3) for seed in (5, 6)]
        options = {"colour": COLOUR, "features": "psnr"}
        expected = score(*[[Array(f, (H, W, 3)) for f in side] for side in pictures], **options)

        def rgba(frame, order=(0, 1, 2)):
            pixels = (bytes([frame[i + k] for k in order]) + b"\7" for i in range(0, 3 * W * H, 3))
            return Array(b"".join(pixels), (H, W, 4))

        forms = [lambda f: rgba(f), lambda f: Array(f, (3, H, W), (1, 3 * W, 3)), lambda f: Packed.host(f, (H, W, 3))]
        if "rgb8_planar" in vmafgpu._PIXELS:
            def planes(frame):
                return b"".join(frame[k::3] for k in range(3))
            forms += [lambda f: Array(planes(f), (3, H, W)), lambda f: Array(planes(f), (H, W, 3), (W, 1, W * H)),
                      lambda f: Array(b"\1" * 99 + planes(f) + b"\2" * (W * H), (4, H, W), offset=99)]
        for form in forms:
            got = score(*[[form(f) for f in side] for side in pictures], **options)
            for column in got.columns:
                self.assertEqual(bits(got[column]), bits(expected[column]), column)
        got = score(*[[rgba(f, (2, 1, 0)) for f in side] for side in pictures], pixels="bgra8", **options)
        self.assertEqual(bits(got["psnr_cr"]), bits(expected["psnr_cr"]))

    def test_nothing_is_kept(self):
        with vmafgpu.Scorer(W, H, backend="cpu") as scorer:
            frame = Array(self.r[0], (H, W))
            alive = weakref.ref(frame)
            scorer.push(frame, frame)
            scorer.push(self.r[1], self.d[1])
            del frame
            gc.collect()
            self.assertIsNone(alive())


class Scoring(unittest.TestCase):
    def setUp(self):
        self.r, self.d = clip(1, 5), clip(2, 5)

    def test_frames_and_pools(self):
        with vmafgpu.Scorer(W, H, backend="cpu", models=["vmaf_v0.6.1", "vmaf_v0.6.1neg"],
                            features={"psnr": "min_sse=0.5"}, threads=2) as scorer:
            frames = [f for r, d in zip(self.r, self.d) for f in scorer.push(r, d)]
            self.assertEqual([f.index for f in frames], [0, 1, 2, 3])
            result = scorer.result()
            self.assertEqual([f.index for f in scorer.ready()], [4])
            self.assertEqual(scorer.models, ["vmaf_v0.6.1", "vmaf_v0.6.1neg"])
            self.assertEqual(bits(f.score for f in frames), bits(result["vmaf_v0.6.1"])[:32])
            self.assertEqual(bits(f.features["psnr_y"] for f in frames), bits(result["psnr_y"])[:32])
            value, v = ctypes.c_double(), scorer._v
            for i, column in enumerate(scorer.columns):
                for number, how in enumerate(("mean", "harmonic_mean", "min", "max")):
                    vmafgpu.lib.vmafgpu_pool(v, i, number, value)
                    self.assertEqual(bits([value.value]), bits([result.pool(how, column)]), (how, column))
                for p in (0, 5, 33.3, 50, 99, 100):
                    vmafgpu.lib.vmafgpu_percentile(v, i, p, value)
                    self.assertEqual(bits([value.value]), bits([result.pool("p%s" % p, column)]), (p, column))
                self.assertEqual(result.pool("median", column), result.pool("p50", column))
        self.assertEqual(result.mean, result.pool("mean", "vmaf_v0.6.1"))
        self.assertEqual(list(result.indices), [0, 1, 2, 3, 4])
        self.assertIn("5 frames", repr(result))
        for how in ("p101", "p-1", "pnan", "total", "", "p"):
            with self.assertRaises(ValueError):
                result.pool(how)
        with self.assertRaises(KeyError):
            result["nothing"]

    def test_models(self):
        expected = score(self.r, self.d, models={"phone": {"version": "vmaf_v0.6.1", "enable_transform": 1}})
        self.assertEqual(expected.models, ["phone"])
        path = os.path.join(SHARED, "models", "vmaf_v0.6.1.json")
        if os.path.exists(path):
            got = score(self.r, self.d, models={"phone": {"version": path, "enable_transform": True}})
            self.assertEqual(bits(got["phone"]), bits(expected["phone"]))
        self.assertEqual(len(vmafgpu.models()), 17)
        result = score(self.r, self.d, features_only=1, features="psnr")
        self.assertEqual((result.columns, result.models), (["psnr_y", "psnr_cb", "psnr_cr"], []))
        self.assertEqual(result.mean, result.pool("mean", "psnr_y"))
        result = score(self.r, self.d, features_only=1, features={
                       "psnr": {"enable_apsnr": True, "enable_chroma": False}})
        self.assertEqual(list(result.aggregates), ["apsnr_y", "apsnr_cb", "apsnr_cr"])

    def test_live_and_maps(self):
        with vmafgpu.Scorer(W, H, backend="cpu", live=True, map_block_size=16) as scorer:
            self.assertEqual(scorer.map_shape, (3, 4))
            memory = (ctypes.c_float * 12)()
            view = memoryview(memory).cast("B").cast("f", (3, 4))
            frames = scorer.push(self.r[0], self.d[0], map=view)
            self.assertEqual([f.index for f in frames], [0])
            self.assertIs(frames[0].map, view)
            self.assertTrue(any(memory))
            self.assertIsNone(scorer.push(self.r[1], self.d[1])[0].map)
            self.assertEqual(len(scorer.try_push(self.r[2], self.d[2])), 1)
            with self.assertRaisesRegex(ValueError, r"map: must be packed float32 of shape \(3, 4\)"):
                scorer.push(self.r[3], self.d[3], map=memoryview(bytearray(48)).cast("f", (4, 3)))

    def test_subsample_and_discarded_scores(self):
        whole, some = score(self.r, self.d), score(self.r, self.d, subsample=2)
        self.assertEqual(list(some.indices), [0, 2, 4])
        self.assertEqual(bits(some["vmaf"]), bits(list(whole["vmaf"])[::2]))
        with vmafgpu.Scorer(W, H, backend="cpu", discard_scores=1) as scorer:
            seen = [f.score for r, d in zip(self.r, self.d) for f in scorer.push(r, d)]
            self.assertEqual((len(scorer.result()), len(seen)), (0, 4))
            self.assertEqual(bits([scorer.result().mean]), bits([whole.mean]))

    def test_callbacks(self):
        seen, pieces = [], []

        def parallel(count, task):
            pieces.append(count)
            for i in range(count):
                task(i)
        with vmafgpu.Scorer(W, H, backend="cpu", on_score=seen.append, threads=3, parallel_for=parallel) as scorer:
            for r, d in zip(self.r, self.d):
                self.assertEqual(scorer.push(r, d), [])
            scorer.result()
        self.assertEqual(bits(f.score for f in seen), bits(score(self.r, self.d)["vmaf"]))
        self.assertIn(3, pieces)
        maps, big = [], clip(9, 1, 320 * 240 * 3 // 2)
        vmafgpu.score(big, big, width=320, height=240, backend="cpu", features_only=1,
                      features={"cambi": {"heatmaps_path": "here"}}, on_heatmap=lambda *map: maps.append(map))
        self.assertEqual([(m[0], m[1], m[2]) for m in maps], [("here", 0, i) for i in range(5)])
        self.assertEqual((maps[0][3].shape, maps[0][3].format), ((240, 320), "H"))

    def test_exceptions_in_callbacks(self):
        class Mine(Exception):
            pass

        def fail(*arguments):
            raise Mine("from the callback")
        big = noise(9, 320 * 240 * 3 // 2)
        for options in ({"on_score": fail}, {"parallel_for": fail, "threads": 2},
                        {"on_heatmap": fail, "features": {"cambi": "heatmaps_path=x"}}, {"on_log": fail, "features": {
                            "psnr": "nothing=1"}}):
            with self.assertRaisesRegex(Mine, "from the callback"):
                with vmafgpu.Scorer(320, 240, backend="cpu", **options) as scorer:
                    for _ in range(3):
                        scorer.push(big, big)
                raise AssertionError(options)
        with vmafgpu.Scorer(W, H, backend="cpu", on_score=lambda frame: scorer.push(self.r[0], self.d[0])) as scorer:
            scorer.push(self.r[0], self.d[0])
            with self.assertRaisesRegex(vmafgpu.Error, "in use by another thread, or by the caller of this callback"):
                scorer.push(self.r[1], self.d[1])
            self.assertEqual(scorer._pushed, 2)

    def test_warnings(self):
        with self.assertLogs("vmafgpu", logging.WARNING) as logged:
            vmafgpu.Scorer(W, H, backend="cpu", features={"psnr": "nothing=1"}).close()
        self.assertIn("nothing", logged.output[0])

    def test_errors(self):
        r = self.r
        wide = Array(bytes(2 * W * H), (H, W), (2 * W, 2))
        repeated = Array(bytes(W * H), (H, W), (0, 1))
        for kind, words, call in (
                (vmafgpu.Error, "unknown built-in model", lambda: score(r, r, models="nothing")),
                (vmafgpu.Error, "adm_csf_mode", lambda: score(r, r, features={"adm": "adm_csf_mode=99"})),
                (vmafgpu.Error, "width", lambda: vmafgpu.Scorer(3, H, backend="cpu")),
                (vmafgpu.Error, "cuda", lambda: score(r, r, backend="cuda", gpu={"driver_path": "/nonexistent"})),
                (ValueError, "a complete frame has 4608 bytes, not 1", lambda: score([b"x"], r)),
                (ValueError, "different numbers of frames", lambda: score(r, r[:-1])),
                (ValueError, "no frames", lambda: score([], [])),
                (ValueError, r"plane 0 must have the shape \(48, 64\), not \(64, 48\)",
                 lambda: score([Array(r[0], (W, H))], r[:1])),
                (ValueError, "must be contiguous", lambda: score([wide], r[:1])),
                (ValueError, "rows must not repeat", lambda: score([repeated], r[:1])),
                (ValueError, "too many planes", lambda: score([(Array(r[0], (H, W)),) * 4], r[:1])),
                (ValueError, r"plane 1 must have the shape \(24, 32\)",
                 lambda: score([(Array(r[0], (H, W)),) * 2], r[:1])),
                (TypeError, "uint8, not <u2", lambda: score([Array(2 * r[0], (H, W), kind="<u2")], r[:1], bit_depth=8)),
                (TypeError, "uint8, not <f4", lambda: score([Array(4 * r[0], (H, W), kind="<f4")], r[:1])),
                (TypeError, "little-endian", lambda: score([Array(2 * r[0], (H, W), kind=">u2")], r[:1], bit_depth=10)),
                (ValueError, "set bit_depth", lambda: score([Array(2 * r[0], (H, W), kind="<u2")], r[:1])),
                (TypeError, "RGB must be", lambda: score(
                    [Array(8 * r[0], (H, W, 3), kind="<f4")], r[:1], colour=COLOUR)),
                (vmafgpu.Error, "config.colour.matrix", lambda: score([Array(3 * r[0], (H, W, 3))], r[:1])),
                (TypeError, "int has no __array_interface__", lambda: score([5], r[:1])),
                (TypeError, "DLPack device 7", lambda: score([Packed(1, (H, W), device=(7, 0))], r[:1])),
                (vmafgpu.Error, "device memory", lambda: score([Packed(1 << 20, (H, W), device=(2, 0))], r[:1],
                                                               gpu={"frame_memory": "host"})),
                (ValueError, "different devices", lambda: score([(Packed.host(r[0], (H, W)),
                                                                  Packed(9, (24, 32), device=(2, 0)))], r[:1])),
                (TypeError, "widht: is not a field of vmafgpu_config", lambda: vmafgpu.Scorer(W, H, widht=3)),
                (TypeError, "foo: is not a field of vmafgpu_gpu_config", lambda: vmafgpu.Scorer(W, H, gpu={"foo": 3})),
                (ValueError, r"chroma: unknown value \(421\); use 420, 400, 422, 444",
                 lambda: vmafgpu.Scorer(W, H, chroma="421")),
                (ValueError, "width: is out of range", lambda: vmafgpu.Scorer((1 << 32) + W, H)),
                (TypeError, "threads:", lambda: vmafgpu.Scorer(W, H, threads=2.5)),
                (TypeError, "stream: is not a stream", lambda: vmafgpu.Scorer(W, H, stream="x")),
                (TypeError, "name: expected str", lambda: vmafgpu.Scorer(W, H, features=[5])),
                (ValueError, "set width and height", lambda: vmafgpu.score(r, r, backend="cpu")),
                (TypeError, "width:", lambda: vmafgpu.Scorer("a", H)),
                (TypeError, "gpu:", lambda: vmafgpu.Scorer(W, H, gpu=5)),
                (TypeError, "on_score:", lambda: vmafgpu.Scorer(W, H, on_score=5)),
                (FileNotFoundError, "missing.json", lambda: vmafgpu.Scorer(W, H, models="missing.json"))):
            with self.assertRaisesRegex(kind, words):
                call()
        with vmafgpu.Scorer(W, H, backend="cpu") as scorer:
            self.assertEqual((scorer.config.width, scorer.backend), (W, "cpu"))
            scorer.result()
            with self.assertRaisesRegex(vmafgpu.Error, "flush") as caught:
                scorer.push(r[0], r[0])
            self.assertEqual(caught.exception.name, "VMAFGPU_ERROR_STATE")
            scorer.reset()
            scorer.push(r[0], r[0])
        with vmafgpu.Scorer(W, H, backend="cpu", bit_depth=10) as scorer:
            full = Array(b"\xff" * (2 * W * H), (H, W), kind="<u2")
            with self.assertRaises(vmafgpu.Error) as caught:
                scorer.push(full, full)
            self.assertEqual(caught.exception.name, "VMAFGPU_ERROR_FRAME")

    def test_closed(self):
        scorer = vmafgpu.Scorer(W, H, backend="cpu")
        scorer.close()
        scorer.close()
        for call in (lambda: scorer.push(self.r[0], self.d[0]), scorer.result, scorer.reset, scorer.ready, scorer.wait,
                     lambda: scorer.clip(Array(self.r[0], (1, len(self.r[0]))), Array(self.r[0], (1, len(self.r[0]))))):
            with self.assertRaisesRegex(vmafgpu.Error, "the Scorer is closed"):
                call()
        self.assertEqual((scorer.backend, scorer.config.width), ("", W))

    @unittest.skipUnless(hasattr(os, "fork"), "the system has no fork()")
    def test_fork(self):
        scorer = vmafgpu.Scorer(W, H, backend="cpu", threads=2)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                scorer.push(self.r[0], self.d[0])
            except vmafgpu.Error as error:
                status = 0 if "before the fork" in str(error) else 2
            scorer.close()
            os._exit(status or (0 if len(score(self.r, self.d)) == 5 else 3))
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        scorer.push(self.r[0], self.d[0])
        scorer.close()

    def test_threads(self):
        expected, found = bits(score(self.r, self.d)["vmaf"]), []
        threads = [threading.Thread(target=lambda: found.append(bits(score(self.r, self.d)["vmaf"]))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [expected] * 4)
        inside, leave, errors = threading.Event(), threading.Event(), []

        def wait(frame):
            inside.set()
            leave.wait(60)
        with vmafgpu.Scorer(W, H, backend="cpu", live=1, on_score=wait) as scorer:
            thread = threading.Thread(target=lambda: scorer.push(self.r[0], self.d[0]))
            thread.start()
            inside.wait(60)
            with self.assertRaisesRegex(vmafgpu.Error, "in use by another thread"):
                scorer.push(self.r[1], self.d[1])
            leave.set()
            thread.join()


@unittest.skipUnless(torch, "PyTorch is not installed")
class Torch(unittest.TestCase):
    """The loss for PyTorch: scores of the library, slopes as gradients."""

    def setUp(self):
        """Smooth pictures with texture that pans, and blurred copies with a different contrast."""
        source = torch.Generator().manual_seed(1)
        wide = torch.rand(1, 1, 20, 24, generator=source)
        wide = torch.nn.functional.interpolate(wide, size=(160, 192), mode="bicubic", align_corners=False)
        wide = (wide + torch.rand(wide.shape, generator=source) / 8).clamp(0.05, 0.95)
        self.r = torch.stack([wide[0, 0, 2 * i:2 * i + 96, 3 * i:3 * i + 128] for i in range(4)])
        blurred = torch.nn.functional.avg_pool2d(self.r[:, None], 3, 1, 1, count_include_pad=False)[:, 0]
        self.d = 0.1 + 0.8 * blurred
        self.r, self.d = (torch.round(side * 255) / 255 for side in (self.r, self.d))

    @staticmethod
    def frames(side, bit_depth=8):
        """The code values of pictures, as bytes."""
        values = torch.round(side.double().clamp(0, 1) * (2 ** bit_depth - 1)).to(torch.int64).flatten(1).tolist()
        return [struct.pack("<%d%s" % (len(v), "B" if bit_depth == 8 else "H"), *v) for v in values]

    def gradient(self, **options):
        d = self.d.clone().requires_grad_()
        loss = vmafgpu.torch_loss(self.r, d, **options)
        loss.backward()
        return loss.item(), d.grad

    def test_scores(self):
        for bit_depth in (8, 10, 16):
            r, d = self.frames(self.r, bit_depth), self.frames(self.d, bit_depth)
            options = dict(width=128, height=96, chroma="400", bit_depth=bit_depth)
            got = vmafgpu.torch_score(self.r, self.d, bit_depth=bit_depth, is_clip=True)
            self.assertEqual(got.dtype, torch.float64)
            self.assertEqual(bits(got.tolist()), bits(vmafgpu.score(r, d, **options)["vmaf"]))
            got = vmafgpu.torch_score(self.r, self.d, bit_depth=bit_depth)
            single = [vmafgpu.score([a], [b], **options).mean for a, b in zip(r, d)]
            self.assertEqual(bits(got.tolist()), bits(single))
            loss = vmafgpu.torch_loss(self.r, self.d, bit_depth=bit_depth)
            self.assertEqual(bits([loss.item()]), bits([(100 - got.mean()).item()]))
        neg = vmafgpu.torch_score(self.r, self.d, model="vmaf_v0.6.1neg", is_clip=True)
        r, d = self.frames(self.r), self.frames(self.d)
        self.assertEqual(bits(neg.tolist()), bits(vmafgpu.score(r, d, models="vmaf_v0.6.1neg", width=128, height=96,
                                                                chroma="400")["vmaf"]))

    def test_types_and_shapes(self):
        expected = vmafgpu.torch_score(self.r, self.d)
        for kind in (torch.float64, torch.float32):
            self.assertTrue(torch.equal(vmafgpu.torch_score(self.r.to(kind), self.d.to(kind)), expected))
        whole = [torch.round(side * 255).to(torch.uint8) for side in (self.r, self.d)]
        self.assertTrue(torch.equal(vmafgpu.torch_score(*whole), expected))
        self.assertTrue(torch.equal(vmafgpu.torch_score(self.r[:, None], self.d[:, None]), expected))
        self.assertTrue(torch.equal(vmafgpu.torch_score(self.r[2], self.d[2]), expected[2:3]))
        wide = torch.stack([self.r, self.d], -1)
        self.assertTrue(torch.equal(vmafgpu.torch_score(wide[..., 0], wide[..., 1]), expected))
        deep = [torch.round(side.double() * 65535).to(torch.int32).to(torch.int16) for side in (self.r, self.d)]
        expected = vmafgpu.torch_score(self.r, self.d, bit_depth=16)
        self.assertTrue(torch.equal(vmafgpu.torch_score(*deep, bit_depth=16), expected))
        for shape in ((96, 128), (4, 96, 128), (4, 1, 96, 128)):
            for kind in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
                d = self.d[:1 if len(shape) == 2 else 4].reshape(shape).to(kind).requires_grad_()
                vmafgpu.torch_loss(self.r[:1 if len(shape) == 2 else 4].reshape(shape).to(kind), d).backward()
                self.assertEqual((d.grad.shape, d.grad.dtype), (d.shape, kind))
                self.assertGreater(d.grad.abs().max().item(), 0)

    def test_gradient_is_slopes(self):
        """The gradient has the bits of the slopes, times the scale of the code values."""
        for bit_depth in (8, 10):
            _, gradient = self.gradient(bit_depth=bit_depth, is_clip=True)
            r, d = self.frames(self.r, bit_depth), self.frames(self.d, bit_depth)
            with vmafgpu.Scorer(128, 96, chroma="400", bit_depth=bit_depth, slopes=1, max_edit_size=1) as scorer:
                frame = [vmafgpu._T["vmafgpu_frame"](pitch=(128 * (1 if bit_depth == 8 else 2), 0, 0))
                         for _ in range(4)]
                for n in range(4):
                    for f, data in zip(frame, (r[n], d[n], r[max(n - 1, 0)], r[min(n + 1, 3)])):
                        f.data[0] = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p)
                    scorer._check(vmafgpu.lib.vmafgpu_edit_begin(scorer._v, frame[0], frame[1], frame[2] if n else None,
                                                                 frame[3] if n < 3 else None, None))
                    slopes = (ctypes.c_float * (96 * 128))()
                    scorer._check(vmafgpu.lib.vmafgpu_edit_slopes(scorer._v, slopes, 0, 0))
                    expected = torch.tensor(list(slopes)).reshape(96, 128) * (-0.25 * (2 ** bit_depth - 1))
                    self.assertTrue(torch.equal(gradient[n], expected))

    def test_central_differences(self):
        """The loss changes as the gradient says, for a structured change of one code value per sample."""
        for options in ({}, {"is_clip": True}, {"model": "vmaf_v0.6.1neg"}):
            _, gradient = self.gradient(bit_depth=10, **options)
            for change in (self.r - self.d, 0.5 - self.d):
                change = change.clamp(-1 / 1023, 1 / 1023)
                up, down = (vmafgpu.torch_loss(self.r, self.d + sign * change, bit_depth=10, **options).item()
                            for sign in (1, -1))
                predicted = (gradient.double() * change.double()).sum().item()
                self.assertLess(abs((up - down) / 2 - predicted), 0.05 * abs(predicted), (up, down, predicted))

    def test_descent(self):
        """A small step against the gradient lowers the loss; each picture has its own weight."""
        loss, gradient = self.gradient()
        better = vmafgpu.torch_loss(self.r, self.d - gradient.sign() / 255)
        self.assertLess(better.item(), loss - 0.5)
        d, weights = self.d.clone().requires_grad_(), torch.tensor([1.0, 0.0, -2.0, 0.5], dtype=torch.float64)
        (vmafgpu.torch_score(self.r, d) * weights).sum().backward()
        self.assertTrue(torch.equal(d.grad, gradient * (-4 * weights[:, None, None]).float()))

    def test_straight_through(self):
        d = self.d.clone()
        d[:, :8] = 1.25
        clamped, d = d.clamp(0, 1).requires_grad_(), d.requires_grad_()
        for side in (d, clamped):
            vmafgpu.torch_loss(self.r, side).backward()
        self.assertTrue(torch.equal(d.grad, clamped.grad))
        self.assertGreater(d.grad[:, :8].abs().max().item(), 0)

    def test_errors(self):
        r, d = self.r, self.d
        nan = d.clone()
        nan[1, 2, 3] = float("nan")
        for error, words, arguments, options in (
                (ValueError, "must have the shape", (r, d[:2]), {}),
                (ValueError, "must be luma of shape", (r[:3, None].expand(3, 3, 96, 128),) * 2, {}),
                (ValueError, "must be luma of shape", (r[0, 0], d[0, 0]), {}),
                (ValueError, "must be luma of shape", (r[:0], d[:0]), {}),
                (ValueError, "distorted: contains values that are not finite", (r, nan), {}),
                (ValueError, "bit_depth: must be 8 to 16, not 7", (r, d), {"bit_depth": 7}),
                (TypeError, "distorted: must have a floating-point type", (r, d.to(torch.int32)), {}),
                (TypeError, "reference: must have .* int16 or uint16, not torch.uint8", (r.to(torch.uint8), d),
                 {"bit_depth": 10}),
                (TypeError, "device meta is not supported", (r.to("meta"), d.to("meta")), {}),
                (TypeError, "unexpected keyword", (r, d), {"depth": 8}),
                (vmafgpu.Error, "slopes: feature float_adm does not support slopes", (r, d),
                 {"model": "vmaf_float_v0.6.1"}),
                (vmafgpu.Error, "width", (r[:, :9, :9], d[:, :9, :9]), {})):
            with self.assertRaisesRegex(error, words):
                vmafgpu.torch_loss(*arguments, **options)
        with self.assertRaisesRegex(AttributeError, "has no attribute torch_losses"):
            vmafgpu.torch_losses
        with self.assertRaisesRegex(RuntimeError, "does not require grad|differentiate twice"):
            side = d.clone().requires_grad_()
            first, = torch.autograd.grad(vmafgpu.torch_loss(r, side), side, create_graph=True)
            first.sum().backward()

    def test_memory(self):
        """Contexts are reused and their number is limited; steps need no more memory."""
        module = __import__("vmafgpu_torch")
        for n in range(12):
            vmafgpu.torch_score(self.r[:, :64 + n], self.d[:, :64 + n])
        self.assertEqual(len(module._contexts), module._CONTEXTS)
        for _ in range(3):
            self.gradient()
        before = list(module._contexts.values())[-1]
        if not os.path.exists("/proc/self/statm"):
            return
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[1])
        for _ in range(40):
            self.gradient()
        self.assertIs(before, list(module._contexts.values())[-1])
        with open("/proc/self/statm") as file:
            self.assertLess(int(file.read().split()[1]) - pages, 40 * 96 * 128 * 4 * 4 // 4096 // 2)

    def test_short_memory(self):
        """If memory is short, kept contexts are closed, then batches become smaller."""
        module, tried = __import__("vmafgpu_torch"), []

        def context(*arguments, batch):
            tried.append((arguments, batch, len(module._contexts)))
            if len(tried) < works:
                raise vmafgpu.Error(-3, reason)
            return "context"
        reason = "config.backend cuda: device memory: out of memory (1.0 MB required, 0.5 of 2.0 MB free)"
        with unittest.mock.patch.object(module, "_Context", context):
            for batch, works, expected in ((8, 4, [8, 8, 4, 2]), (8, 2, [8, 8]), (1, 9, [1, 1]), (0, 9, [0, 0])):
                module._contexts.clear()
                module._contexts["kept"] = None
                tried.clear()
                if works <= len(expected):
                    self.assertEqual(module._open(batch, "a", 1), "context")
                else:
                    with self.assertRaisesRegex(vmafgpu.Error, "out of memory"):
                        module._open(batch, "a", 1)
                self.assertEqual(tried, [(("a", 1), b, n == 0) for n, b in enumerate(expected)])
            tried.clear()
            reason = "config.backend cuda: no device"
            with self.assertRaisesRegex(vmafgpu.Error, "no device"):
                module._open(8)
            self.assertEqual(len(tried), 1)

    def test_threads(self):
        """Each thread has its own contexts."""
        expected, results = self.gradient(is_clip=True)[1], {}

        def run(n):
            results[n] = [self.gradient(is_clip=True, threads=1)[1] for _ in range(3)]
        threads = [threading.Thread(target=run, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for n in range(3):
            for gradient in results[n]:
                self.assertTrue(torch.equal(gradient, expected))


class Documents(unittest.TestCase):
    """The Python code in README.md and examples/python/README.md runs."""

    def test_first_readme(self):
        with open(os.path.join(TOP, "README.md"), encoding="utf-8") as file:
            code = re.findall(r"^```python\n(.*?)^```", file.read(), flags=re.S | re.M)
        self.assertEqual([len(part.strip().split("\n")) for part in code], [10])
        printed, here = [], os.getcwd()
        sides = [b"".join(clip(seed, 3, 1920 * 1080 * 3 // 2)) for seed in (1, 2)]
        with tempfile.TemporaryDirectory() as folder:
            for name, side in zip(("ref.yuv", "dist.yuv"), sides):
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(side)
            os.chdir(folder)
            try:
                exec(code[0], {"print": lambda *values: printed.append(values)})
            finally:
                os.chdir(here)
        frames = [[side[i:i + len(side) // 3] for i in range(0, len(side), len(side) // 3)] for side in sides]
        result = vmafgpu.score(*frames, width=1920, height=1080, models="vmaf_v0.6.1neg", features="psnr")
        self.assertEqual(printed[-1][:2], (result.mean, result.pool("p5")))
        self.assertEqual(bits(printed[-1][2]), bits(result["vmaf"]))
        for index, score_of, value in printed[:-1]:
            self.assertEqual((score_of, value), (result["vmaf"][index], result["psnr_y"][index]))
        self.assertLessEqual(len(printed), 4)

    def test_readme(self):
        with open(os.path.join(TOP, "examples", "python", "README.md"), encoding="utf-8") as file:
            code = re.findall(r"^```python\n(.*?)^```", file.read(), flags=re.S | re.M)
        self.assertEqual(len(code), 2)
        if torch:
            names = {"reference": torch.full((2, 1, H, W), 0.5), "distorted": torch.rand(2, 1, H, W).requires_grad_()}
            exec(code[1], names)
            self.assertEqual(names["distorted"].grad.shape, (2, 1, H, W))
            self.assertEqual(names["scores"].shape, (2,))
        frame = Array(noise(1, W * H), (H, W))
        side, printed = Array(b"".join(map(luma, clip(1, 3))), (3, H, W)), []
        exec(code[0].replace("1920, 1080", "%d, %d" % (W, H)), {
            "reference": side, "distorted": side, "pairs": [(frame, frame)] * 2,
            "print": lambda *values: printed.append(values)})
        self.assertEqual([len(line) for line in printed], [3, 3])
        self.assertGreater(printed[1][2], 0.999)


class Simulated(unittest.TestCase):
    """Arrays in the memory of a simulated GPU."""

    class Memory:
        """A copy of bytes in GPU memory."""
        def __init__(self, driver, data):
            self.address = driver.copy(data)

    class Driver:
        def __init__(self, name, path):
            self.library, self.name = ctypes.CDLL(path), name
            if name == "cuda":
                context, call = ctypes.c_void_p(), self.library
                assert call.cuInit(0) == 0 and call.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
                assert call.cuCtxSetCurrent(context) == 0
            else:
                assert self.library.hipInit(0) == 0

        def copy(self, data):
            address, size = ctypes.c_uint64(), ctypes.c_size_t(len(data))
            if self.name == "cuda":
                assert self.library.cuMemAlloc_v2(ctypes.byref(address), size) == 0
                assert self.library.cuMemcpyHtoD_v2(address, data, size) == 0
            else:
                assert self.library.hipMalloc(ctypes.byref(address), size) == 0
                assert self.library.hipMemcpyHtoD(address, data, size) == 0
            return address.value

        def read(self, address, size):
            data, source = ctypes.create_string_buffer(size), ctypes.c_uint64(address)
            call = getattr(self.library, "cuMemcpyDtoHAsync_v2" if self.name == "cuda" else "hipMemcpyDtoHAsync")
            wait = getattr(self.library, "cuStreamSynchronize" if self.name == "cuda" else "hipStreamSynchronize")
            assert call(data, source, ctypes.c_size_t(size), None) == 0 and wait(None) == 0
            return data.raw

    class Tensor:
        """What CuPy and Numba have."""
        def __init__(self, address, shape, stream=None):
            self.shape = shape
            self.__cuda_array_interface__ = {"data": (address, False), "shape": shape, "typestr": "|u1",
                                             "strides": None, "version": 3, "stream": stream}

    def gpu(self, name):
        library = {"cuda": "cuda32", "hip": "hip64"}[name]
        path = os.path.join(BUILD, "test", "libsimulated_%s.so" % library)
        kernels = os.path.join(BUILD, "test", {"cuda": "simulated_80.ptx", "hip": "simulated.hsaco"}[name])
        if not os.path.exists(path):
            self.skipTest("%s was not built" % path)
        return self.Driver(name, path), {"driver_path": path, "kernels_path": kernels}

    def compare(self, name, forms):
        driver, gpu = self.gpu(name)
        r, d = clip(1, 5), clip(2, 5)
        expected = score(r, d)
        for form in forms:
            sides = [form(driver, [luma(f) for f in side]) for side in (r, d)]
            got = vmafgpu.score(*sides, width=W, height=H, backend=name, gpu=dict(gpu, frame_memory="device"))
            self.assertEqual((got.backend, len(got)), (name, 5))
            for column in got.columns:
                self.assertEqual(bits(got[column]), bits(expected[column]), column)

    def test_cuda(self):
        self.compare("cuda", (
            lambda driver, frames: self.Tensor(driver.copy(b"".join(frames)), (5, H, W)),
            lambda driver, frames: [self.Tensor(driver.copy(f), (H, W)) for f in frames],
            lambda driver, frames: [Packed(driver.copy(f), (H, W), device=(2, 0)) for f in frames]))

    def test_hip(self):
        self.compare("hip", (
            lambda driver, frames: Packed(driver.copy(b"".join(frames)), (5, H, W), device=(10, 0)),
            lambda driver, frames: [Packed(driver.copy(f), (H, W), device=(10, 0)) for f in frames]))

    def test_host_arrays(self):
        for name in ("cuda", "hip"):
            driver, gpu = self.gpu(name)
            r, d, counts = clip(1, 5), clip(2, 5), []
            with vmafgpu.Scorer(W, H, backend=name, gpu=gpu, on_reusable=counts.append) as scorer:
                for pair in zip(r, d):
                    scorer.push(*pair)
                self.assertEqual(bits(scorer.result()["vmaf"]), bits(score(r, d)["vmaf"]))
            self.assertEqual(counts[-1], 5)

    def test_lifetime(self):
        """A Scorer keeps arrays alive as long as the GPU needs them."""
        driver, gpu = self.gpu("cuda")
        with vmafgpu.Scorer(W, H, backend="cuda", gpu=dict(gpu, frame_memory="device", batch=4)) as scorer:
            tensor = self.Tensor(driver.copy(luma(noise(1, W * H))), (H, W))
            alive = weakref.ref(tensor)
            scorer.push(tensor, tensor)
            del tensor
            gc.collect()
            self.assertIsNotNone(alive())
            scorer.result()
            gc.collect()
            self.assertIsNone(alive())

    def test_streams(self):
        """Frames whose copies are only queued when they are pushed. The simulated GPU copies as late as possible."""
        driver, gpu = self.gpu("cuda")
        call, side = driver.library, ctypes.c_void_p()
        self.assertEqual(call.cuStreamCreate(ctypes.byref(side), 1), 0)
        r, d = clip(1, 5), clip(2, 5)
        expected = bits(score(r, d)["vmaf"])

        def queued(frame, stream):
            address, pinned = ctypes.c_uint64(driver.copy(bytes(W * H))), ctypes.c_void_p()
            self.assertEqual(call.cuMemHostAlloc(ctypes.byref(pinned), ctypes.c_size_t(W * H), 0), 0)
            ctypes.memmove(pinned, frame, W * H)
            self.assertEqual(call.cuMemcpyHtoDAsync_v2(address, pinned, ctypes.c_size_t(W * H), stream), 0)
            return address.value

        shape, handle = (H, W), side.value
        for form, options, named in (
                (lambda f: self.Tensor(queued(f, side), shape, handle), {}, None),
                (lambda f: self.Tensor(queued(f, side), shape), {"stream": handle}, None),
                (lambda f: self.Tensor(queued(f, None), shape), {}, None),
                (lambda f: self.Tensor(queued(f, None), shape, 1), {"stream": side}, None),
                (lambda f: Packed(queued(f, side), shape, device=(2, 0)), {"stream": side}, handle),
                (lambda f: Packed(queued(f, None), shape, device=(2, 0)), {}, 1)):
            for batch in (1, 4):
                with vmafgpu.Scorer(W, H, backend="cuda", gpu=dict(gpu, frame_memory="device", batch=batch),
                                    **options) as scorer:
                    kept = []
                    for pair in zip(r, d):
                        arrays = [form(luma(f)) for f in pair]
                        scorer.push(*arrays)
                        kept += arrays
                    self.assertEqual(bits(scorer.result()["vmaf"]), expected)
                    for array in kept:
                        self.assertEqual(getattr(array, "streams", [named]), [named])
                    scorer.stream_wait(side)
                    scorer.wait()

    def test_rgb(self):
        driver, gpu = self.gpu("cuda")
        pictures = [noise(seed, 3 * W * H) for seed in (5, 6)]
        expected = score([Array(pictures[0], (H, W, 3))], [Array(
            pictures[1], (H, W, 3))], colour=COLOUR, features="psnr")
        forms = [lambda f: self.Tensor(driver.copy(f), (H, W, 3))]
        if "rgb8_planar" in vmafgpu._PIXELS:
            forms.append(lambda f: self.Tensor(driver.copy(b"".join(f[k::3] for k in range(3))), (3, H, W)))
        for form in forms:
            got = vmafgpu.score([form(pictures[0])], [form(pictures[1])], width=W, height=H, backend="cuda",
                                colour=COLOUR, features="psnr", gpu=dict(gpu, frame_memory="device"))
            for column in got.columns:
                self.assertEqual(bits(got[column]), bits(expected[column]), column)

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_torch(self):
        """The context of the PyTorch loss: scores and slopes have the bits of the CPU. The copies of the distorted
        frames are only queued when a step begins."""
        import vmafgpu_torch
        pictures = Torch()
        pictures.setUp()
        # In the clip, motion is that of the next reference, of the previous reference, and of both.
        order = (0, 1, 3, 2, 2, 3)
        for name, bit_depth in (("cuda", 8), ("cuda", 10), ("hip", 8)):
            driver, gpu = self.gpu(name)
            sides = [b"".join(pictures.frames(side[list(order)], bit_depth)) for side in (pictures.r, pictures.d)]
            r, d, stream = driver.copy(sides[0]), driver.copy(bytes(len(sides[1]))), None
            if name == "cuda":
                pinned, size, stream = ctypes.c_void_p(), ctypes.c_size_t(len(sides[1])), ctypes.c_void_p()
                self.assertEqual(driver.library.cuStreamCreate(ctypes.byref(stream), 1), 0)
                self.assertEqual(driver.library.cuMemHostAlloc(ctypes.byref(pinned), size, 0), 0)
                ctypes.memmove(pinned, sides[1], len(sides[1]))
            else:
                d = driver.copy(sides[1])
            for is_clip, batch in ((False, 1), (False, 4), (True, 2)):
                context = vmafgpu_torch._Context((96, 128), (name, 0), bit_depth, "vmaf_v0.6.1", 1, is_clip,
                                                 batch=batch, **gpu)
                for count in (6, 2, 1):
                    side = pictures.d[list(order[:count])].requires_grad_()
                    expected = vmafgpu.torch_score(pictures.r[list(order[:count])], side, bit_depth=bit_depth,
                                                   is_clip=is_clip)
                    expected.sum().backward()
                    slopes = driver.copy(bytes(4 * count * 96 * 128))
                    for _ in range(2):
                        if stream:
                            self.assertEqual(driver.library.cuMemcpyHtoD_v2(ctypes.c_uint64(d), sides[0], size), 0)
                            self.assertEqual(
                                driver.library.cuMemcpyHtoDAsync_v2(ctypes.c_uint64(d), pinned, size, stream), 0)
                        got = context.score(r, d, count, slopes, stream.value if stream else 0)
                        self.assertEqual(bits(got), bits(expected.tolist()), (name, bit_depth, is_clip, count))
                    self.assertEqual(bits(context.score(r, d, count, 0, 0)), bits(got))
                    read = torch.frombuffer(bytearray(driver.read(slopes, 4 * count * 96 * 128)), dtype=torch.float32)
                    self.assertTrue(torch.equal(read.view(side.shape) * (2 ** bit_depth - 1), side.grad),
                                    (name, bit_depth, is_clip, count))


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    for test, why in result.skipped:
        print("skipped: %s (%s)" % (test.id().replace("__main__.", ""), why))
    failed = len(result.failures) + len(result.errors)
    print("%d passed, %d failed, %d skipped" %
          (result.testsRun - failed - len(result.skipped), failed, len(result.skipped)))
    sys.exit(failed != 0)
