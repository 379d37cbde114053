# Copyright (c) 2026 the vmafgpu authors
# SPDX-License-Identifier: BSD-2-Clause-Patent
"""Scores all videos in a folder against a reference and prints a table. ffmpeg decodes the videos.

    python3 compare_folder.py reference.mp4 encodes --csv scores.csv --html report.html

The encodes must have the size, format, frame rate and number of frames of the reference. If a file cannot be scored,
its row shows the reason, and the exit status is 1. The HTML report is the one that `vmafgpu --html` writes, but
without pictures."""
import argparse
import base64
import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from array import array
from ast import literal_eval
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

import vmafgpu

# ---- videos ----
class Video:
    """The frames of a video file as bytes objects, decoded by ffmpeg. Use it in a `with` statement."""
    def __init__(self, path: str) -> None:
        self._messages = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            ["ffmpeg", "-v", "error", "-nostdin", "-i", "file:" + path, "-f", "yuv4mpegpipe", "-strict", "-1", "-"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._messages)
        assert self._process.stdout
        self._pipe = self._process.stdout
        try:
            self._read_header()
        except BaseException:
            self.close()
            raise
    def _read_header(self) -> None:
        words = self._pipe.readline().decode("ascii", "replace").split()
        if words[:1] != ["YUV4MPEG2"]:
            raise ValueError(self._message() or "ffmpeg wrote no video")
        fields = {word[0]: word[1:] for word in words[1:] if word[0] != "X"}
        chroma = re.match(r"(420|422|444|mono)(?:p?(\d+))?(?:jpeg|mpeg2|paldv)?$", fields.get("C", "420"))
        if not chroma:
            raise ValueError("the format %s is not supported" % fields["C"])
        width, height = int(fields["W"]), int(fields["H"])
        depth, layout = int(chroma[2] or 8), chroma[1].replace("mono", "400")
        # For vmafgpu.Scorer
        self.config: Dict[str, Any] = {"width": width, "height": height, "chroma": layout, "bit_depth": depth}
        self.format = {"width": width, "height": height, "chroma format": layout, "bit depth": depth,
                       "frame rate": fields["F"],
                       "colour range": "full" if "XCOLORRANGE=FULL" in words else "limited"}
        across, down = int(layout in ("420", "422")), int(layout == "420")
        samples = width * height
        if layout != "400":
            samples += 2 * ((width + across) >> across) * ((height + down) >> down)
        self._size = samples * (2 if depth > 8 else 1)
    def read(self) -> Optional[bytes]:
        """Returns the next frame, or None at the end."""
        header = self._pipe.readline()
        frame = self._pipe.read(self._size) if header else b""
        if header and (header[:5] != b"FRAME" or len(frame) < self._size):
            raise ValueError(self._message() or "ffmpeg wrote an incomplete frame")
        if not header and self._process.wait():
            raise ValueError(self._message() or "ffmpeg failed with status %d" % self._process.returncode)
        return frame or None
    def _message(self) -> str:
        """Ends ffmpeg and returns its first message."""
        self._pipe.close()
        self._process.wait()
        self._messages.seek(0)
        line = self._messages.read().decode("utf-8", "replace").strip().split("\n")[0]
        return "ffmpeg: " + re.sub(r"^\[.*? @ 0x\w+\] ", "", line)[:120] if line else ""
    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._pipe.close()
        self._messages.close()
    def __enter__(self) -> "Video":
        return self
    def __exit__(self, *exception: Any) -> None:
        self.close()

def compare(reference: str, distorted: str, on_frame: Callable[[int], None] = lambda frames: None,
            **options: Any) -> vmafgpu.Result:
    """Scores a video file. `options` are those of vmafgpu.Scorer. on_frame(frames) is called after each frame."""
    with Video(reference) as ref, Video(distorted) as dist:
        for name, value in dist.format.items():
            if value != ref.format[name]:
                raise ValueError("the %s is %s, but %s in the reference" % (name, value, ref.format[name]))
        with vmafgpu.Scorer(**{**ref.config, **options}) as scorer:
            frames = 0
            while True:
                r, d = ref.read(), dist.read()
                if r is None or d is None:
                    break
                scorer.push(r, d)
                frames += 1
                on_frame(frames)
            if r is not None or d is not None:
                name = "reference" if r is None else "encode"
                raise ValueError("the %s is shorter: it has %d frames" % (name, frames))
            if not frames:
                raise ValueError("there are no frames")
            return scorer.result()

class Row(NamedTuple):
    """A row of the table. `result` is None if `error` explains why the file has no scores."""
    name: str
    size: int                     # of the file in bytes
    result: Optional[vmafgpu.Result]
    error: str

