r"""Ten convolutions as the tuner finds them, against the peak measured in the same rounds.

    uv run python benchmarks/conv_layers.py [--budget 10s] [--tuner xgb] [--isa avx2] \
        [--precision bfloat16] [--strategies conv2d_direct 'derived/*'] [--layers 0 3]

One thread, warm, tuned from nothing unless `--records` names a file. A round takes each layer in
turn: some launches that warm the caches, then launches, the peak and a tile whose factors come from
the first-level cache in turns, a millisecond or two each. Shares are medians of layer over either,
so that a clock that changes from millisecond to millisecond changes both. The operations are those
of the direct algorithm, padding included.

Where the core is shared with another machine's hyperthread, everything that reads is slowed and
multiply-adds in registers are not. `fastest` is the 95th percentile of the layer's samples over
that of the peak's: what the kernel does whenever nobody disturbs it.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles

from cached_tile import CachedTile
from result_data import Row
from saving import add_save_options, save
from tuned_kernel import TunedKernel, tuned_kernel

from tilewright.host.plugin_host import PluginHost
from tilewright_x86.device.peak import PeakKernel

LAYERS = [
    (64, 56, 64, 3, 1), (128, 28, 128, 3, 1), (256, 14, 256, 3, 1), (512, 7, 512, 3, 1),
    (64, 56, 256, 1, 1), (256, 56, 64, 1, 1), (1024, 14, 256, 1, 1), (512, 7, 2048, 1, 1),
    (3, 224, 64, 7, 2), (128, 56, 128, 3, 2),
]  # fmt: skip
"""(channels, size, filters, kernel, stride)."""
ROUNDS, SAMPLES, WARMING = 10, 5, 10

_MULTIPLYING = {"float32": "conv2d_direct", "bfloat16": "conv2d_*_bf16.x86"}
"""The strategies whose products are of a precision."""


def text_of(channels: int, size: int, filters: int, kernel: int, stride: int) -> str:
    """The task's text form; the padding keeps the size at stride 1."""
    return (
        f"conv2d(1x{channels}x{size}x{size}, {filters}x{channels}x{kernel}x{kernel}, "
        f"strides={stride}, padding={kernel // 2})"
    )


def sampled(
    kernel: TunedKernel, peak: PeakKernel, tile: CachedTile
) -> list[tuple[float, float, float]]:
    """(layer, peak, cached tile) in operations a second, some times in turns."""
    kernel.kernel.time(WARMING)
    return [(kernel.flops(1), peak.flops(), tile.flops()) for _ in range(SAMPLES)]


def at_best(speeds: Sequence[float]) -> float:
    """The 95th percentile; a clock that was set meanwhile makes a sample faster than any can be."""
    return quantiles(speeds, n=20)[-1]


