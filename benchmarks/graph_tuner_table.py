"""The table of AutoTVM's graph tuner made anew: layouts of every kernel alone, and of the network.

    uv run python benchmarks/graph_tuner_table.py [--networks zoo:resnet-50,MODEL] [--threads 1,2]
        [--tune 60s] [--tuners dp,pbqp,exact] [--finals 20] [--records FILE] [--json FILE] [--save]

Wang et al., "Optimizing CNN Model Inference on CPUs", 2019, and TVM's RFC "Graph Tuner" have five
networks, each with the best config of every kernel (history best) and with those that a dynamic
program or PBQP chooses; `exact` proves the best, and `finals` goes on from the last of them while
the network runs. Each network is tuned by itself, then all of its choices run in turns: medians,
and history's over each, of neighbouring runs. The tuning's seconds are those of the
network, the measuring's those of the transforms that a tuner asks for first, which later ones find
in the records. A second run goes on from the records, and tells its own seconds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import result_data
from networks import Bench, Row, read
from saving import add_save_options, save

from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright.vocabulary.budget import Budget
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.passes.graph_pass import apply_passes
from tilewright_pipeline.context.run_setup import make_context
from tilewright_pipeline.options.budget_text import parse_budget
from tilewright_pipeline.options.tune_options import TuneOptions
from tilewright_pipeline.tuning.loop import tune_tasks
from tilewright_tensor.operators.operators import Operators

NETWORKS = (
    "zoo:resnet-50", "zoo:vgg-19_bn", "zoo:inception_v3", "zoo:densenet-201",
    "zoo:ssd-resnet50-512",
)  # fmt: skip
COLUMNS = (
    "network", "threads", "configs", "predicted ms", "measured ms", "speedup", "transforms",
    "tuning s", "measuring s", "solving s", "gap",
)  # fmt: skip


def rows_of(model: str, threads: int, host: PluginHost, options: argparse.Namespace) -> list[Row]:
    """Tune one network, then measure each way to choose its configs; history first."""
    context = make_context(
        host,
        name="graph-tuner-table",
        folder=options.records.parent,
        target=f"x86:threads={threads}",
        records=options.records,
    )
    network, operators = read(model, host), Operators.of(host)
    passed = apply_passes(network, host.hook_values("tilewright_graph_passes"), operators)
    extracted = extract(passed, context.target, operators)
    start = time.perf_counter()
    if options.tune.seconds:
        asked = TuneOptions(tuner=Choice("xgb"), scheduler=Choice("gradient"), budget=options.tune)
        tune_tasks(extracted.task_set(), context, asked)
    tuning = time.perf_counter() - start
    bench = Bench(network, extracted, context)
    bench.untuned("history", "history")
    for tuner in options.tuners.split(","):
        bench.tuned(tuner)
    bench.last_word(options.finals)
    rows = bench.measure(None)
    rows[0].tuning_s = tuning
    show(rows)
    return rows


def show(rows: Sequence[Row]) -> None:
    history = rows[0]
    for row in rows:
        cells = [
            row.network,
            row.threads,
            f"{row.configs} (history)" if row.kept == "history best" else row.configs,
            f"{row.predicted_ms:.2f}",
            f"{row.measured_ms:.2f}",
            f"{row.speedup:.3f}",
            row.transforms,
            "" if row.tuning_s is None else f"{row.tuning_s:.1f}",
            "" if row is history else f"{row.measuring_s:.1f}",
            "" if row.solver_s is None else f"{row.solver_s:.3f}",
            "" if row.gap is None else f"{row.gap:.2%}",
        ]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


def saved(rows: Sequence[Row]) -> list[result_data.Row]:
    """A row a network and threads: the last tuner's choice beside history's; the others' too."""
    cases: dict[tuple[str, int], dict[str, Row]] = {}
    for row in rows:
        cases.setdefault((row.network, row.threads), {})[row.configs] = row
    found = []
    for (network, threads), by in cases.items():
        history, *tuned = (row for name, row in by.items() if name != "finals")
        details: dict[str, float | str] = {
            "tuning s": history.tuning_s or 0.0,
            "history's transforms": history.transforms,
            "finals ms": by["finals"].measured_ms,
        }
        for row in tuned:
            details[f"{row.configs} ms"] = row.measured_ms
            details[f"{row.configs} speedup"] = row.speedup
            details[f"{row.configs}'s transforms"] = row.transforms
            details[f"{row.configs} measuring s"] = row.measuring_s
            details[f"{row.configs} solving s"] = row.solver_s or 0.0
        last = tuned[-1]
        found.append(
            result_data.Row(
                case=f"{network}, threads={threads}",
                ours=last.measured_ms,
                peer=history.measured_ms,
                speedup=last.speedup,
                details=details,
            )
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--tune", type=parse_budget, default=Budget(seconds=60.0))
    parser.add_argument("--tuners", default="dp,pbqp,exact")
    parser.add_argument("--finals", type=float, default=20.0, help="seconds of the last word")
    parser.add_argument(
        "--records", type=Path, default=Path("runs/benchmark-graph-tuner/records.jsonl")
    )
    parser.add_argument("--json", type=Path)
    add_save_options(parser)
    options = parser.parse_args()
    host = PluginHost.load()
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    rows = [
        row
        for threads in map(int, options.threads.split(","))
        for model in options.networks.split(",")
        for row in rows_of(model, threads, host, options)
    ]
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1), "utf-8")
    save(options, "rfc_table", saved(rows))


if __name__ == "__main__":
    main()
