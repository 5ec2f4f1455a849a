"""Transposed and 3-D convolutions as the tuner finds them, against the peak of the same rounds.

    uv run python benchmarks/further_layers.py [--budget 10s] [--save]

One thread, warm, tuned from nothing; rounds and shares are those of `conv_layers.py`. Operations
are those of the direct algorithm: of transposed ones without the zeros between pixels and what
padding cuts off, of 3-D ones with the zeros of the padding.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median

from cached_tile import CachedTile
from conv_layers import ROUNDS, at_best, sampled
from result_data import Row
from saving import add_save_options, save
from tuned_kernel import tuned_kernel

from tilewright.host.plugin_host import PluginHost
from tilewright_x86.device.peak import PeakKernel

LAYERS = {
    "conv2d_transpose(1x128x56x56, 64x128x2x2, strides=2)": "conv2d_transpose",
    "conv2d_transpose(1x512x16x16, 256x512x4x4, strides=2, padding=1)": "conv2d_transpose",
    "conv2d_transpose(1x256x64x64, 128x256x3x3, strides=2, padding=1, output_padding=1)": (
        "conv2d_transpose"
    ),
    "conv3d(1x64x8x28x28, 64x64x3x3x3, padding=1)": "conv3d_direct",
    "conv3d(1x128x4x14x14, 256x128x3x3x3, padding=1, strides=2)": "conv3d_direct",
    "conv3d(1x256x2x7x7, 512x256x1x1x1)": "conv3d_direct",
}
"""Tasks, and the strategy that is asked: none of Winograd's, which does fewer operations."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--budget", default="10s", help="tuning time of each layer")
    add_save_options(parser)
    options = parser.parse_args()
    host = PluginHost.load()
    target = host.resolve_target("x86:threads=1")
    with tempfile.TemporaryDirectory() as folder:
        tuned = {
            text: tuned_kernel(
                host,
                text,
                target=str(target),
                budget=options.budget,
                strategies=strategy,
                records=Path(folder) / "records.jsonl",
            )
            for text, strategy in LAYERS.items()
        }
    peak, tile = PeakKernel(target), CachedTile(target)
    samples: dict[str, list[tuple[float, float, float]]] = {text: [] for text in tuned}
    for _ in range(ROUNDS):
        for text, kernel in tuned.items():
            samples[text] += sampled(kernel, peak, tile)
    rows = []
    for text, taken in samples.items():
        ours, peaks, _ = zip(*taken, strict=True)
        share = 100 * median(one / most for one, most in zip(ours, peaks, strict=True))
        fastest, speed = 100 * at_best(ours) / at_best(peaks), median(ours) / 1e9
        print(f"| {text} | {share:.1f} % of peak | {fastest:.1f} % | {speed:.0f} GFLOP/s |")
        details: dict[str, float | str] = {"fastest 5 % of samples": fastest, "GFLOP/s": speed}
        rows.append(Row(case=text, ours=share, details=details))
    save(options, "further_layers", rows)


if __name__ == "__main__":
    main()
