"""Trials of a search on recorded spaces, with and without a model that leads its first proposals.

    uv run python benchmarks/models/searches.py benchmarks/models/zen3 [--spaces '*-zen3']

The model learns from the trials of the folder alone, less those of workloads that have a recorded
space, whatever their epilogue. It is asked of every device, of those that it has not seen, too, and
starts from what was fast with the folder's first number of threads.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from fitting import columns_of
from train import packed, tables_of

from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright.vocabulary.config import ConfigEntity
from tilewright_models.advisor import Advisor
from tilewright_models.cost_model import CostModel
from tilewright_records.spaces.recorded_space import RecordedSpace
from tilewright_search.cli.recorded_spaces import recorded_spaces
from tilewright_search.cli.searches.comparison import Comparison
from tilewright_search.cli.searches.tuner_search import tuner_search


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--spaces", help="as of `bench tuners`; all installed ones by default")
    parser.add_argument("--tuners", default="xgb,evolutionary")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--limit", type=int, default=2000, help="trials after which a search ends")
    parser.add_argument("--json", type=Path, help="write the figures")
    given = parser.parse_args()
    host = PluginHost.load()
    model = _model(given.folder)
    (examples, *_) = model.examples.values()
    advisor = Advisor(model, examples, host)

    def starts(space: RecordedSpace) -> tuple[ConfigEntity, ...]:
        return advisor.starts(space.task, space.space)

    found = []
    for name in given.tuners.split(","):
        searches = {
            name: tuner_search(host, Choice(name)),
            f"{name}, led": tuner_search(host, Choice(name), starts),
        }
        comparison = Comparison(recorded_spaces(given.spaces), searches, given.seeds, given.limit)
        for lines in comparison.play():
            print("\n".join(lines), flush=True)
        found.append(comparison.to_json())
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def _model(folder: Path) -> CostModel:
    anchors = {space.task.workload.anchor_key for space in recorded_spaces(None)}
    tables = [t for t in tables_of([folder]) if t.task.workload.anchor_key not in anchors]
    return CostModel.read(packed(tables, columns_of(tables)), str(folder))


if __name__ == "__main__":
    main()
