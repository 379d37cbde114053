#!/usr/bin/env python3
"""Measures the BD-rates of the modes of x264_vmaf against plain x264 with the same preset: the mean change of the bit
rate at equal VMAF, NEG, v1, SSIM and PSNR, in percent. Negative numbers mean fewer bits.

    test/x264_bd.py BUILD CLIP.y4m...

Each clip is encoded with four CRFs. The curves of log(rate) by score are interpolated with monotone cubics (PCHIP) and
compared over the scores that both curves contain; "none" means that there are no such scores.

For --target, the clips, which must have the same size, are joined. Each clip becomes a segment. Plain x264 uses one CRF
for all segments. The targets are the lowest percentile 5 of a segment for each of the four CRFs.
"""
import concurrent.futures
import math
import os
import re
import subprocess
import sys
import tempfile

CRFS = [24, 29, 34, 39]
METRICS = ["vmaf", "neg", "v1", "ssim", "psnr"]
MODES = {
    "--slopes": ["--slopes"],
    "--slopes --bound 3": ["--slopes", "--bound", "3"],
    "--slopes, model NEG": ["--slopes", "--model", "vmaf_v0.6.1neg"],
    "--map": ["--map"],
    "--slopes --map, model NEG": ["--slopes", "--map", "--model", "vmaf_v0.6.1neg"],
}


def encode(program, arguments):
    """Runs x264_vmaf and returns what it prints: rate, encodes, scores, and the lowest percentile of a segment."""
    out = subprocess.run([program, *arguments], check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
    last = out.splitlines()[-1]
    point = {name: float(value) for name, value in re.findall(r"([a-z0-9]+) (-?[0-9.]+)(?:,|$)", last.split(": ")[1])}
    point["rate"] = float(re.search(r"([0-9.]+) kbit/s", last).group(1))
    point["encodes"] = int(re.search(r"([0-9]+) encodes?:", last).group(1))
    point["worst"] = min(float(value) for value in re.findall(r"percentile \S+ is (-?[0-9.]+)", out))
    point["ssim"] = -10 * math.log10(1 - point["ssim"])
    return point


def slopes_of(x, y):
    """Returns the slopes of the monotone cubic through the points (Fritsch and Butland)."""
    h = [b - a for a, b in zip(x, x[1:])]
    d = [(b - a) / w for a, b, w in zip(y, y[1:], h)]

    def end(h0, h1, d0, d1):
        slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
        if slope * d0 <= 0:
            return 0
        return 3 * d0 if d0 * d1 <= 0 and abs(slope) > 3 * abs(d0) else slope

    inner = []
    for h0, h1, d0, d1 in zip(h, h[1:], d, d[1:]):
        u, v = 2 * h1 + h0, h1 + 2 * h0
        inner.append(0 if d0 * d1 <= 0 else (u + v) / (u / d0 + v / d1))
    return [end(h[0], h[1], d[0], d[1]), *inner, end(h[-1], h[-2], d[-1], d[-2])]


def value_at(x, y, slopes, at):
    i = max(k for k in range(len(x) - 1) if k == 0 or x[k] <= at)
    h = x[i + 1] - x[i]
    t = (at - x[i]) / h
    return ((1 + 2 * t) * (1 - t) ** 2 * y[i] + t * (1 - t) ** 2 * h * slopes[i] + t * t * (3 - 2 * t) * y[i + 1]
            + t * t * (t - 1) * h * slopes[i + 1])


def bd_rate(plain, other, metric):
    """Returns the mean change of the rate at equal score, in percent, or None if the curves share no scores."""
    curves = []
    for points in (plain, other):
        pairs = sorted((point[metric], math.log(point["rate"])) for point in points)
        if any(b[0] - a[0] < 1e-6 for a, b in zip(pairs, pairs[1:])):
            return None
        x, y = zip(*pairs)
        curves.append((x, y, slopes_of(x, y)))
    low, high = max(c[0][0] for c in curves), min(c[0][-1] for c in curves)
    if not low < high:
        return None
    grid = [low + (high - low) * (i + 0.5) / 400 for i in range(400)]
    change = sum(value_at(*curves[1], at) - value_at(*curves[0], at) for at in grid) / len(grid)
    return 100 * (math.exp(change) - 1)


def points_of(program, commands):
    """Encodes with several lists of arguments, as many at once as there are processors."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda arguments: encode(program, arguments), commands))


def text(value):
    return "none" if value is None else "%+.1f" % value


def measure_modes(program, clips):
    print("| clip | mode | %s |\n| --- | --- |%s" % (" | ".join(METRICS), " --- |" * len(METRICS)))
    all_values = {mode: [] for mode in MODES}
    for clip in clips:
        name = os.path.basename(clip).replace(".y4m", "")
        plain = points_of(program, [["--crf", str(crf), clip] for crf in CRFS])
        print("| %s | plain, kbit/s: %s; VMAF: %s |" % (name, ", ".join("%.0f" % p["rate"] for p in plain),
                                                        ", ".join("%.1f" % p["vmaf"] for p in plain)))
        for mode, options in MODES.items():
            coded = points_of(program, [["--crf", str(crf), *options, clip] for crf in CRFS])
            values = [bd_rate(plain, coded, metric) for metric in METRICS]
            all_values[mode].append(values)
            print("| %s | %s | %s |" % (name, mode, " | ".join(map(text, values))), flush=True)
    for mode, rows in all_values.items():
        means = [None if None in column else sum(column) / len(column) for column in zip(*rows)]
        print("| mean | %s | %s |" % (mode, " | ".join(map(text, means))))


def join(clips, path):
    """Writes a clip that contains the frames of all clips. Returns the number of frames of the shortest clip."""
    counts = set()
    with open(path, "wb") as out:
        for clip in clips:
            with open(clip, "rb") as file:
                header, frames = file.readline(), file.read()
            size = [int(re.search(rb" %c([0-9]+)" % letter, header).group(1)) for letter in b"WH"]
            counts.add((*size, len(frames) // (6 + size[0] * size[1] * 3 // 2)))
            out.write((b"" if out.tell() else header) + frames)
    if len(counts) > 1:
        sys.exit("x264_bd.py: the clips differ in size or length")
    return counts.pop()[2]


def measure_target(program, clips):
    metrics = ["worst", *METRICS]
    with tempfile.TemporaryDirectory() as folder:
        joined = os.path.join(folder, "joined.y4m")
        arguments = ["--segment", str(join(clips, joined)), joined]
        plain = points_of(program, [["--crf", str(crf), *arguments] for crf in CRFS])
        coded = points_of(program, [["--target", "%.3f" % (p["worst"] - 0.0005), *arguments] for p in plain])
    print("\n| target | rate of plain x264, kbit/s | rate with --target | encodes per segment |")
    print("| --- | --- | --- | --- |")
    for p, c in zip(plain, coded):
        print("| %.3f | %.1f | %.1f | %.1f |" % (p["worst"], p["rate"], c["rate"], c["encodes"] / len(clips)))
    print("\n| BD-rate | %s |\n| --- |%s" % (" | ".join(metrics), " --- |" * len(metrics)))
    print("| --target | %s |" % " | ".join(text(bd_rate(plain, coded, metric)) for metric in metrics))


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: test/x264_bd.py BUILD CLIP.y4m...")
    program, clips = sys.argv[1] + "/x264_vmaf", sys.argv[2:]
    measure_target(program, clips)
    measure_modes(program, clips)


if __name__ == "__main__":
    main()
