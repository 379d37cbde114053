# Copyright (c) 2026 the vmafgpu authors
# SPDX-License-Identifier: BSD-2-Clause-Patent
# %% [markdown]
# Plots the score of each frame of one or several encodes. Editors such as VS Code, Spyder and Jupyter (with jupytext)
# run this file cell by cell; set the names of the files below. As a script, which writes scores.png:
#
#     python3 plot_scores.py reference.mp4 low.mp4 high.mp4

# %% The files
import os
import sys

import vmafgpu
from compare_folder import compare          # decodes with ffmpeg

reference, *encodes = "reference.mp4", "low.mp4", "high.mp4"
if sys.argv[0].endswith("plot_scores.py") and len(sys.argv) > 2:
    reference, *encodes = sys.argv[1:]

# %% Score them. To score arrays instead of files, call vmafgpu.score(reference_array, encode_array).
results = {}
for encode in encodes:
    try:
        results[encode] = compare(reference, encode, models="vmaf_v0.6.1", threads=4)
    except (ValueError, OSError, vmafgpu.Error) as error:
        print("%s: skipped: %s" % (encode, error))
for encode, result in results.items():
    print("%s: mean %.4f, 5th percentile %.4f" % (encode, result.mean, result.pool("p5")))

# %% Plot the score of each frame, and the mean of each encode as a dashed line
try:
    import matplotlib.pyplot as plt
except ImportError:
    sys.exit("skipped: the plot needs matplotlib; run `pip install matplotlib`")
if not results:
    sys.exit("skipped: there are no scores to plot")
figure, axes = plt.subplots(figsize=(10, 4))
for encode, result in results.items():
    line, = axes.plot(result.indices, result["vmaf"], label="%s (%.2f)" % (os.path.basename(encode), result.mean))
    axes.axhline(result.mean, color=line.get_color(), linestyle="--", linewidth=0.8)
axes.set(xlabel="frame", ylabel="VMAF", title="Scores relative to %s" % os.path.basename(reference))
axes.legend(loc="best")
figure.tight_layout()
if sys.argv[0].endswith("plot_scores.py"):
    figure.savefig("scores.png", dpi=120)
    print("scores.png")
