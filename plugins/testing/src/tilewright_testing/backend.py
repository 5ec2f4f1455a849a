"""What every target keeps to. Subclass and give a target and the tasks to run on it.

>>> class TestMine(BackendContract, RotatingBackendContract):
...     target, tasks = "TARGET", ("OPERATOR(...)", "OPERATOR(...) + OPERATOR(...)")
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

import pytest

from tilewright.canonical import canonical_json
from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.roles import TargetBackend
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright_pipeline.api.task_text import find_task
from tilewright_testing.support.bound_kernel import BoundKernel, bound_kernel
from tilewright_testing.support.on_target import OnTarget

Case = tuple[Task, ConfigEntity]


class BackendBasics(OnTarget):
    """A backend, and the tasks with their fallback configs."""

    @pytest.fixture
    def backend(self, host: PluginHost, resolved: Target) -> TargetBackend:
        return host.backend(resolved.kind)

    @pytest.fixture
    def cases(self, host: PluginHost, resolved: Target) -> Sequence[Case]:
        """The tasks, each with its fallback config."""
        tasks = [find_task(text, resolved, host, None) for text in self.tasks]
        return [(task, host.fallback_config(task, host.space(task))) for task in tasks]

    @pytest.fixture
    def kernels(
        self, host: PluginHost, device: Device, cases: Sequence[Case]
    ) -> Iterator[Iterator[BoundKernel]]:
        """The kernel of each case, three copies of each input; one is open at a time."""

        def each() -> Generator[BoundKernel, None, None]:
            for task, config in cases:
                copies = dict.fromkeys(range(len(task.workload.inputs)), 3)
                with bound_kernel(host, device, task, config, copies) as bound:
                    yield bound

        with closing(each()) as found:
            yield found


class BackendContract(BackendBasics):
    """Builds, loads, runs and times kernels whose answers are right."""

    def test_probing_twice_finds_the_same_devices(self, backend: TargetBackend) -> None:
        first, second = backend.probe(), backend.probe()
        assert [d.fingerprint for d in first] == [d.fingerprint for d in second]
        assert len({device.name for device in first}) == len(first)

    def test_the_device_runs_what_is_built_for_the_target(
        self, backend: TargetBackend, resolved: Target, device: Device
    ) -> None:
        backend.check_target(resolved, device)

    def test_artifacts_are_plain_data_and_equal_for_equal_programs(
        self, host: PluginHost, backend: TargetBackend, cases: Sequence[Case]
    ) -> None:
        for task, config in cases:
            artifact, again = (
                backend.build(host.lower(task, config), task.target) for _ in range(2)
            )
            assert artifact.target == str(task.target)
            assert isinstance(artifact.data, bytes)
            assert canonical_json(artifact.metadata)
            assert artifact == again, config.text

    def test_an_artifact_of_another_format_is_refused(
        self, host: PluginHost, backend: TargetBackend, device: Device, cases: Sequence[Case]
    ) -> None:
        task, config = cases[0]
        artifact = backend.build(host.lower(task, config), task.target)
        with pytest.raises(UsageError):
            backend.load(replace(artifact, format="unheard of"), device)

    def test_every_launch_gives_the_answer_and_writes_nothing_else(
        self, kernels: Iterator[BoundKernel]
    ) -> None:
        for bound in kernels:
            for _ in range(4):
                bound.poison()
                bound.kernel.launch()
                bound.check()

    def test_what_is_written_reaches_every_copy(self, kernels: Iterator[BoundKernel]) -> None:
        for bound in kernels:
            bound.kernel.launch()
            bound.write(seed=8)
            for _ in range(4):
                bound.kernel.launch()
                bound.check(seed=8)

    def test_what_was_read_is_not_changed_by_later_launches(
        self, kernels: Iterator[BoundKernel]
    ) -> None:
        bound = next(kernels)
        output = len(bound.task.workload.inputs)
        poison = bound.kernel.read(output)
        before = poison + 0
        bound.kernel.launch()
        assert (poison == before).all()

    def test_times_are_seconds_of_all_launches_together(
        self, kernels: Iterator[BoundKernel]
    ) -> None:
        bound = next(kernels)
        one, many = (min(bound.kernel.time(n) for _ in range(5)) for n in (1, 32))
        assert 0 < one < 60
        assert many > 4 * one

    def test_timing_and_flushing_keep_the_answer(self, kernels: Iterator[BoundKernel]) -> None:
        for bound in kernels:
            bound.kernel.time(2)
            bound.check()
            bound.kernel.flush()
            bound.kernel.launch()
            bound.check()

    def test_kernels_do_not_disturb_each_other(
        self, host: PluginHost, device: Device, cases: Sequence[Case]
    ) -> None:
        task, config = cases[0]
        with bound_kernel(host, device, task, config) as first:
            first.kernel.launch()
            with bound_kernel(host, device, task, config) as second:
                second.write(seed=8)
                second.kernel.launch()
                first.check()
                second.check(seed=8)
            first.kernel.launch()
            first.check()

    def test_peaks_are_positive(
        self, backend: TargetBackend, device: Device, resolved: Target
    ) -> None:
        assert min(backend.measure_peak(device, resolved)) > 0


class RotatingBackendContract(BackendBasics):
    """A target with caches: launches go through the copies of an operand in turn."""

    def test_each_copy_has_its_turn(
        self, host: PluginHost, device: Device, cases: Sequence[Case]
    ) -> None:
        task, config = cases[0]
        output = len(task.workload.inputs)
        with bound_kernel(host, device, task, config, {output: 3}) as bound:
            poison = bound.kernel.read(output)
            written = []
            for _ in range(6):
                bound.kernel.write(output, poison)
                bound.kernel.launch()
                written.append(bool((bound.kernel.read(output) != poison).any()))
        assert written == [True, False, False] * 2
