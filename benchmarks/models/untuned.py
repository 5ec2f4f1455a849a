"""Networks without records, by fallback and by a model, beside tuned ones: timed in turns.

    uv run python benchmarks/models/untuned.py zoo:resnet-18 --model WITHOUT-RESNET-18.json.gz

The model is to have seen nothing of the network: `train.py --without resnet-18 --save FILE`. It
wants a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import time
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
    parser.add_argument("--budget", default="20s", help="of the tuned one")
    given = parser.parse_args()
    host = PluginHost.load()
    model = CostModel.read(given.model.read_bytes(), str(given.model))
    told: dict[str, Any] = {"network": given.network}
    made: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        tuned = Path(folder) / "records.jsonl"
        sets = [f"tune.budget={given.budget}", "tune.scheduler=gradient", f"records={tuned}"]
        # Each by an empty file of records, but for the tuned one.
        for name, records, known in [
            ("fallback", Path(folder) / "none.jsonl", None),
            ("model", Path(folder) / "none.jsonl", model),
            ("tuned", tuned, None),
        ]:
            cost_model.packaged_model = lambda known=known: known or _nothing(model)
            if name == "tuned":
                pipeline = Pipeline.load(
                    pipeline_of(given.network), settings=sets, target=given.target, only="tune"
                )
                pipeline.run(out=folder)
            begun = time.perf_counter()
            options = {"target": given.target, "records": records, "host": host}
            made[name] = tilewright.compile(given.network, **options)
            told[f"{name}_compile_s"] = round(time.perf_counter() - begun, 2)
        for name, times in _in_turns(made).items():
            told[f"{name}_ms"] = round(median(times) * 1e3, 3)
    print(json.dumps(told))


def _nothing(model: CostModel) -> CostModel:
    """A model that knows no device."""
    return CostModel(model.columns, frozenset(), frozenset(), "", (), model.members)


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
