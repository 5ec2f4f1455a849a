"""Nine real networks: layouts by fallback, by history and by every graph tuner, side by side.

    uv run python benchmarks/networks.py [--networks squeezenet,alexnet] [--threads 1,2]
        [--tune 45s] [--records FILE] [--tuners greedy,dp] [--peer onnxruntime] [--json FILE]

First the tasks of all networks are tuned together, `--tune` a network and number of threads (`0s`
reuses the records alone). Then each network is compiled with fallback configs, with each kernel's
best record (history), and with each graph tuner's choice; all of these run in turns in one process,
and medians are shown beside the prediction, the sum of what was recorded of every kernel. A tuner's
choice that is predicted slower than history is not taken: `(history)` says so.

Transforms are layout transforms left at run time; the gap is the choice's predicted cost over the
solver's proven bound; the arena stands beside the largest set of tensors alive at once. Configs
that are equal throughout are compiled and timed once. A share of the prediction that rests on no
record is marked with `~`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import result_data
from saving import add_save_options, save

from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright.vocabulary.budget import Budget
from tilewright.vocabulary.task_set import TaskSet, WeightedTask
from tilewright_graph.compiled.compile import CompileReport, compile_network
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_graph.extraction.extraction import ExtractedNetwork, extract
from tilewright_graph.finals.finals_options import FinalsOptions
from tilewright_graph.finals.last_word import last_word
from tilewright_graph.frontends.frontend import frontend_for
from tilewright_graph.network.network import Network
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.passes.graph_pass import apply_passes
from tilewright_graph.selection.dispatching import Best, dispatch_network
from tilewright_graph.selection.graph_tuning import tune_graph
from tilewright_graph.selection.prediction import recorded_seconds
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.context.run_setup import make_context
from tilewright_pipeline.options.budget_text import parse_budget
from tilewright_pipeline.options.tune_options import TuneOptions
from tilewright_pipeline.tuning.loop import measure_incumbents, tune_tasks
from tilewright_tensor.operators.operators import Operators

MODELS = (
    "alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet",
    "squeezenet", "vgg19", "zfnet512",
)  # fmt: skip
ROUNDS, SECONDS = 30, 30.0
"""Turns of each variant, and about what all of them may take for one network."""


@dataclass
class Row:
    """One way to choose a network's configs; milliseconds.

    speedup      over history's, the median of neighbouring runs
    tuning_s     of the network's tasks, where they were tuned by themselves
    measuring_s  of transforms, and of what else a choice is to rest on
    """

    network: str
    threads: int
    configs: str
    predicted_ms: float | None = None
    without_record: float = 0.0
    measured_ms: float = 0.0
    speedup: float = 1.0
    transforms: int = 0
    tuning_s: float | None = None
    measuring_s: float = 0.0
    solver_s: float | None = None
    gap: float | None = None
    kept: str = ""
    arena_bytes: int = 0
    arena_bound_bytes: int = 0


class Bench:
    """One network at one number of threads."""

    def __init__(self, network: Network, extracted: ExtractedNetwork, context: RunContext) -> None:
        self._network = network
        self._extracted = extracted
        self._context = context
        self._compiled: dict[tuple, tuple[CompiledNetwork, CompileReport]] = {}
        self._rows: list[tuple[Row, tuple]] = []

    def tuned(self, name: str) -> None:
        """With the choice of a graph tuner, which is also kept in the records."""
        host = self._context.host
        tuner = host.choose("graph_tuner", Choice(name), host)
        choice = tune_graph(self._extracted, tuner, self._context)
        row = self.untuned(name, "graph")
        row.solver_s, row.gap = choice.solver_seconds, choice.solution.gap
        row.kept, row.measuring_s = choice.kept, choice.measurement["seconds"]

    def last_word(self, seconds: float) -> None:
        """With kernels exchanged while it runs, from the last graph tuner's choice on."""
        told = last_word(self._extracted, self._context, FinalsOptions(seconds=seconds))
        self.untuned("finals", "graph").solver_s = told["seconds"]

    def untuned(self, configs: str, best: Best) -> Row:
        """With the best that is known up to fallback, history or graph choices."""
        context = self._context
        calls = dispatch_network(self._extracted, context, "default", best).assembly.calls
        missing = {
            call.task: None
            for call in calls
            if recorded_seconds(call.task, call.config, context) is None
        }
        if missing:
            measure_incumbents(TaskSet(tuple(map(WeightedTask, missing))), context)
            calls = dispatch_network(self._extracted, context, "default", best).assembly.calls
        key = tuple((call.node, call.config.text) for call in calls)
        if key not in self._compiled:
            self._compiled[key] = compile_network(self._extracted, context, best=best)
        report = self._compiled[key][1]
        row = Row(
            self._network.name,
            context.target.threads,
            configs,
            predicted_ms=report.prediction.seconds * 1e3,
            without_record=report.prediction.share_without_record,
            transforms=report.transforms,
            arena_bytes=report.memory.arena_bytes,
            arena_bound_bytes=report.memory.bound_bytes,
        )
        self._rows.append((row, key))
        return row

    def measure(self, peer: str | None) -> list[Row]:
        """Every variant in turns; the rows, complete."""
        inputs = random_inputs(self._network, 0)
        timers = {key: compiled.time for key, (compiled, _) in self._compiled.items()}
        for compiled, _ in self._compiled.values():
            compiled.run(inputs)
        if peer:
            host, threads = self._context.host, self._context.target.threads
            oracle = host.choose("oracle", Choice(peer), host)
            timers[(peer,)] = oracle.time(self._network.original, inputs, threads)
            self._rows.append((Row(self._network.name, threads, peer), (peer,)))
        samples = _in_turns(timers)
        history = next(samples[key] for row, key in self._rows if row.configs == "history")
        for row, key in self._rows:
            row.measured_ms = median(samples[key]) * 1e3
            row.speedup = median(a / b for a, b in zip(history, samples[key], strict=True))
        for compiled, _ in self._compiled.values():
            compiled.close()
        return [row for row, _ in self._rows]


