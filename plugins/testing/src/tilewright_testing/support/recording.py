"""A whole space measured once and played back: what tuners are compared on without hardware."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from tilewright.host.contexts import MeasureContext
from tilewright.host.plugin_host import PluginHost
from tilewright.roles import BuildResult
from tilewright.space.config_space import ConfigSpace
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Conditions, MeasureInput, Trial
from tilewright.vocabulary.task import Task


class Recording:
    """The space of `NAME.space.json` and, by the runner `replay`, the times of its points.

    `benchmarks/record_space.py` writes both files. Stands wherever a `Landscape` does.
    """

    def __init__(self, host: PluginHost, records: Path) -> None:
        stem = records.name.removesuffix(".records.jsonl.gz")
        text = records.with_name(f"{stem}.space.json").read_text(encoding="utf-8")
        data = json.loads(text)
        self.name = stem
        self.task = Task.from_json(data["task"])
        self.space = ConfigSpace.from_json(data["space"])
        self.conditions = Conditions.from_json(data["conditions"])
        self._runner = host.make(
            "runner", "replay", {"records": str(records)}, MeasureContext(host, Device("replay"))
        )

    def measure(self, config: ConfigEntity) -> Trial:
        """The trial recorded for a config."""
        (trial,) = self.measure_all([config])
        return trial

    def measure_all(self, configs: Iterable[ConfigEntity]) -> list[Trial]:
        """A batch, in order."""
        asked = [MeasureInput(self.task, config, self.conditions) for config in configs]
        futures = self._runner.run(asked, [BuildResult(None)] * len(asked))
        return [Trial(i, future.result()) for i, future in zip(asked, futures, strict=True)]

    def true_seconds(self, config: ConfigEntity) -> float | None:
        """Seconds of a config, None where it failed."""
        return self.measure(config).result.seconds

    @cached_property
    def best_seconds(self) -> float:
        """The least seconds over the whole space."""
        times = (trial.result.seconds for trial in self.measure_all(self.space.points()))
        return min(seconds for seconds in times if seconds is not None)