def row_of(layer: tuple[int, ...], samples: Sequence[tuple[float, float, float]]) -> Row:
    """Percent of the peak, with what else was measured."""
    return Row(
        case=", ".join(map(str, layer)),
        ours=100 * median(ours / peak for ours, peak, _ in samples),
        details={
            "of tile %": 100 * median(ours / tile for ours, _, tile in samples),
            "GFLOP/s": median(ours for ours, *_ in samples) / 1e9,
            "peak GFLOP/s": median(peak for _, peak, _ in samples) / 1e9,
        },
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", default="10s", help="tuning time of each layer")
    parser.add_argument("--tuner", default="xgb")
    parser.add_argument("--isa", default="", help="of the code and of the peak; the widest")
    parser.add_argument(
        "--precision", default="float32", choices=("float32", "bfloat16"), help="and its own peak"
    )
    parser.add_argument(
        "--strategies", nargs="+", help="globs, compared; default: what multiplies in the precision"
    )
    parser.add_argument(
        "--layers", nargs="+", type=int, default=range(len(LAYERS)), help="numbers, of all from 0"
    )
    parser.add_argument("--records", type=Path, help="kept there; thrown away where not given")
    add_save_options(parser)
    options = parser.parse_args()
    options.strategies = options.strategies or [_MULTIPLYING[options.precision]]
    layers = [LAYERS[number] for number in options.layers]
    host = PluginHost.load().at_precision(options.precision)
    isa = f"isa={options.isa}," if options.isa else ""
    target = host.resolve_target(f"x86:{isa}threads=1")
    with tempfile.TemporaryDirectory() as folder:
        tuned = {
            (layer, strategies): tuned_kernel(
                host,
                text_of(*layer),
                target=str(target),
                budget=options.budget,
                tuner=options.tuner,
                strategies=strategies,
                precision=options.precision,
                records=options.records or Path(folder) / "records.jsonl",
            )
            for layer in layers
            for strategies in options.strategies
        }
    peak, tile = PeakKernel(target, options.precision), CachedTile(target)
    samples: dict = {key: [] for key in tuned}
    for _ in range(ROUNDS):
        for key, kernel in tuned.items():
            samples[key] += sampled(kernel, peak, tile)
    _, peaks, tiles = zip(*(taken for every in samples.values() for taken in every), strict=True)
    print(
        f"{target}: peak in {options.precision} {median(peaks) / 1e9:.1f} GFLOP/s, "
        f"at most {max(peaks) / 1e9:.1f}; "
        f"with factors from the cache {median(tiles) / 1e9:.1f}\n"
    )
    shares = {key: median(ours / one for ours, one, _ in taken) for key, taken in samples.items()}
    print(
        "| channels, size, filters, kernel, stride | strategies "
        "| of peak | of tile | fastest | GFLOP/s |"
    )
    print("|---|---|---|---|---|---|")
    for key in tuned:
        of_tile = median(ours / one for ours, _, one in samples[key])
        speed = median(ours for ours, *_ in samples[key]) / 1e9
        fastest = at_best([ours for ours, *_ in samples[key]]) / at_best(peaks)
        row = (*key, f"{shares[key]:.1%}", f"{of_tile:.1%}", f"{fastest:.1%}", f"{speed:.0f}")
        print(f"| {' | '.join(map(str, row))} |")
    for strategies in options.strategies:
        reached = [sum(shares[la, strategies] >= goal for la in layers) for goal in (0.9, 0.95)]
        print(f"\n{strategies}: at least 90 and 95 % of peak on {reached} of {len(layers)}")
    first, *others = options.strategies
    for other in others:
        ratios = sorted(shares[layer, other] / shares[layer, first] for layer in layers)
        print(f"\n{other} over {first}: median {median(ratios):.2f}, least {ratios[0]:.2f}")
    save_rows(options, samples, at_best(peaks))


def save_rows(options: argparse.Namespace, samples: dict, peak: float) -> None:
    """The hand-written strategy beside the peak, and derived ones beside it."""
    rows = {key: row_of(key[0], taken) for key, taken in samples.items()}
    if options.precision == "bfloat16":
        save(options, "conv_layers_bfloat16", [*rows.values()])
        return
    by_hand = {layer: row for (layer, by), row in rows.items() if by == "conv2d_direct"}
    derived = [
        Row(case=row.case, ours=rows[layer, "derived/*"].ours, peer=row.ours)
        for layer, row in by_hand.items()
        if (layer, "derived/*") in rows
    ]
    save(options, "derived_layers", derived)
    if options.isa == "avx2":
        save(options, "conv_layers_avx2", [*by_hand.values()])
        return
    save(options, "conv_layers", [*by_hand.values()])
    fastest = [
        Row(
            case=row.case,
            ours=100 * at_best([ours for ours, *_ in samples[layer, "conv2d_direct"]]) / peak,
        )
        for layer, row in by_hand.items()
    ]
    save(options, "conv_layers_fastest", fastest)


if __name__ == "__main__":
    main()
