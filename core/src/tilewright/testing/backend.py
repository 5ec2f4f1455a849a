"""What every target keeps to. Subclass and give a target and the tasks to run on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from tilewright.canonical import canonical_json
from tilewright.config import ConfigEntity
from tilewright.device import Device
from tilewright.host import PluginHost
from tilewright.roles import Artifact, Kernel, TargetBackend
from tilewright.target import Target
from tilewright.task import Task
from tilewright.task_text import find_task


class BackendContract:
    """Builds, loads, runs and times kernels whose answers are right.

    target   text of the target; skipped where this machine has no device of its kind
    tasks    text forms of tasks, odd sizes among them
    """

    target: str
    tasks: Sequence[str]

    @pytest.fixture
    def host(self) -> PluginHost:
        """Override to load plugin files."""
        return PluginHost.load()

    @pytest.fixture
    def resolved(self, host: PluginHost) -> Target:
        return host.resolve_target(self.target)

    @pytest.fixture
    def backend(self, host: PluginHost, resolved: Target) -> TargetBackend:
        return host.backend(resolved.kind)

    @pytest.fixture
    def device(self, backend: TargetBackend) -> Device:
        devices = backend.probe()
        if not devices:
            pytest.skip(f"no device for {self.target} on this machine")
        return devices[0]

    @pytest.fixture
    def cases(self, host: PluginHost, resolved: Target) -> list[tuple[Task, ConfigEntity]]:
        """The tasks, each with its fallback config."""
        tasks = [find_task(text, resolved, host, None) for text in self.tasks]
        return [(task, host.fallback_config(task, host.space(task))) for task in tasks]

    def test_probing_twice_finds_the_same_devices(self, backend: TargetBackend) -> None:
        first, second = backend.probe(), backend.probe()
        assert [d.fingerprint for d in first] == [d.fingerprint for d in second]
        assert len({device.name for device in first}) == len(first)

    def test_artifacts_are_plain_data(
        self, host: PluginHost, backend: TargetBackend, cases: list[tuple[Task, ConfigEntity]]
    ) -> None:
        for task, config in cases:
            artifact = backend.build(host.lower(task, config), task.target)
            assert artifact.target == str(task.target)
            assert isinstance(artifact.data, bytes)
            assert canonical_json(artifact.metadata)

    def test_kernels_give_the_expected_answer(
        self,
        host: PluginHost,
        backend: TargetBackend,
        device: Device,
        cases: list[tuple[Task, ConfigEntity]],
    ) -> None:
        for task, config in cases:
            with _kernel(host, backend, device, task, config) as kernel:
                kernel.launch()
                _check_answer(host, kernel, task, config)

    def test_launches_rotate_through_copies_with_the_same_answer(
        self,
        host: PluginHost,
        backend: TargetBackend,
        device: Device,
        cases: list[tuple[Task, ConfigEntity]],
    ) -> None:
        for task, config in cases:
            with _kernel(host, backend, device, task, config, copies=3) as kernel:
                for _ in range(4):
                    kernel.launch()
                _check_answer(host, kernel, task, config)

    def test_times_are_positive_seconds_and_flushing_keeps_the_answer(
        self,
        host: PluginHost,
        backend: TargetBackend,
        device: Device,
        cases: list[tuple[Task, ConfigEntity]],
    ) -> None:
        for task, config in cases:
            with _kernel(host, backend, device, task, config) as kernel:
                assert 0 < kernel.time(2) < 60
                kernel.flush()
                kernel.launch()
                _check_answer(host, kernel, task, config)

    def test_written_operands_are_read_back(
        self,
        host: PluginHost,
        backend: TargetBackend,
        device: Device,
        cases: list[tuple[Task, ConfigEntity]],
    ) -> None:
        task, config = cases[0]
        with _kernel(host, backend, device, task, config, copies=2) as kernel:
            doubled = kernel.read(0) * 2
            kernel.write(0, doubled)
            assert (kernel.read(0) == doubled).all()


@contextmanager
def _kernel(
    host: PluginHost,
    backend: TargetBackend,
    device: Device,
    task: Task,
    config: ConfigEntity,
    *,
    copies: int = 1,
) -> Iterator[Kernel]:
    """A kernel bound to seeded inputs and poisoned outputs; its artefact was copied by field."""
    built = backend.build(host.lower(task, config), task.target)
    artifact = Artifact(built.target, built.format, bytes(built.data), dict(built.metadata))
    reference, layouts = host.reference(task.workload.operator), host.layouts(task, config)
    inputs = reference.inputs(task.workload, seed=7)
    poison = [output * 0 + 77 for output in reference.outputs(task.workload, inputs)]
    logical, texts = [*inputs, *poison], [*layouts.inputs, *layouts.outputs]
    arrays = [reference.pack(a, text) for a, text in zip(logical, texts, strict=True)]
    kernel = backend.load(artifact, device)
    try:
        kernel.bind(arrays, dict.fromkeys(range(len(arrays)), copies))
        yield kernel
    finally:
        kernel.close()


def _check_answer(host: PluginHost, kernel: Kernel, task: Task, config: ConfigEntity) -> None:
    reference, layouts = host.reference(task.workload.operator), host.layouts(task, config)
    expected: Sequence[Any] = reference.outputs(
        task.workload, reference.inputs(task.workload, seed=7)
    )
    for place, (wanted, layout) in enumerate(zip(expected, layouts.outputs, strict=True)):
        got = kernel.read(len(task.workload.inputs) + place)
        got = reference.unpack(got, layout, tuple(wanted.shape))
        error = abs(got - wanted).max() / max(abs(wanted).max(), 1e-30)
        assert error <= reference.tolerance(task.workload), (config.text, error)
