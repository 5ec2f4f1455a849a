r"""3x3 convolutions by Winograd's algorithm beside direct ones, filters warm and cold.

    uv run python benchmarks/winograd.py [--budget 10s] [--isa avx2] [--threads 2] \
        [--layers 0 3] [--constants warm cold] [--records FILE]

Both are tuned from nothing unless `--records` names a file, under the conditions of their row. Then
they take turns, a few milliseconds each; `faster` is the median of the ratios. Cold filters have
copies that take turns and fill the last-level cache twice, so that every launch reads others.
Errors are the largest, of random inputs, by the largest answer of float64.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from result_data import Row
from saving import add_save_options, save
from tuned_kernel import TunedKernel, tuned_kernel

from tilewright.host.plugin_host import PluginHost

LAYERS = [
    (64, 56, 2.6), (128, 28, 2.84), (256, 14, 2.28), (512, 7, 1.33), (64, 224, 2.32),
    (128, 112, 2.79), (256, 56, 2.98), (512, 28, 2.65), (512, 14, 1.78),
]  # fmt: skip
"""(channels and filters, size, goal when warm: 80 % of what feasibility prototypes gained)."""
COLD_GOALS = {(256, 14): 1.48, (512, 7): 1.01, (512, 14): 1.61, (512, 28): 2.57}
STRATEGIES = "conv2d_direct.x86", "conv2d_winograd.x86"
ROUNDS, TURN_SECONDS = 21, 4e-3
CACHE_BYTES = 64 << 20
"""More than twice the last-level cache of a core of today's servers, or what it gets of it."""


def text_of(channels: int, size: int) -> str:
    """The task's text form."""
    return f"conv2d(1x{channels}x{size}x{size}, {channels}x{channels}x3x3, padding=1)"


def in_turns(kernels: Sequence[TunedKernel]) -> list[list[float]]:
    """Seconds of a launch of each, round by round."""
    launches = [max(1, round(TURN_SECONDS / (one.kernel.time(2) / 2))) for one in kernels]
    return [
        [one.kernel.time(number) / number for one, number in zip(kernels, launches, strict=True)]
        for _ in range(ROUNDS)
    ]


def exact(data: Any, weight: Any) -> Any:
    """The convolution in float64, padded by one: tap by tap, a product of matrices each."""
    _, channels, height, width = data.shape
    padded = np.pad(data[0].astype(np.float64), ((0, 0), (1, 1), (1, 1)))
    total = np.zeros((len(weight), height * width))
    for i in range(3):
        for j in range(3):
            pixels = padded[:, i : i + height, j : j + width].reshape(channels, -1)
            total += weight[:, :, i, j].astype(np.float64) @ pixels
    return total.reshape(1, -1, height, width)


def error(kernel: TunedKernel, wanted: Any) -> float:
    """Largest difference by the largest value."""
    return float(np.abs(kernel.answer() - wanted).max() / np.abs(wanted).max())


def row_of(
    case: str, seconds: Sequence[Sequence[float]], goal: float | None, errors: Sequence[float]
) -> Row:
    """Winograd's milliseconds beside the direct convolution's."""
    direct, ours = (1e3 * median(one) for one in zip(*seconds, strict=True))
    return Row(
        case=case,
        ours=ours,
        peer=direct,
        speedup=median(peer / own for peer, own in seconds),
        goal=goal,
        details={"error": errors[1], "error of the direct one": errors[0]},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", default="10s", help="tuning time of each kernel")
    parser.add_argument("--isa", default="", help="of the code; the widest")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--layers", nargs="+", type=int, default=range(len(LAYERS)), help="numbers, of all from 0"
    )
    parser.add_argument(
        "--constants", nargs="+", choices=("warm", "cold"), default=["warm", "cold"]
    )
    parser.add_argument("--records", type=Path, help="kept there; thrown away where not given")
    add_save_options(parser)
    options = parser.parse_args()
    host = PluginHost.load()
    isa = f"isa={options.isa}," if options.isa else ""
    target = str(host.resolve_target(f"x86:{isa}threads={options.threads}"))
    heads = "channels, size, filters", "config", "direct ms", "ms", "faster", "goal"
    print(f"{target}\n\n| {' | '.join(heads)} | error | direct |")
    print("|---|---|---|---|---|---|---|---|")
    rows: list[Row] = []
    for number in options.layers:
        channels, size, goal = LAYERS[number]
        for constants in options.constants:
            cold = constants == "cold"
            filter_bytes = 9 * channels * channels * 4
            with tempfile.TemporaryDirectory() as folder:
                kernels = [
                    tuned_kernel(
                        host,
                        text_of(channels, size),
                        target=target,
                        constants=constants,
                        copies=CACHE_BYTES // filter_bytes + 2 if cold else 1,
                        budget=options.budget,
                        strategies=strategy,
                        records=options.records or Path(folder) / "records.jsonl",
                    )
                    for strategy in STRATEGIES
                ]
            wanted = exact(*kernels[0].inputs)
            errors = [error(kernel, wanted) for kernel in kernels]
            goals = COLD_GOALS if cold else {(channels, size): goal}
            row = row_of(
                f"{channels}, {size}, {constants}",
                in_turns(kernels),
                goals.get((channels, size)),
                errors,
            )
            rows.append(row)
            config = kernels[1].found.config
            values = " ".join(f"{key}={value}" for key, value in config.values.items())
            print(
                f"| {row.case} | {config.strategy.partition('/')[2]} {values} "
                f"| {row.peer:.3f} | {row.ours:.3f} | {row.speedup:.2f} | {row.goal or ''} "
                f"| {errors[1]:.1e} | {errors[0]:.1e} |",
                flush=True,
            )
            for kernel in kernels:
                kernel.kernel.close()
    save(options, "winograd", rows)


if __name__ == "__main__":
    main()
