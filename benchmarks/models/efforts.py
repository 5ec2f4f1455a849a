"""Networks by each effort, with and without a model, timed in turns.

    uv run python benchmarks/models/efforts.py zoo:resnet-18 --model WITHOUT-RESNET-18.json.gz
    uv run python benchmarks/models/efforts.py onnx-light:vgg19 --efforts 0 --records TUNED.jsonl

A model is to have seen nothing of a network: `train.py --without resnet-18 --save FILE`. With
`--records`, what a search of longer left there is timed as well. It wants a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import tilewright
from tilewright.host.plugin_host import PluginHost
from tilewright_cli.terminal.pipeline_verb import pipeline_of
from tilewright_models import installed
from tilewright_models.cost_model import CostModel
from tilewright_pipeline.pipeline import Pipeline

ROUNDS = 40
_RECORDS = "records.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("networks", nargs="+", help="models, such as zoo:NAME")
    parser.add_argument("--model", type=Path, help="the installed one by default")
    parser.add_argument("--target", default="x86:threads=1")
    parser.add_argument("--efforts", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--records", type=Path, help="of a search, of which a network is made too")
    given = parser.parse_args()
    model = installed.packaged_model()
    if given.model is not None:
        model = CostModel.read(given.model.read_bytes(), str(given.model))
    for network in given.networks:
        with TemporaryDirectory() as folder:
            for told in _timed(network, model, given, Path(folder)):
                print(json.dumps({"network": network, **told}), flush=True)


def _timed(
    network: str, model: CostModel, given: argparse.Namespace, folder: Path
) -> Iterator[dict[str, Any]]:
    """What a network of each kind takes, and what it took to make it."""
    told: dict[str, dict[str, Any]] = {}
    made: dict[str, Any] = {}
    for effort in given.efforts:
        for word, known in (("without the model", replace(model, examples={})), ("with it", model)):
            installed.packaged_model = lambda known=known: known
            name = f"effort {effort}, {word}"
            tuned = _tuned(network, effort, folder / name, given.target) if effort else {}
            made[name], seconds = _compiled(network, folder / name / _RECORDS, given.target)
            told[name] = {**tuned, "compiling_s": seconds}
    if given.records is not None:
        made["tuned"], _ = _compiled(network, given.records, given.target)
    for name, times in _in_turns(made).items():
        yield {"case": name, "ms": round(median(times) * 1e3, 3), **told.get(name, {})}


def _tuned(network: str, effort: int, folder: Path, target: str) -> dict[str, float]:
    """How long a search of so much effort takes, and the choice of layouts after it."""
    begun = time.perf_counter()
    sets = [f"tune.effort={effort}", f"records={folder / _RECORDS}"]
    for stage in ("tune", "graph-tune"):
        pipeline = Pipeline.load(pipeline_of(network), settings=sets, target=target, only=stage)
        pipeline.run(out=folder / stage)
    return {"tuning_s": round(time.perf_counter() - begun, 1)}


def _compiled(network: str, records: Path, target: str) -> tuple[Any, float]:
    """The network, and how long it took."""
    begun = time.perf_counter()
    host = PluginHost.load()
    made = tilewright.compile(network, target=target, records=records, host=host)
    return made, round(time.perf_counter() - begun, 1)


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
