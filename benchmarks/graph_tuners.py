"""Graph tuners on networks of 1000 kernels with 20 candidates each, costs drawn from measured ones.

    uv run python benchmarks/graph_tuners.py [--nodes 1000] [--candidates 20] [--json FILE]

Shapes: `chain`; `residual`, blocks of three convolutions whose last adds the block's input;
`dense`, in whose blocks every concatenation reads all layers before it (blocks as DenseNet-121).

A convolution is one of those in `data/layout_candidates.json`, whose seconds by layouts were
measured; a signature that was not measured for it costs its cheapest times a ratio measured for
that signature elsewhere, and all are spread by 1 %, as repeated measurements are. A concatenation
moves its bytes. Between two kernels stands the transform of the producer's output where the
layouts differ, by a line fitted to the transforms measured.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np
from result_data import Row
from saving import add_save_options, save

from tilewright.host.plugin_host import PluginHost
from tilewright_graph.selection.graph_problem import GraphProblem

DATA = Path(__file__).parent / "data" / "layout_candidates.json"
LAYOUTS = ("NCHW", "NHWC", "NCHW16c", "NCHW32c", "NCHW64c")
DENSE_BLOCKS = (6, 12, 24, 16)
SPREAD = 0.01
ABOVE = {"pbqp, choice": 0.1}
SECONDS = {"pbqp, choice": 2.0, "exact": 60.0, "chain: dp": 1.0}
"""Goals, by tuner or case."""


class Network:
    """A problem under construction: nodes with seconds by (layout read, layout written)."""

    def __init__(self, seed: int, candidates: int, transform_scale: float = 1.0) -> None:
        data = json.loads(DATA.read_text(encoding="utf-8"))
        self._random = random.Random(seed)
        self._candidates = candidates
        self._tasks = [_Measured(task) for task in data["tasks"]]
        self._ratios: dict[str, list[float]] = defaultdict(list)
        for task in self._tasks:
            for pair, seconds in task.seconds.items():
                self._ratios[pair].append(seconds / task.cheapest)
        transforms = np.array([(t["bytes"], t["seconds"]) for t in data["transforms"]])
        moved, seconds = transforms.T
        fit = np.polyfit(moved, seconds, 1, w=1 / seconds)  # relative errors count
        self._slope, self._launch = transform_scale * float(fit[0]), transform_scale * float(fit[1])
        self._costs: list[tuple[float, ...]] = []
        self._layouts: list[tuple[tuple[str, str], ...]] = []
        self._bytes: list[int] = []
        self._edges: dict[tuple[int, int], tuple[tuple[float, ...], ...]] = {}

    def convolution(self, source: int | None, residual: int | None = None) -> int:
        """A node that reads `source`; `residual` is read in the layout that it writes."""
        task = self._random.choice(self._tasks)
        cost = {
            (read, written): task.seconds.get(f"{read}>{written}")
            or task.cheapest * self._ratio(f"{read}>{written}")
            for read in LAYOUTS
            for written in LAYOUTS
        }
        node = self._node(cost, task.bytes)
        for producer, side in ((source, 0), (residual, 1)):
            if producer is not None:
                self._edge(producer, node, side)
        return node

    def concatenation(self, sources: list[int]) -> int:
        """A node that reads all of `sources` in one layout."""
        size = sum(self._bytes[source] for source in sources)
        moved = self._launch + 2 * size * self._slope
        cost = {
            (read, written): moved * (1 if read == written else self._ratio(f"{read}>{written}"))
            for read in LAYOUTS
            for written in LAYOUTS
        }
        node = self._node(cost, size)
        for source in sources:
            self._edge(source, node, 0)
        return node

    def problem(self) -> GraphProblem:
        return GraphProblem(tuple(self._costs), self._edges)

    def __len__(self) -> int:
        return len(self._costs)

    def _ratio(self, pair: str) -> float:
        everywhere = [ratio for ratios in self._ratios.values() for ratio in ratios]
        return self._random.choice(self._ratios.get(pair) or everywhere)

    def _node(self, cost: dict[tuple[str, str], float], size: int) -> int:
        pairs = sorted(self._random.sample(sorted(cost), min(self._candidates, len(cost))))
        spread = (self._random.gauss(1, SPREAD) for _ in pairs)
        self._costs.append(tuple(cost[pair] * s for pair, s in zip(pairs, spread, strict=True)))
        self._layouts.append(tuple(pairs))
        self._bytes.append(size)
        return len(self._costs) - 1

    def _edge(self, producer: int, consumer: int, side: int) -> None:
        seconds = self._launch + self._bytes[producer] * self._slope
        self._edges[producer, consumer] = tuple(
            tuple(0.0 if written == pair[side] else seconds for pair in self._layouts[consumer])
            for _, written in self._layouts[producer]
        )


class _Measured:
    """A convolution of the data file: seconds by `read>written`, bytes of its output."""

    def __init__(self, task: dict) -> None:
        self.seconds: dict[str, float] = {}
        for signature, seconds in task["seconds"].items():
            inputs, written = signature.split(">")
            pair = f"{inputs.split('+')[0]}>{written}"
            self.seconds[pair] = min(seconds, self.seconds.get(pair, seconds))
        self.cheapest = min(self.seconds.values())
        height, width = task["inputs"][0][2:]
        stride = math.prod(task["strides"])
        self.bytes = 4 * task["filters"][0] * height * width // stride


def chain(network: Network, nodes: int) -> None:
    last = network.convolution(None)
    while len(network) < nodes:
        last = network.convolution(last)


def residual(network: Network, nodes: int) -> None:
    trunk = network.convolution(None)
    while len(network) < nodes:
        inner = network.convolution(network.convolution(trunk))
        trunk = network.convolution(inner, residual=trunk)


def dense(network: Network, nodes: int) -> None:
    last, stage = network.convolution(None), 0
    while len(network) < nodes:
        layers = [last]
        for _ in range(DENSE_BLOCKS[stage % len(DENSE_BLOCKS)]):
            joined = network.concatenation(layers) if len(layers) > 1 else last
            layers.append(network.convolution(network.convolution(joined)))
        last, stage = network.convolution(network.concatenation(layers)), stage + 1


SHAPES = {"chain": chain, "residual": residual, "dense": dense}


def build(
    shape: str, nodes: int, candidates: int, seed: int, transform_scale: float = 1.0
) -> GraphProblem:
    network = Network(seed, candidates, transform_scale)
    SHAPES[shape](network, nodes)
    return network.problem()


@dataclass(frozen=True)
class Solved:
    """What a tuner gave for a problem; `above_best` is relative to the exact tuner's cost."""

    shape: str
    nodes: int
    edges: int
    seed: int
    tuner: str
    seconds: float
    cost_ms: float
    above_best: float | None
    gap: float | None
    optimal: bool
    note: str

    def line(self) -> str:
        above, gap = (
            "" if share is None else f"{share * 100:.4f} %" for share in (self.above_best, self.gap)
        )
        return (
            f"| {self.shape} | {self.nodes} | {self.edges} | {self.seed} | {self.tuner} "
            f"| {self.seconds:.2f} | {self.cost_ms:.3f} | {above} | {gap} | {self.note} |"
        )