def _in_turns(timers: dict[tuple, Callable[[], float]]) -> dict[tuple, list[float]]:
    samples: dict[tuple, list[float]] = {key: [] for key in timers}
    start = time.perf_counter()
    for _ in range(ROUNDS):
        for key, timed in timers.items():
            timed()
            samples[key].append(timed())
        if time.perf_counter() - start > SECONDS:
            break
    return samples


def show(rows: Sequence[Row]) -> None:
    print(
        "| network | threads | configs | predicted ms | measured ms | transforms | solver s | gap ",
        end="",
    )
    print("| arena / bound MB |\n|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        mark = "~" if row.without_record > 0 else ""
        predicted = "" if row.predicted_ms is None else f"{mark}{row.predicted_ms:.2f}"
        configs = f"{row.configs} (history)" if row.kept == "history best" else row.configs
        arena = f"{row.arena_bytes / 1e6:.2f} / {row.arena_bound_bytes / 1e6:.2f}"
        solver = "" if row.solver_s is None else f"{row.solver_s:.3f}"
        gap = "" if row.gap is None else f"{row.gap:.2%}"
        print(
            f"| {row.network} | {row.threads} | {configs} | {predicted} | {row.measured_ms:.2f} "
            f"| {row.transforms} | {solver} | {gap} | {arena if row.arena_bytes else ''} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--networks", default=",".join(MODELS))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--tune", type=parse_budget, default=Budget(seconds=45.0))
    parser.add_argument(
        "--records", type=Path, default=Path("runs/benchmark-networks/records.jsonl")
    )
    parser.add_argument("--tuners", help="default: all that are installed, save `exhaustive`")
    parser.add_argument("--scheduler", default="gradient")
    parser.add_argument("--peer", help="an oracle that is timed beside them")
    parser.add_argument("--json", type=Path)
    add_save_options(parser)
    options = parser.parse_args()
    host = PluginHost.load()
    operators = Operators.of(host)
    tuners = [name for name in host.components("graph_tuner") if name != "exhaustive"]
    tuners = options.tuners.split(",") if options.tuners else tuners
    networks = [read(name, host) for name in options.networks.split(",")]
    rows: list[Row] = []
    for threads in map(int, options.threads.split(",")):
        context = make_context(
            host,
            name="networks",
            folder=options.records.parent,
            target=f"x86:threads={threads}",
            records=options.records,
        )
        passes = host.hook_values("tilewright_graph_passes")
        extracted = [
            extract(apply_passes(network, passes, operators), context.target, operators)
            for network in networks
        ]
        if options.tune.seconds:
            tasks = TaskSet.merged(weighted for one in extracted for weighted in one.task_set())
            budget = Budget(seconds=options.tune.seconds * len(networks))
            scheduler = Choice(options.scheduler)
            tune_tasks(
                tasks, context, TuneOptions(tuner=Choice("xgb"), scheduler=scheduler, budget=budget)
            )
        for network, one in zip(networks, extracted, strict=True):
            bench = Bench(network, one, context)
            bench.untuned("fallback", "fallback")
            bench.untuned("history", "history")
            for tuner in tuners:
                bench.tuned(tuner)
            rows += bench.measure(options.peer)
            show(rows[-len(tuners) - 2 - bool(options.peer) :])
    show(rows)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1), "utf-8")
    save(options, "networks", saved(rows), packages=["onnxruntime"] if options.peer else [])


def saved(rows: Sequence[Row]) -> list[result_data.Row]:
    """The fastest of the graph tuners' choices beside history's, a row a network and threads."""
    cases: dict[tuple[str, int], dict[str, Row]] = {}
    for row in rows:
        cases.setdefault((row.network, row.threads), {})[row.configs] = row
    found = []
    for (network, threads), by in cases.items():
        tuned = [row for name, row in by.items() if row.solver_s is not None]
        if not tuned:
            continue
        ours, history = min(tuned, key=lambda row: row.measured_ms), by["history"]
        details: dict[str, float | str] = {
            "tuner": ours.configs,
            "predicted ms": ours.predicted_ms or 0.0,
            "transforms": ours.transforms,
            "history's transforms": history.transforms,
            "arena bytes": ours.arena_bytes,
            "least arena bytes": ours.arena_bound_bytes,
        }
        others = {name for name in by if name == "fallback" or by[name].predicted_ms is None}
        details |= {f"{name} ms": by[name].measured_ms for name in others}
        case = f"{network}, {threads} thread{'s' * (threads > 1)}"
        found.append(
            result_data.Row(
                case=case,
                ours=ours.measured_ms,
                peer=history.measured_ms,
                speedup=ours.speedup,
                details=details,
            )
        )
    return found


def read(name: str, host: PluginHost) -> Network:
    model = model_name(name)
    frontend = host.choose("frontend", Choice(frontend_for(model, host)), host)
    network: Network = frontend.read(model, {}, 0)
    return network


def model_name(name: str) -> str:
    """A light model of the onnx package, or what a name with a prefix or a path says."""
    return name if ":" in name else f"onnx-light:{name}"


if __name__ == "__main__":
    main()
