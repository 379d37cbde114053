"""Tests and measures the PyTorch loss on a real GPU, and on the CPU:

    python3 test/torch_card.py BUILD [SECONDS] [REFERENCE.y4m DISTORTED.y4m]...

Needs PyTorch, the shared library in BUILD (`make shared`) and, for a GPU, the kernels (`make blobs`). Clips have 8
bits; the default is a generated clip. Scores and gradients on a GPU must have the bits of the CPU. The time of a
training step is measured with batches of independent pictures, and with a clip. It does not decide whether the test
passes. DEVICES=cuda omits the CPU.

If vmaf-torch can be imported, its gradients and times are compared with ours. To install it, run
`pip download --no-deps vmaf-torch` and unpack the file to a folder in PYTHONPATH. The gradients of a few samples differ
much: ADM compares the angle between coefficient vectors with one degree, and near this limit, the integer arithmetic of
libvmaf and the floats of vmaf-torch can decide differently. vmaf-torch imports pandas and yuvio but does not need them
for a loss, so they are replaced by empty modules."""
import glob
import importlib.machinery
import os
import statistics
import sys
import time
import types

arguments = sys.argv[1:]
BUILD = os.path.abspath(arguments.pop(0) if arguments else "build")
TURNS = 5
SECONDS = float(arguments.pop(0)) if arguments and not arguments[0].endswith(".y4m") else 3.0
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.environ["VMAFGPU_LIBRARY"] = glob.glob(os.path.join(BUILD, "libvmafgpu.so.*"))[0]
os.environ["VMAFGPU_HEADER"] = os.path.join(TOP, "vmafgpu.h")
sys.path.insert(0, os.path.join(TOP, "examples", "python"))
import torch
import vmafgpu

for module in ("pandas", "yuvio"):
    try:
        __import__(module)
    except ImportError:
        sys.modules[module] = types.ModuleType(module)
        sys.modules[module].__spec__ = importlib.machinery.ModuleSpec(module, None)
try:
    from vmaf_torch import VMAF
except ImportError as error:
    VMAF = None
    print("skipped: comparison with vmaf-torch (%s)" % error)
passed = failed = 0


def check(what, condition):
    global passed, failed
    passed, failed = passed + bool(condition), failed + (not condition)
    print("%s %s" % ("ok    " if condition else "FAILED", what), flush=True)


def read(path, most=8):
    """Returns the luma of the first frames of a y4m file with 8 bits, of type uint8."""
    with open(path, "rb") as file:
        head = file.readline().split()
        tags = {tag[:1]: tag[1:].decode() for tag in head[1:]}
        w, h, chroma, frames = int(tags[b"W"]), int(tags[b"H"]), tags.get(b"C", "420"), []
        if "p1" in chroma:
            raise SystemExit("%s: has more than 8 bits" % path)
        across, down = (w + 1) // 2 if chroma[:3] != "444" else w, (h + 1) // 2 if chroma[:3] == "420" else h
        while len(frames) < most and file.readline():
            frames.append(torch.frombuffer(bytearray(file.read(w * h)), dtype=torch.uint8).reshape(h, w))
            file.seek(0 if chroma.startswith("mono") else 2 * across * down, 1)
    return torch.stack(frames)


