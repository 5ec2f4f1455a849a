"""The runner `dask`: many devices, each of them measuring as a single machine would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future

from tilewright.host.contexts import MeasureContext
from tilewright.host.plugin_host import PluginHost
from tilewright.roles import BuildResult, DeviceUse
from tilewright.vocabulary.measure import MeasureInput, MeasureResult
from tilewright.vocabulary.task_set import TaskSet
from tilewright_dask.driver.batch import Batch, Candidate
from tilewright_dask.driver.dispatch import Dispatch
from tilewright_dask.driver.fleet_device import FleetDevice
from tilewright_dask.driver.fleet_link import FleetLink
from tilewright_dask.driver.fleet_member import FleetMember
from tilewright_dask.driver.options import DaskRunnerOptions
from tilewright_dask.driver.reaching import OWN, check_versions
from tilewright_dask.fleet_log import as_told
from tilewright_dask.worker.announcement import installed_plugins
from tilewright_dask.worker.plugin_files import plugin_texts
from tilewright_measure.local.memory_needed import address_space, check_fits


class DaskRunner:
    """Hands each batch to a device, two at a time to each; `batches_at_once` follows them.

    A batch whose device is lost is measured on another, once. The devices are those of the
    context's fingerprint that the run reached. Raises UsageError where none comes in time, and
    where their plugins are of other versions.
    """

    def __init__(self, options: DaskRunnerOptions, context: MeasureContext) -> None:
        self._link = FleetLink.of(options.scheduler, options.tls)
        self._host = context.host
        self._memory_bytes = address_space(context.device, options.memory_bytes)
        self._needed: dict[str, str] = {}  # by tasks, besides what the kind of target needs
        fingerprint = context.device.fingerprint
        pattern = self._link.patterns.get(fingerprint, "*")

        def wants(device: FleetDevice) -> bool:
            return device.device.fingerprint == fingerprint and device.matches(pattern)

        def check(member: FleetMember) -> None:
            device = member if isinstance(member, FleetDevice) else self._dispatch.devices[0]
            needed = {**needed_plugins(context.host, device.kind), **self._needed}
            check_versions([member], needed)

        opening = {
            "do": "open",
            "seed": context.seed,
            "device": context.device.to_json(),
            "runner": options.model_dump(include={"timeout_seconds", "memory_gib", "racing"}),
            "plugins": plugin_texts(context.host.files),
        }
        self._dispatch = Dispatch(self._link, opening, wants, check, options)
        try:
            self._link.run(self._dispatch.begin())
        except BaseException:
            self.close()
            raise

    @property
    def batches_at_once(self) -> int:
        """Two a device that is there."""
        return self._dispatch.takes

    def device_faults(self) -> Mapping[str, Mapping[str, int]]:
        """By the names of devices, batches that a lost or slow one did not measure, by why."""
        return as_told(self._dispatch.log.device_faults)

    def device_uses(self) -> Mapping[str, Sequence[DeviceUse]]:
        """By the names of devices, what each did over time."""
        return self._dispatch.log.uses

    def builder_faults(self) -> Mapping[str, Mapping[str, int]]:
        """By the names of builders, batches that a lost or failing one did not build, by why."""
        return as_told(self._dispatch.log.builder_faults)

    def check_tasks(self, tasks: TaskSet) -> None:
        """Raise UsageError for a task that workers cannot hold, or whose operator they lack."""
        check_fits(tasks, self._host, self._memory_bytes, "dask")
        operators = {entry.task.workload.operator for entry in tasks}
        owners = [self._host.owner("reference", operator) for operator in sorted(operators)]
        self._needed |= {one.distribution: one.version for one in owners if one.installed}
        check_versions(self._dispatch.members, self._needed)

    def run(
        self, inputs: Sequence[MeasureInput], builds: Sequence[BuildResult]
    ) -> Sequence[Future[MeasureResult]]:
        """One future an input, in order; returns at once."""
        asked = [Candidate(*each, Future()) for each in zip(inputs, builds, strict=True)]
        for each in asked:
            if each.build.artifact is None:
                each.finish(MeasureResult(failure=each.build.failure))
        if pending := [each for each in asked if not each.future.done()]:
            self._dispatch.add(Batch(pending))
        return [each.future for each in asked]

    def close(self) -> None:
        """Cancel what has no result yet; the workers end their processes at once."""
        self._link.run(self._dispatch.end())


def needed_plugins(host: PluginHost, kind: str) -> dict[str, str]:
    """Version by distribution, of what a worker needs to build and measure for a kind of target."""
    owners = [owner for name, owner in host.owners("target").items() if name == kind]
    for name, owner in host.owners("strategy").items():
        if kind in host.strategy(name).target_kinds:
            owners.append(owner)
    found = {one.distribution: one.version for one in owners if one.installed}
    own = installed_plugins()
    return dict(sorted({**found, **{name: own[name] for name in OWN if name in own}}.items()))
