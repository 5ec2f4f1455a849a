"""The trials of a data set, its records packed or not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright_records.recording import trials_in

if TYPE_CHECKING:
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.record import Record
    from tilewright.vocabulary.workload import Workload


def dataset_trials(folder: Path) -> Iterator[Record]:
    """Those that nothing spoiled, in their order. Raises UsageError where there is no file."""
    plain = folder / "records.jsonl"
    for record in trials_in(plain if plain.exists() else plain.with_suffix(".jsonl.gz")):
        if not record.trial.result.spoiled:
            yield record


def configs_of(folder: Path, threads: int) -> dict[Workload, list[ConfigEntity]]:
    """What was measured of each workload on so many threads, in its order."""
    found: dict[Workload, dict[ConfigEntity, None]] = defaultdict(dict)
    for record in dataset_trials(folder):
        if record.task.target.threads == threads:
            found[record.task.workload][record.config] = None
    return {workload: list(configs) for workload, configs in found.items()}
