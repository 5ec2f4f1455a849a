"""The roles of builders and runners: candidates compiled and timed, in isolation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from tilewright.roles.target import Artifact
    from tilewright.vocabulary.device import Device
    from tilewright.vocabulary.measure import Failure, MeasureInput, MeasureResult
    from tilewright.vocabulary.target import Target


@dataclass(frozen=True, slots=True)
class BuildResult:
    """An artefact or a failure, and where the time went (`lower`, `compile` seconds)."""

    artifact: Artifact | None
    failure: Failure | None = None
    timings: Mapping[str, float] = field(default_factory=dict)


class Builder(Protocol):
    """Lowers and compiles candidates in isolation."""

    def build(self, inputs: Sequence[MeasureInput]) -> Sequence[BuildResult]:
        """One result an input, in order; a crash, hang or error costs its own candidate only."""

    def close(self) -> None:
        """End every process and remove every temporary file."""


class Runner(Protocol):
    """Checks answers and times candidates on a device, in isolation."""

    def run(
        self, inputs: Sequence[MeasureInput], builds: Sequence[BuildResult]
    ) -> Sequence[Future[MeasureResult]]:
        """One future an input, in order; a failed build passes through as its failure.

        An input may come several times, with one and the same build.
        """

    def close(self) -> None:
        """End every process; futures still pending end as `cancelled`."""


@runtime_checkable
class TakesBatches(Protocol):
    """An optional part of a `Runner`: it measures several batches at a time, as on many devices.

    `run` is then called on several threads at once, and so is the builder's `build`; a future holds
    a result that names its device. `close` makes every call that is still waiting return.
    """

    @property
    def batches_at_once(self) -> int:
        """How many it can do with now; 0 while it has no device. It may change at any time."""


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """What one of several devices did for a while.

    start, end  in seconds since measuring began
    busy        seconds of it in which the device worked
    pace        how long one and the same candidate takes, as a multiple of its median over the run
                and all its devices; None where it was not measured
    """

    start: float
    end: float
    busy: float
    pace: float | None = None


@runtime_checkable
class TellsDevices(Protocol):
    """An optional part of a `Runner` of several devices: what each did, and which failed it."""

    def device_uses(self) -> Mapping[str, Sequence[DeviceUse]]:
        """So far, by a device's name, in the order of time; in between it had nothing to do."""

    def device_faults(self) -> Mapping[str, Mapping[str, int]]:
        """So far, by a device's name: how many batches came to nothing there, by why.

        Such as `device_lost`, or `drift` of one that was slower than usual and then set aside.
        They were measured again, or have failed.
        """

    def builder_faults(self) -> Mapping[str, Mapping[str, int]]:
        """So far, by a builder's name: how many batches were not built there, by why.

        Such as `builder_lost`. They were built elsewhere. Empty where it has no builders.
        """


@dataclass(frozen=True, slots=True)
class Reached:
    """Devices of one fingerprint, and the target of a run on them.

    target   with everything filled in
    device   what they are alike in, with peaks; records name its fingerprint
    names    of the devices themselves, `NAME@WORKER` where a worker announces them
    """

    target: Target
    device: Device
    names: tuple[str, ...]


@runtime_checkable
class ReachesDevices(Protocol):
    """An optional part of a `Runner`'s options: its devices are not those of this machine.

    Nothing of this machine is looked for then: target, device and peaks are what the runner says.
    """

    def resolve_target(self, text: str | None) -> Target:
        """What a target's text means there; None: the default one.

        Raises UsageError for a text without meaning, and where there is no device.
        """

    def reach(self, target: Target, pattern: str | None) -> Reached:
        """The devices that a run for the target uses.

        Waits for the first one, as long as the options say. Raises UsageError where there is none.

        pattern   glob over the names of devices (`cpu*`); None: every one that is not emulated
        """
