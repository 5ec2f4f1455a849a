"""A size of a range beside the network compiled for that very size.

    uv run python benchmarks/ranges.py [--models mlp,tokens] [--effort 1] [--save]

Of each model one network is compiled for the ranges of its dimensions and, for some sizes of them,
one for each size alone, all by the same effort and `graph-tune`, on one thread. Then these run in
turns: what the network takes, and what a call of `run` does, which copies arrays too. Told are the
mean over the sizes of the range's time over that of the very size, and the worst.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from range_models import CASES, Case
from result_data import Row
from saving import add_save_options, save

import tilewright
from tilewright_graph.compiled.bucketed_network import BucketedNetwork
from tilewright_graph.ranges.dimensions import Sizes
from tilewright_pipeline.pipeline import Pipeline

ROUNDS = 15
TARGET = "x86:threads=1"
_RECORDS = "records.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", default=",".join(CASES), help=f"some of {', '.join(CASES)}")
    parser.add_argument("--effort", type=int, default=1)
    add_save_options(parser)
    options = parser.parse_args()
    rows = []
    print("| model | network: mean | worst | `run`: mean | worst | sizes | code kB |")
    print("|---|---|---|---|---|---|---|")
    for name in options.models.split(","):
        row = compared(name, CASES[name](), options.effort)
        figures = " | ".join(f"{figure:g}" for figure in (row.ours, *row.details.values()))
        print(f"| {row.case} | {figures} |", flush=True)
        rows.append(row)
    save(options, "ranges", rows)
    worst = [Row(case=row.case, ours=row.details["worst"]) for row in rows]
    save(options, "ranges_worst", worst)


def compared(name: str, case: Case, effort: int) -> Row:
    """Means and worst ratios over the sizes of a case."""
    with TemporaryDirectory() as folder:
        model = Path(folder) / f"{name}.onnx"
        model.write_bytes(case.model.SerializeToString())
        ranged = made(model, case.ranges, effort, Path(folder) / "range")
        ratios = {}
        for sizes in case.sizes:
            dims = dict(zip(case.ranges, map(str, sizes), strict=True))
            very = made(model, dims, effort, Path(folder) / "-".join(dims.values()))
            ratios[sizes] = of_size(ranged, very, sizes)
            print(f"  {ranged.dimensions.sizes_text(sizes)}: {ratios[sizes]}", flush=True)
            very.close()
        network, runs = zip(*ratios.values(), strict=True)
        told = ", ".join(f"{one}={sizes}" for one, sizes in case.ranges.items())
        details = {
            "worst": max(network),
            "run_mean": round(fmean(runs), 3),
            "run_worst": max(runs),
            "sizes": len(ratios),
            "code_kb": round(sum(map(code_kb, ranged.networks.values()))),
        }
        return Row(
            case=f"{name}, {told}, effort {effort}", ours=round(fmean(network), 3), details=details
        )


def made(model: Path, dims: dict[str, str], effort: int, folder: Path) -> Any:
    """The network of these sizes, tuned by so much effort."""
    records = folder / _RECORDS
    folder.mkdir()
    records.touch()
    if effort:
        stages = [{"import": {"model": str(model), "dims": dims}}, {"extract": {}}]
        tuned = [{"tune": {"effort": effort}}, {"graph-tune": {}}]
        told = {"version": 1, "stages": [*stages, *tuned]}
        file = folder.with_suffix(".yaml")
        file.write_text(json.dumps(told))
        Pipeline.load(file, settings=[f"records={records}"], target=TARGET).run(out=folder)
    return tilewright.compile({"model": model, "dims": dims}, target=TARGET, records=records)


def of_size(ranged: BucketedNetwork, very: Any, sizes: Sizes) -> tuple[float, float]:
    """Ratios of one size, of the networks and of `run`: medians of turns."""
    rng = np.random.default_rng(0)
    arrays = {
        name: rng.standard_normal(spec.shape).astype(spec.dtype)
        for name, spec in ranged.specs(sizes).items()
    }
    for answer, other in zip(ranged.run(arrays).values(), very.run(arrays).values(), strict=True):
        np.testing.assert_allclose(answer, other, rtol=1e-3, atol=1e-4)
    parts = list(parts_of(ranged, sizes))
    each: list[Callable[[], float]] = [
        lambda: sum(ranged.networks[bucket].time(rows) for bucket, rows in parts),
        very.time,
        lambda: called(ranged, arrays),
        lambda: called(very, arrays),
    ]
    times = np.array([[steady(one) for one in each] for _ in range(ROUNDS)])
    ratios = np.median(times[:, ::2] / times[:, 1::2], axis=0)
    return round(float(ratios[0]), 3), round(float(ratios[1]), 3)


def parts_of(ranged: BucketedNetwork, sizes: Sizes) -> Iterator[tuple[Sizes, Sizes]]:
    """The buckets that sizes run as, and the sizes that each computes."""
    along = ranged.dimensions.along
    left = sizes[along]
    for bucket in ranged.runs_as(sizes):
        rows = min(left, bucket[along])
        yield bucket, (*sizes[:along], rows, *sizes[along + 1 :])
        left -= rows


def steady(once: Callable[[], float]) -> float:
    """The median of five runs, after one that finds in the caches what other networks read."""
    once()
    return median(once() for _ in range(5))


def called(network: Any, arrays: dict[str, Any]) -> float:
    start = time.perf_counter()
    network.run(arrays)
    return time.perf_counter() - start


def code_kb(network: Any) -> float:
    artifact, *_ = network.parts()
    return len(artifact.data) / 1024


if __name__ == "__main__":
    main()