def compare_all(reference: str, files: List[str], **options: Any) -> Iterator[Row]:
    """Yields the row of each file when it has been scored. Shows the progress if standard error is a terminal."""
    total = 0                     # number of frames of the reference, known after the first file
    for index, path in enumerate(files):
        name, result, error = os.path.basename(path), None, ""
        def show(frames: int) -> None:
            done = (index + (frames / total if total else 0)) / len(files)
            if sys.stderr.isatty() and (frames % 8 == 0 or frames == total):
                sys.stderr.write("\r\x1b[K[%-20s] file %d of %d, frame %d: %.40s"
                                 % ("#" * int(20 * done), index + 1, len(files), frames, name))
                sys.stderr.flush()
        try:
            result = compare(reference, path, show, **options)
            total = len(result)
        except (ValueError, OSError, vmafgpu.Error) as problem:
            error = str(problem)
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
        yield Row(name, os.path.getsize(path) if os.path.exists(path) else 0, result, error)

# ---- reports ----
POOLS = ("mean", "harmonic_mean", "p5", "min")
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tool", "html_page.h")

def rate_of(form: Dict[str, Any]) -> float:
    numerator, denominator = map(float, form["frame rate"].split(":"))
    return numerator / denominator if denominator else 0

def bitrate(row: Row, rate: float) -> float:
    """Returns the bit rate of the file, with all its streams, in kbit/s."""
    return row.size * 8 * rate / len(row.result) / 1000 if row.result else 0

def write_csv(path: str, rows: List[Row], rate: float) -> None:
    """Writes pooled values of the first model and the means of the other columns, with all digits."""
    first = next((row.result for row in rows if row.result), None)
    columns = [c for c in first.columns if c not in first.models[:1]] if first else []
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["file", "bytes", "kbit_per_s", "frames", *POOLS, *columns, "error"])
        for row in rows:
            r, values = row.result, [""] * (2 + len(POOLS) + len(columns))  # type: Any, List[Any]
            if r:
                values = [bitrate(row, rate), len(r), *map(r.pool, POOLS), *(r.pool("mean", c) for c in columns)]
            out.writerow([row.name, row.size, *values, row.error])

