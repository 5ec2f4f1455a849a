"""A network by each effort, with and without a model, timed in turns.

    uv run python benchmarks/models/efforts.py zoo:resnet-18 --model WITHOUT-RESNET-18.json.gz

The model is to have seen nothing of the network: `train.py --without resnet-18 --save FILE`. It
wants a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import tilewright
from tilewright.host.plugin_host import PluginHost
from tilewright_cli.terminal.pipeline_verb import pipeline_of
from tilewright_models import cost_model
from tilewright_models.cost_model import CostModel
from tilewright_pipeline.pipeline import Pipeline

ROUNDS = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("network", help="zoo:NAME")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--target", default="x86:threads=1")
    parser.add_argument("--efforts", type=int, nargs="+", default=[0, 1, 2])
    given = parser.parse_args()
    model = CostModel.read(given.model.read_bytes(), str(given.model))
    ignorant = replace(model, examples=())
    told: dict[str, dict[str, Any]] = {}
    made: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        for effort in given.efforts:
            for word, known in (("without the model", ignorant), ("with it", model)):
                cost_model.packaged_model = lambda known=known: known
                name = f"effort {effort}, {word}"
                told[name], made[name] = _made(given, effort, Path(folder) / name)
        for name, times in _in_turns(made).items():
            print(json.dumps({"case": name, "ms": round(median(times) * 1e3, 3), **told[name]}))


def _made(given: argparse.Namespace, effort: int, folder: Path) -> tuple[dict[str, Any], Any]:
    """What it took to tune, if at all, and to compile, in seconds; and the network."""
    records, took = folder / "records.jsonl", {}
    begun = time.perf_counter()
    if effort:
        sets = [f"tune.effort={effort}", f"records={records}"]
        file = pipeline_of(given.network)
        Pipeline.load(file, settings=sets, target=given.target, only="tune").run(out=folder)
        took["tuning_s"] = round(time.perf_counter() - begun, 1)
        begun = time.perf_counter()
    options = {"target": given.target, "records": records, "host": PluginHost.load()}
    network = tilewright.compile(given.network, **options)
    return {**took, "compiling_s": round(time.perf_counter() - begun, 1)}, network


def _in_turns(made: dict[str, Any]) -> dict[str, list[float]]:
    """Seconds of each network's runs, one after the other in every round."""
    times: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(ROUNDS):
        for name, network in made.items():
            network.time()  # what the others left in the caches is gone
            times[name].append(network.time())
    return times


if __name__ == "__main__":
    main()
