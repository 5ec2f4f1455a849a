"""What the suites of builders and runners start from: a component, and candidates for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tilewright.host.contexts import MeasureContext
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.measure import Conditions, MeasureInput
from tilewright_pipeline.api.task_text import find_task
from tilewright_testing.component import ComponentContract
from tilewright_testing.support import imaginary_target


class MeasurementContract(ComponentContract):
    """A builder or a runner, and two good candidates of one task.

    target   text of the target; skipped where this machine has no device of its kind
    task     text form of the task
    """

    target: str
    task: str

    @pytest.fixture
    def context(self, host: PluginHost) -> MeasureContext:
        """Override to pick a device."""
        devices = host.backend(host.resolve_target(self.target).kind).probe()
        if not devices:
            pytest.skip(f"no device for {self.target} on this machine")
        return MeasureContext(host, devices[0])

    @pytest.fixture
    def component(self, context: MeasureContext) -> Iterator[Any]:
        """What is tested; closed in the end."""
        component = self.made(context.host, context)
        yield component
        component.close()

    @pytest.fixture
    def good(self, host: PluginHost) -> list[MeasureInput]:
        task = find_task(self.task, host.resolve_target(self.target), host, None)
        space = host.space(task)
        fallback = host.fallback_config(task, space)
        other = next(config for config in space.points() if config != fallback)
        return [MeasureInput(task, config) for config in (fallback, other)]


class ImaginaryMeasurementContract(MeasurementContract):
    """The same on a target that does what a config says, harm included; it needs no hardware."""

    target = imaginary_target.NAME
    task = f"{imaginary_target.NAME}(37)"

    def _files(self) -> Sequence[str | Path]:
        return [*self.plugin_files, Path(imaginary_target.__file__)]

    def ask(
        self, host: PluginHost, conditions: Conditions | None = None, **told: Any
    ) -> MeasureInput:
        """A candidate whose kernel does what `imaginary_config` says."""
        task = find_task(self.task, host.resolve_target(self.target), host, None)
        config = imaginary_target.imaginary_config(**told)
        return MeasureInput(task, config, conditions or Conditions())