def page_video(row: Row, rate: float, videos: int) -> Dict[str, Any]:
    """Returns the data of a video for the HTML report; examples/tool/html.c writes the same data."""
    def floats(values: List[float]) -> str:
        numbers = array("f", values)
        if sys.byteorder == "big":
            numbers.byteswap()
        return base64.b64encode(numbers.tobytes()).decode()
    def groups(values: List[float], every: int) -> List[List[float]]:
        return [values[i:i + every] for i in range(0, len(values), every)]
    r: Any = row.result
    scores, count, series, bins, worst = list(r[r.models[0]]), len(r), [], [0] * 50, []  # type: Any, int, Any, Any, Any
    for score in scores:
        bins[max(0, min(49, int(score / 2)))] += 1
    for unit, seconds in (("second", 1), ("10 seconds", 10), ("minute", 60), ("10 minutes", 600), ("hour", 3600)):
        per_bar = max(1, int(rate * seconds + 0.5))
        if count // per_bar <= 1500:
            break
    every = 1 + count * len(r.columns) * videos // (1 << 19)      # frames per point, so that the page stays small
    for column in r.columns:
        parts = groups(list(r[column]), every)
        series.append({"every": every, "low": floats([min(part) for part in parts])})
        if every > 1:
            series[-1]["high"] = floats([max(part) for part in parts])
    apart = min(250, max(5, count // 40))
    for i in sorted(range(count), key=scores.__getitem__):
        if len(worst) < max(1, 6 // videos) and all(abs(i - other) >= apart for other in worst):
            worst.append(i)
    keys = ("mean", "harmonic_mean", "min", "max", "p1", "p5", "p10", "median")
    return {
        "name": row.name, "rows": count, "scored": count,
        "pooled": [{key: r.pool(key, column) for key in keys} for column in r.columns],
        "above": [[mark, sum(score >= mark for score in scores) / count] for mark in (95, 90, 80, 70, 60)],
        "histogram": {"low": 0, "high": 100, "counts": bins},
        "bars": {"name": unit, "rows": per_bar, "values": floats([sum(g) / len(g) for g in groups(scores, per_bar)])},
        "shots": [], "series": series,
        "worst": [{"frame": i, "score": scores[i], "pictures": []} for i in worst]}

def write_page(path: str, rows: List[Row], reference: str, form: Dict[str, Any], models: List[str],
               seconds: float) -> None:
    """Writes the HTML report. The page without its data comes from examples/tool/html_page.h."""
    with open(PAGE, encoding="utf-8") as file:
        parts = re.findall(r"html_page_(?:head|tail)\[\] = \{\n(.*?)^\};", file.read(), flags=re.S | re.M)
    head, tail = ["".join(map(literal_eval, re.findall(r'^ *(".*"),?$', part, flags=re.M))) for part in parts]
    scored = [row for row in rows if row.result]
    result: Any = scored[0].result
    files = [("Reference", reference, os.path.getsize(reference))] + [("Distorted", r.name, r.size) for r in scored]
    data = {
        "version": vmafgpu.lib.vmafgpu_version_string().decode(), "libvmaf": "3.2.0",
        "command": " ".join(map(shlex.quote, sys.argv)), "backend": "%s (%s)" % (result.backend, result.device),
        "reference": os.path.basename(reference), "width": form["width"], "height": form["height"], "step": 1,
        "fps": sum(len(row.result or ()) for row in scored) / seconds, "models": models, "columns": result.columns,
        "rate": [int(number) for number in form["frame rate"].split(":")],
        "notes": ["%s: %s" % (row.name, row.error) for row in rows if row.error],
        "scores": [result.columns.index(name) for name in result.models],
        "inputs": [{"what": what, "name": name, "size": size} for what, name, size in files],
        "videos": [page_video(row, rate_of(form), len(scored)) for row in scored]}
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    with open(path, "w", encoding="utf-8") as file:      # JSON has no infinities
        file.write(head + re.sub(r"(?<=[:,\[])(NaN|-?Infinity)(?=[,\]}])", "null", text) + "\n" + tail)

# ---- the command ----
def parse() -> Tuple[argparse.Namespace, List[str], Dict[str, Any]]:
    """Returns the arguments, the files to score and the format of the reference. Exits if the arguments are wrong."""
    parser = argparse.ArgumentParser(description="Scores all videos in a folder against a reference.")
    parser.add_argument("reference")
    parser.add_argument("folder")
    parser.add_argument("--model", action="append", help="a built-in model or a .json file; default: vmaf_v0.6.1")
    parser.add_argument("--feature", action="append", help="also computes a feature, such as psnr or float_ssim")
    parser.add_argument("--csv", metavar="FILE", help="writes the table with all columns and digits")
    parser.add_argument("--html", metavar="FILE", help="writes a report with curves")
    parser.add_argument("--threads", type=int, default=min(16, os.cpu_count() or 1))
    parser.add_argument("--backend", default="auto", help="auto (default), cpu, cuda or hip")
    args = parser.parse_args()
    args.model = args.model or ["vmaf_v0.6.1"]
    if shutil.which("ffmpeg") is None:
        parser.error("ffmpeg was not found; install it, or add its folder to PATH")
    if args.html and not os.path.isfile(PAGE):
        parser.error("--html: the file %s was not found" % PAGE)
    for path in filter(None, (args.csv, args.html)):
        if not os.path.isdir(os.path.dirname(path) or "."):
            parser.error("%s: the folder does not exist" % path)
    try:
        with Video(args.reference) as video:
            form, config = video.format, video.config
    except (ValueError, OSError) as error:
        parser.error("%s: %s" % (args.reference, error))
    try:
        vmafgpu.Scorer(models=args.model, features=args.feature, threads=args.threads, backend=args.backend,
                       **config).close()
        own = [args.reference] + [path for path in (args.csv, args.html) if path and os.path.exists(path)]
        files = [os.path.join(args.folder, name) for name in sorted(os.listdir(args.folder)) if name[:1] != "."]
        files = [f for f in files if not os.path.isdir(f) and not any(
            os.path.exists(f) and os.path.samefile(f, other) for other in own)]
    except (ValueError, OSError, vmafgpu.Error) as error:
        parser.error(str(error))
    if not files:
        parser.error("%s: contains no files to score" % args.folder)
    return args, files, form

def main() -> int:
    args, files, form = parse()
    width = max(len(os.path.basename(f)) for f in files + ["file"])
    rows: List[Row] = []
    start = time.perf_counter()
    print("%-*s %7s %9s %9s %13s %9s %9s" % (width, "file", "frames", "kbit/s", *POOLS))
    for row in compare_all(args.reference, files, models=args.model, features=args.feature, threads=args.threads,
                           backend=args.backend):
        rows.append(row)
        text = row.error
        if row.result:
            pools = [row.result.pool(how) for how in POOLS]
            text = "%7d %9.1f %9.4f %13.4f %9.4f %9.4f" % (len(row.result), bitrate(row, rate_of(form)), *pools)
        print("%-*s %s" % (width, row.name, text), flush=True)
    try:
        if args.csv:
            write_csv(args.csv, rows, rate_of(form))
        if args.html and any(row.result for row in rows):
            write_page(args.html, rows, args.reference, form, args.model, time.perf_counter() - start)
    except OSError as error:
        sys.exit("compare_folder.py: %s" % error)
    return int(any(row.error for row in rows))

if __name__ == "__main__":
    sys.exit(main())
