r"""Ten convolutions as the tuner finds them, against the FMA peak measured in the same rounds.

    uv run python benchmarks/conv_layers.py [--budget 20s] [--tuner evolutionary] \
        [--strategies conv2d_direct 'derived/*'] [--layers 0 3]

One thread, warm. Every round times the peak, then each layer; a share is the median over rounds of
layer over peak.
"""

from __future__ import annotations

import argparse
from statistics import median

from tuned_kernel import tuned_kernel

from tilewright.host import PluginHost

LAYERS = [
    (64, 56, 64, 3, 1), (128, 28, 128, 3, 1), (256, 14, 256, 3, 1), (512, 7, 512, 3, 1),
    (64, 56, 256, 1, 1), (256, 56, 64, 1, 1), (1024, 14, 256, 1, 1), (512, 7, 2048, 1, 1),
    (3, 224, 64, 7, 2), (128, 56, 128, 3, 2),
]  # fmt: skip
"""(channels, size, filters, kernel, stride)."""
ROUNDS = 15


def text_of(channels: int, size: int, filters: int, kernel: int, stride: int) -> str:
    """The task's text form; the padding keeps the size at stride 1."""
    return (
        f"conv2d(1x{channels}x{size}x{size}, {filters}x{channels}x{kernel}x{kernel}, "
        f"strides={stride}, padding={kernel // 2})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", default="20s", help="tuning time of each layer")
    parser.add_argument("--tuner", default="xgb")
    parser.add_argument(
        "--strategies", nargs="+", default=["conv2d_direct"], help="globs, compared"
    )
    parser.add_argument(
        "--layers", nargs="+", type=int, default=range(len(LAYERS)), help="numbers, of all from 0"
    )
    parser.add_argument("--records", default="runs/conv_layers/records.jsonl")
    options = parser.parse_args()
    layers = [LAYERS[number] for number in options.layers]
    host = PluginHost.load()
    backend = host.backend("x86")
    device = backend.probe()[0]
    tuned = {
        (layer, strategies): tuned_kernel(
            host,
            text_of(*layer),
            budget=options.budget,
            tuner=options.tuner,
            strategies=strategies,
            records=options.records,
        )
        for layer in layers
        for strategies in options.strategies
    }
    peaks: list[float] = []
    shares: dict = {key: [] for key in tuned}
    for _ in range(ROUNDS):
        peaks.append(backend.measure_peak(device, 1)[0])
        for key, kernel in tuned.items():
            shares[key].append(kernel.flops() / peaks[-1])
    print(f"FMA peak: {median(peaks) / 1e9:.1f} GFLOP/s (median of {ROUNDS})\n")
    print("| channels, size, filters, kernel, stride | strategies | share | GFLOP/s | found |")
    print("|---|---|---|---|---|")
    for (layer, strategies), kernel in tuned.items():
        share = median(shares[layer, strategies])
        values = kernel.found.config.to_json()["values"]
        text = " ".join([kernel.found.config.strategy, *(f"{k}={v}" for k, v in values.items())])
        print(
            f"| {layer} | {strategies} | {share:.1%} | {share * median(peaks) / 1e9:.0f} | {text} |"
        )
    for strategies in options.strategies:
        reached = sum(median(shares[layer, strategies]) >= 0.9 for layer in layers)
        print(f"\n{strategies}: at least 90 % of peak on {reached} of {len(layers)}")
    first, *others = options.strategies
    for other in others:
        ratios = sorted(median(shares[la, other]) / median(shares[la, first]) for la in layers)
        print(f"\n{other} over {first}: median {median(ratios):.2f}, least {ratios[0]:.2f}")


if __name__ == "__main__":
    main()
