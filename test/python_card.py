"""Tests and measures examples/python/vmafgpu.py on a real GPU: python3 test/python_card.py BUILD [SECONDS]

Needs the CUDA driver, and the shared library and the kernels in BUILD (`make shared blobs`). No packages are needed:
arrays are memory of the driver with __cuda_array_interface__. If PyTorch, CuPy or JAX is installed, its arrays are
tested, too. All columns must be equal to those of the CPU. Also prints pairs per second, unless SECONDS is 0; these
figures do not decide whether the test passes."""
import array
import ctypes
import glob
import importlib
import os
import random
import sys
import time

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 3.0
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.environ["VMAFGPU_LIBRARY"] = glob.glob(os.path.join(BUILD, "libvmafgpu.so.*"))[0]
os.environ["VMAFGPU_HEADER"] = os.path.join(TOP, "vmafgpu.h")
sys.path.insert(0, os.path.join(TOP, "examples", "python"))
import vmafgpu

cuda = ctypes.CDLL("libcuda.so.1")
passed = failed = 0


def check(what, condition):
    global passed, failed
    passed, failed = passed + bool(condition), failed + (not condition)
    print("%s %s" % ("ok    " if condition else "FAILED", what), flush=True)


def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    if result:
        raise SystemExit("%s: error %d" % (name, result))


def allocate(size):
    address = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
    return address


def upload(data):
    address = allocate(len(data))
    call("cuMemcpyHtoD_v2", address, data, ctypes.c_size_t(len(data)))
    return address.value


class Tensor:
    def __init__(self, address, shape, stream=None):
        self.shape = shape
        self.__cuda_array_interface__ = {"data": (address, False), "shape": shape, "typestr": "|u1", "strides": None,
                                         "version": 3, "stream": stream}


def same(a, b):
    return a.columns == b.columns and all(
        bytes(array.array("d", a[c])) == bytes(array.array("d", b[c])) for c in a.columns)


