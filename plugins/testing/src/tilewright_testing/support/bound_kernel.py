"""A kernel of a task with its operands in place, whose answer can be checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tilewright.host.plugin_host import PluginHost
from tilewright.roles import Artifact, Kernel, RoundsToUnits, TellsOverruns
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.task import Task

SEED = 7


@dataclass(frozen=True)
class BoundKernel:
    """What `bound_kernel` gives: the kernel, and what its task asks of it."""

    host: PluginHost
    task: Task
    config: ConfigEntity
    kernel: Kernel

    def operands(self, seed: int = SEED) -> list[Any]:
        """Seeded inputs and poisoned outputs, in the layouts of the config."""
        reference, layouts = self._reference, self.host.layouts(self.task, self.config)
        inputs = reference.inputs(self.task.workload, seed, self._precision)
        poison = [output * 0 + 77 for output in reference.outputs(self.task.workload, inputs)]
        texts = [*layouts.inputs, *layouts.outputs]
        return [reference.pack(a, t) for a, t in zip([*inputs, *poison], texts, strict=True)]

    def write(self, seed: int) -> None:
        """Write other inputs, and poison the outputs."""
        for place, array in enumerate(self.operands(seed)):
            self.kernel.write(place, array)

    def poison(self) -> None:
        """Outputs that are no answer to anything."""
        for place, array in enumerate(self.operands()):
            if place >= len(self.task.workload.inputs):
                self.kernel.write(place, array)

    def check(self, seed: int = SEED) -> None:
        """Assert that outputs are the answer to these inputs, and nothing else was written."""
        reference, workload = self._reference, self.task.workload
        operands, layouts = self.operands(seed), self.host.layouts(self.task, self.config)
        for place in range(len(workload.inputs)):
            same = self.kernel.read(place) == operands[place]
            assert same.all(), f"{self.config.text}: input {place} was overwritten"
        if isinstance(self.kernel, TellsOverruns):
            assert self.kernel.find_overrun() == "", self.config.text
        expected = reference.outputs(workload, reference.inputs(workload, seed, self._precision))
        for place, (wanted, layout) in enumerate(zip(expected, layouts.outputs, strict=True)):
            physical = self.kernel.read(len(workload.inputs) + place)
            got = reference.unpack(physical, layout, tuple(wanted.shape))
            # bytes have no negative differences
            error = abs(got.astype("float64") - wanted.astype("float64")).max()
            bound = reference.tolerance(workload, self._precision) * abs(wanted).max()
            unit = reference.rounding_unit(workload) if isinstance(reference, RoundsToUnits) else 0
            assert error <= bound + unit, f"{self.config.text}: off by {error}"

    @property
    def _precision(self) -> str:
        return self.host.strategy(self.config.strategy).precision

    @property
    def _reference(self) -> Any:
        return self.host.reference(self.task.workload.operator)


@contextmanager
def bound_kernel(
    host: PluginHost,
    device: Device,
    task: Task,
    config: ConfigEntity,
    copies: Mapping[int, int] | None = None,
) -> Iterator[BoundKernel]:
    """Built, loaded from a copy of the artefact's fields, and bound; closed in the end."""
    backend = host.backend(task.target.kind)
    built = backend.build(host.lower(task, config), task.target)
    artifact = Artifact(built.target, built.format, bytes(built.data), dict(built.metadata))
    kernel = backend.load(artifact, device)
    try:
        bound = BoundKernel(host, task, config, kernel)
        kernel.bind(bound.operands(), copies or {})
        yield bound
    finally:
        kernel.close()