def generated(width=1920, height=1080, frames=8):
    """Returns smooth pictures with some texture, and blurred copies of them."""
    source = torch.Generator().manual_seed(1)
    wide = torch.nn.functional.interpolate(torch.rand(1, 1, height // 24, width // 24, generator=source),
                                           size=(height + 3 * frames, width + 3 * frames), mode="bicubic",
                                           align_corners=False)
    wide = (wide + torch.rand(wide.shape, generator=source) / 8).clamp(0, 1)[0, 0]
    r = torch.stack([wide[2 * i:2 * i + height, 3 * i:3 * i + width] for i in range(frames)])
    d = torch.nn.functional.avg_pool2d(r[:, None], 3, 1, 1, count_include_pad=False)[:, 0]
    return [(side * 255).round().to(torch.uint8) for side in (r, d)]


def ours(model, is_clip):
    return lambda r, d: vmafgpu.torch_score(r, d, is_clip=is_clip, model=model)


def step(loss, r, d):
    """Returns the score and the gradient."""
    d = d.clone().requires_grad_()
    score = loss(r, d)
    score.mean().backward()
    return score.detach(), d.grad


def measure(cases):
    """Measures training steps of several losses, in turns. `cases` contains losses, references and distorted pictures.
    Returns the median time of a step in milliseconds for each case."""
    times = [[] for _ in cases]
    for _ in range(TURNS):
        for (loss, r, d), own in zip(cases, times):
            end, steps = time.time() + SECONDS / TURNS, 0
            while steps < 3 or time.time() < end:
                start = time.perf_counter()
                loss(r, d.clone().requires_grad_()).backward()
                if r.is_cuda:
                    torch.cuda.synchronize()
                if steps:       # the first step of a turn fills caches or opens contexts
                    own.append(1e3 * (time.perf_counter() - start))
                steps += 1
    return list(map(statistics.median, times))


def cosine(a, b):
    return torch.nn.functional.cosine_similarity(a.double().flatten(), b.double().flatten(), 0).item()


clips = [(os.path.basename(a), read(a), read(b)) for a, b in zip(arguments[::2], arguments[1::2])]
clips = clips or [("generated, 1080p", *generated())]
devices = os.environ.get("DEVICES", "cpu cuda").split()
if "cuda" in devices and not torch.cuda.is_available():
    print("skipped: GPU (PyTorch finds none)")
    devices.remove("cuda")
for device in devices:
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU, %d threads" % torch.get_num_threads()
    batches = (1, 4, 8) if device == "cuda" else (4,)
    for value in (float("nan"), float("inf")):
        r, d = torch.rand(2, 2, 64, 64, device=device)
        d[1, 63, 63] = value
        try:
            check("%s: %f is refused" % (name, value), vmafgpu.torch_loss(r, d) is None)
        except ValueError as error:
            check("%s: %f: %s" % (name, value, error), str(error) == "distorted: contains values that are not finite")
    for clip, r8, d8 in clips:
        for model in ("vmaf_v0.6.1", "vmaf_v0.6.1neg"):
            what = "%s, %dx%d, %s, %s" % (clip, r8.shape[2], r8.shape[1], model, name)
            r, d = (side[:batches[-1]].to(device).float() / 255 for side in (r8, d8))
            options = dict(models=model, chroma="400", backend="cpu")
            expected = [[vmafgpu.score(a.numpy(), b.numpy(), **options).mean for a, b in zip(r8, d8)],
                        vmafgpu.score(r8[:len(r)].numpy(), d8[:len(r)].numpy(), **options)["vmaf"]]
            try:
                for is_clip in (0, 1):
                    score, gradient = step(ours(model, is_clip), r, d)
                    check("%s: scores%s have the bits of the CPU" % (what, " of the clip" * is_clip),
                          score.tolist() == list(map(float, expected[is_clip][:len(r)])))
                    if device == "cuda":
                        other = step(ours(model, is_clip), r.cpu(), d.cpu())[1]
                        check("%s: gradients%s have the bits of the CPU" % (what, " of the clip" * is_clip),
                              torch.equal(other, gradient.cpu()))
            except vmafgpu.Error as error:
                check("%s: %s" % (what, error), False)
                continue
            theirs = VMAF(NEG=model.endswith("neg")).to(device) if VMAF else None
            for n in batches:
                cases = [(lambda r, d, i=i: vmafgpu.torch_loss(r, d, is_clip=i, model=model), r[:n], d[:n])
                         for i in (0, 1)]
                if theirs:
                    cases.append((lambda r, d: 100 - theirs(r, d).mean(), 255 * r[:n, None], 255 * d[:n, None]))
                single, as_clip, *other = [t / n for t in measure(cases)]
                print("       batch of %d: %.3f ms per picture, as a clip %.3f ms" % (n, single, as_clip), end="")
                print("".join("; vmaf-torch: %.3f ms, %.0f and %.0f times as long" % (t, t / single, t / as_clip)
                              for t in other), flush=True)
            if theirs:
                their_score, their_gradient = step(theirs, 255 * r[:, None], 255 * d[:, None])
                whole = cosine(gradient, their_gradient)
                worst = min(cosine(a, b) for a, b in zip(gradient, their_gradient))
                check("%s: cosine with vmaf-torch is %.6f, %.6f in the worst frame" % (what, whole, worst),
                      whole > (0.999 if arguments else 0.998))    # the generated clip is not a natural one
                print("       vmaf-torch: scores differ by at most %.4f"
                      % (their_score.flatten().double() - score).abs().max(), flush=True)
print("%d passed, %d failed" % (passed, failed))
sys.exit(failed != 0)