def pictures(width, height, count, seed):
    source = random.Random(seed)
    base = source.getrandbits(8 * (width * height + count)).to_bytes(width * height + count, "little")
    table = bytes(i * 5 // 6 + 20 for i in range(256))
    return [base[i:i + width * height].translate(table if seed % 2 else None) for i in range(count)]


def rate(run, pairs):
    """Returns pairs per second: the best of some runs."""
    best, end = 0.0, time.time() + SECONDS
    while time.time() < end or not best:
        start = time.perf_counter()
        run()
        best = max(best, pairs / (time.perf_counter() - start))
    return best


context, side = ctypes.c_void_p(), ctypes.c_void_p()
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
call("cuStreamCreate", ctypes.byref(side), 1)
frameworks = {}
for module in ("torch", "cupy", "jax"):
    try:
        frameworks[module] = importlib.import_module(module)
    except ImportError:
        print("skipped: %s (it is not installed)" % module)

W, H, COUNT = 576, 324, 12
r, d = pictures(W, H, COUNT, 1), pictures(W, H, COUNT, 2)
expected = vmafgpu.score(r, d, width=W, height=H, chroma="400", backend="cpu", threads=4)
clips = [Tensor(upload(b"".join(side_)), (COUNT, H, W)) for side_ in (r, d)]
gpu = {"backend": "cuda", "gpu": {"frame_memory": "device"}}
got = vmafgpu.score(*clips, chroma="400")
print(got)
check("a clip in GPU memory", got.backend == "cuda" and same(got, expected))
got = vmafgpu.score(*[[Tensor(upload(f), (H, W)) for f in side_] for side_ in (r, d)], chroma="400")
check("frames in GPU memory", got.backend == "cuda" and same(got, expected))
got = vmafgpu.score(r, d, width=W, height=H, chroma="400", backend="cuda")
check("frames in host memory", same(got, expected))
import_name = {"torch": lambda t, data: t.frombuffer(bytearray(data), dtype=t.uint8).reshape(COUNT, H, W).cuda(),
               "cupy": lambda c, data: c.frombuffer(data, c.uint8).reshape(COUNT, H, W),
               "jax": lambda j, data: j.numpy.frombuffer(data, j.numpy.uint8).reshape(COUNT, H, W)}
for name, module in frameworks.items():
    tensors = [import_name[name](module, b"".join(side_)) for side_ in (r, d)]
    check("a clip of %s" % name, same(vmafgpu.score(*tensors, chroma="400"), expected))
    check("frames of %s" % name, same(vmafgpu.score(*map(list, tensors), chroma="400"), expected))

# Planar and interleaved RGB
pixels = [random.Random(seed).getrandbits(24 * W * H).to_bytes(3 * W * H, "little") for seed in (1, 2)]
colour = {"colour": {"matrix": "bt709", "range": "limited", "siting": "left"}, "features": "psnr"}
rgb = vmafgpu.score(*[[memoryview(f).cast("B", (H, W, 3))] for f in pixels], width=W, height=H, backend="cpu", **colour)
planar = [Tensor(upload(b"".join(f[k::3] for k in range(3))), (3, H, W)) for f in pixels]
packed = [Tensor(upload(f), (H, W, 3)) for f in pixels]
for name, tensors in (("planar", planar), ("packed", packed)):
    got = vmafgpu.score(*[[t] for t in tensors], width=W, height=H, **colour)
    check("%s RGB in GPU memory" % name, got.backend == "cuda" and same(got, rgb))

# Frames that are filled by work that is only queued when they are pushed: a long memset, then the copy
LONG, wrong = 1 << (28 if SECONDS else 12), 0
delay, pinned = allocate(LONG), ctypes.c_void_p()
call("cuMemHostAlloc", ctypes.byref(pinned), ctypes.c_size_t(2 * COUNT * W * H), 0)
ctypes.memmove(pinned, b"".join(r + d), 2 * COUNT * W * H)
for run in range(20):
    stream = (side.value, None)[run % 2]
    target = upload(bytes(2 * COUNT * W * H))
    with vmafgpu.Scorer(W, H, chroma="400", **gpu) as scorer:
        for i in range(COUNT):
            call("cuMemsetD8Async", delay, ctypes.c_ubyte(run), ctypes.c_size_t(LONG), ctypes.c_void_p(stream))
            for k in (i, COUNT + i):
                call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(target + k * W * H),
                     ctypes.c_void_p(pinned.value + k * W * H), ctypes.c_size_t(W * H), ctypes.c_void_p(stream))
            scorer.push(*[Tensor(target + k * W * H, (H, W), stream) for k in (i, COUNT + i)])
        wrong += not same(scorer.result(), expected)
    call("cuMemFree_v2", ctypes.c_uint64(target))
check("queued work on a side stream and the default stream: %d of 20 runs wrong" % wrong, wrong == 0)

# Speed
for w, h, count in ((1920, 1080, 96), (576, 324, 768)) if SECONDS else ():
    sides = [Tensor(upload(b"".join((pictures(w, h, 12, seed) * (count // 12)))), (count, h, w)) for seed in (1, 2)]
    frames = [[Tensor(s.__cuda_array_interface__["data"][0] + i * w * h, (h, w)) for i in range(count)] for s in sides]
    with vmafgpu.Scorer(w, h, chroma="400", **gpu) as scorer:
        def by_clip():
            scorer.reset()
            for _ in range(8):
                scorer.clip(*sides)
            scorer.result()

        def by_frame():
            scorer.reset()
            for _ in range(4):
                for pair in zip(*frames):
                    scorer.push(*pair)
            scorer.result()

        print("%dx%d, %s: %.0f pairs/s by clip, %.0f frame by frame" % (
            w, h, scorer.device, rate(by_clip, 8 * count), rate(by_frame, 4 * count)), flush=True)
print("%d passed, %d failed, %d skipped" % (passed, failed, 3 - len(frameworks)))
sys.exit(failed != 0)
