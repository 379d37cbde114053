#!/usr/bin/env python3
"""Measures the BD-rates of the modes of x264_vmaf against plain x264: the mean change of the bit rate at equal VMAF,
NEG, v1, SSIM and PSNR, in percent. Negative numbers mean fewer bits.

    test/x264_bd.py BUILD CLIP.y4m...

Each clip is encoded with four CRFs. The curves of log(rate) by score are interpolated with monotone cubics (PCHIP) and
compared over the scores that both curves contain; "none" means that there are no such scores. The script prints one table
for each mode, and the progress to standard error. For --target, the script encodes a clip in segments of 48 frames,
with four targets and with four CRFs, and compares the rates at equal percentile of the worst segment.
"""
import math
import re
import subprocess
import sys

CRFS = [24, 29, 34, 39]
TARGETS = [93, 87, 79, 69]
METRICS = ["vmaf", "neg", "v1", "ssim", "psnr"]
MODES = {
    "slopes, bound 1": ["--slopes", "--bound", "1"],
    "slopes, bound 3": ["--slopes", "--bound", "3"],
    "slopes of neg, bound 1": ["--slopes", "--bound", "1", "--model", "vmaf_v0.6.1neg"],
    "slopes of neg, bound 3": ["--slopes", "--bound", "3", "--model", "vmaf_v0.6.1neg"],
    "map": ["--map"],
    "map of neg": ["--map", "--model", "vmaf_v0.6.1neg"],
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


def row(name, values):
    print("| %s | %s |" % (name, " | ".join("none" if value is None else "%+.1f" % value for value in values)))


def table(title, names):
    print("\n| %s | %s |\n| --- |%s" % (title, " | ".join(names), " --- |" * len(names)))


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: test/x264_bd.py BUILD CLIP.y4m...")
    program, clips = sys.argv[1] + "/x264_vmaf", sys.argv[2:]
    results = {mode: [] for mode in MODES}
    targets = []
    for clip in clips:
        name = clip.split("/")[-1].replace(".y4m", "")
        plain = [encode(program, ["--crf", str(crf), clip]) for crf in CRFS]
        print("%s: rates %s, vmaf %s" % (name, [p["rate"] for p in plain], [p["vmaf"] for p in plain]), file=sys.stderr)
        if plain[0]["worst"] <= 0 or sum(1 for _ in open(clip, "rb")) == 0:
            sys.exit(name + ": unusable")
        for mode, options in MODES.items():
            coded = [encode(program, ["--crf", str(crf), *options, clip]) for crf in CRFS]
            results[mode].append((name, [bd_rate(plain, coded, metric) for metric in METRICS]))
            print(name, mode, results[mode][-1][1], file=sys.stderr)
    for mode, rows in results.items():
        table(mode, METRICS)
        for name, values in rows:
            row(name, values)
        columns = list(zip(*(values for _, values in rows)))
        row("mean", [None if None in column else sum(column) / len(column) for column in columns])
    print(targets)


if __name__ == "__main__":
    main()
