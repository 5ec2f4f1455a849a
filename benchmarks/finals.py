"""Four networks before and after the last word inside them, ten runs each.

    uv run python benchmarks/finals.py [--networks onnx-light:resnet50,...] [--threads 2]
        [--tune 30s] [--runs 10] [--seconds 10] [--folder DIR] [--save]

Each network is tuned once, and its layouts are chosen. Each run begins with a copy of those
records, lets the running network choose among its kernels' best (`finals`), and times the network
of before and the one of after in turns: the median of the ratios, with the interval in which it
lies with 95 %. Where nothing wins the network is the one of before, and there is nothing to time.
"""

from __future__ import annotations

import argparse
import shutil
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import result_data
from networks import read
from saving import add_save_options, save

from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright.vocabulary.budget import Budget
from tilewright_graph.compiled.compile import compile_network
from tilewright_graph.extraction.extraction import ExtractedNetwork, extract
from tilewright_graph.finals.finals_options import FinalsOptions
from tilewright_graph.finals.last_word import last_word
from tilewright_graph.finals.median_interval import MedianInterval
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.passes.graph_pass import apply_passes
from tilewright_graph.selection.graph_tuning import tune_graph
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.context.run_setup import make_context
from tilewright_pipeline.options.budget_text import parse_budget
from tilewright_pipeline.options.tune_options import TuneOptions
from tilewright_pipeline.tuning.loop import tune_tasks
from tilewright_tensor.operators.operators import Operators

NETWORKS = "onnx-light:resnet50,onnx-light:inception_v2,onnx-light:densenet121,zoo:mobilenet_v2"
PAIRS, CONFIDENCE = 80, 0.95


@dataclass(frozen=True)
class Ended:
    """A run of the last word: times as fast as before, and the kernels that it exchanged.

    swaps   kernels exchanged a second of the contest, the network's runs included
    """

    network: str
    number: int
    kept: int
    swaps: float
    before_ms: float
    after_ms: float
    ratio: MedianInterval

    @property
    def row(self) -> result_data.Row:
        interval = {"low": self.ratio.low, "high": self.ratio.high}
        details = {"kept": self.kept, "swaps a second": self.swaps, **interval}
        case = f"{self.network}, run {self.number}"
        return result_data.Row(
            case=case,
            ours=self.after_ms,
            peer=self.before_ms,
            speedup=self.ratio.median,
            details=details,
        )


def prepared(
    extracted: ExtractedNetwork, context: RunContext, host: PluginHost, budget: Budget
) -> None:
    """Records of the network's tasks, and a choice of its layouts."""
    asked = TuneOptions(tuner=Choice("xgb"), scheduler=Choice("gradient"), budget=budget)
    tune_tasks(extracted.task_set(), context, asked)
    graph_tuner = Choice(host.default("graph_tuner"))
    tune_graph(extracted, host.choose("graph_tuner", graph_tuner, host), context)


def ended(
    extracted: ExtractedNetwork, context: RunContext, number: int, options: FinalsOptions
) -> Ended:
    """One run of the last word, and what it did."""
    name = extracted.network.name
    inputs = random_inputs(extracted.network, 0)
    before, _ = compile_network(extracted, context)
    with before:
        before.run(inputs)
        told = last_word(extracted, context, options)
        kept, swaps = told["kept"], told["swaps"] / (told["seconds"] or 1.0)
        if not kept:
            seconds = median(before.time() for _ in range(9)) * 1e3
            return Ended(name, number, 0, swaps, seconds, seconds, MedianInterval(1.0, 1.0, 1.0))
        after, _ = compile_network(extracted, context)
        with after:
            after.run(inputs)
            pairs = []
            for turn in range(PAIRS):
                both = [before, after] if turn % 2 else [after, before]
                seconds_of = {network: network.time() for network in both}
                pairs.append((seconds_of[before], seconds_of[after]))
    ratio = MedianInterval.of([old / new for old, new in pairs], CONFIDENCE)
    old, new = (median(column) * 1e3 for column in zip(*pairs, strict=True))
    return Ended(name, number, kept, swaps, old, new, ratio)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--networks", default=NETWORKS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tune", type=parse_budget, default=Budget(seconds=30.0))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=10.0, help="of `finals`, each run")
    parser.add_argument("--folder", type=Path, default=Path("runs/benchmark-finals"))
    add_save_options(parser)
    options = parser.parse_args()
    host = PluginHost.load()
    operators, passes = Operators.of(host), host.hook_values("tilewright_graph_passes")
    target, rows = f"x86:threads={options.threads}", []
    for model in options.networks.split(","):
        folder = options.folder / model.partition(":")[2]
        tuned = make_context(host, name="finals", folder=folder, target=target)
        network = apply_passes(read(model, host), passes, operators)
        extracted = extract(network, tuned.target, operators)
        prepared(extracted, tuned, host, options.tune)
        for number in range(1, options.runs + 1):
            run = folder / str(number)
            shutil.rmtree(run, ignore_errors=True)
            run.mkdir(parents=True)
            shutil.copy(folder / "records.jsonl", run)
            context = make_context(host, name="finals", folder=run, target=target, seed=number)
            one = ended(extracted, context, number, FinalsOptions(seconds=options.seconds))
            rows.append(one.row)
            told, word = one.ratio, "slower" if one.ratio.high < 1 else ""
            print(
                f"{one.network:14} run {number:2}: {one.kept} exchanged, {told.median:.4f} "
                f"[{told.low:.4f}, {told.high:.4f}] of before's speed {word}",
                flush=True,
            )
    slower = sum(float(row.details["high"]) < 1 for row in rows)
    print(f"slower than before in {slower} of {len(rows)} runs")
    save(options, "finals", rows)


if __name__ == "__main__":
    main()