TUNERS = {
    "exact": ("exact", {}),
    "dp": ("dp", {}),
    "pbqp, choice": ("pbqp", {"bound_sweeps": 0}),
    "pbqp, choice and bound": ("pbqp", {}),
    "greedy": ("greedy", {}),
}


def measure(problem: GraphProblem, shape: str, seed: int, repeats: int) -> Iterator[Solved]:
    """One for each tuner: seconds are the least of some repeats (exact runs once)."""
    host = PluginHost.load()
    best = None
    for label, (name, options) in TUNERS.items():
        tuner = host.make("graph_tuner", name, options, host)
        seconds = math.inf
        for _ in range(1 if name == "exact" else repeats):
            start = time.perf_counter()
            found = tuner.solve(problem)
            seconds = min(seconds, time.perf_counter() - start)
        if name == "exact" and found.optimal:
            best = found.cost
        yield Solved(
            shape,
            len(problem.costs),
            len(problem.edges),
            seed,
            label,
            seconds,
            found.cost * 1e3,
            None if best is None else max(0.0, found.cost / best - 1),
            found.gap,
            found.optimal,
            found.note,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--candidates", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--transform-scale", type=float, default=1.0, help="times the measured price of transforms"
    )
    parser.add_argument("--shapes", nargs="+", choices=sorted(SHAPES), default=list(SHAPES))
    parser.add_argument("--json", type=Path, help="write all rows to this file")
    add_save_options(parser)
    options = parser.parse_args()
    rows: list[Solved] = []
    print("| shape | nodes | edges | seed | tuner | s | cost ms | above best | gap | note |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for shape in options.shapes:
        for seed in range(options.seeds):
            problem = build(shape, options.nodes, options.candidates, seed, options.transform_scale)
            for row in measure(problem, shape, seed, options.repeats):
                rows.append(row)
                print(row.line(), flush=True)
    if options.json:
        options.json.write_text(json.dumps([*map(asdict, rows)], indent=2) + "\n", "utf-8")
    save_rows(options, rows)


def save_rows(options: argparse.Namespace, rows: list[Solved]) -> None:
    """Cost and time of each tuner on each shape: medians over seeds."""
    scale = options.transform_scale
    dearer = "" if scale == 1 else f", transforms {scale:g} times dearer"
    above: dict[str, list[float]] = defaultdict(list)
    seconds: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        case = f"{row.shape}{dearer}: {row.tuner}"
        seconds[case].append(row.seconds)
        if row.above_best is not None:
            above[case].append(100 * row.above_best)
    save(options, "graph_tuners", [row_of(case, values, ABOVE) for case, values in above.items()])
    times = [row_of(case, values, SECONDS) for case, values in seconds.items()]
    save(options, "graph_tuners_time", times)


def row_of(case: str, values: list[float], goals: dict[str, float]) -> Row:
    _, _, tuner = case.partition(": ")
    return Row(case=case, ours=median(values), goal=goals.get(case, goals.get(tuner)))


if __name__ == "__main__":
    main()
