"""The role of targets: code for a kind of device, loaded and run there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from tilewright.roles.reference import Array

if TYPE_CHECKING:
    from tilewright.vocabulary.device import Device
    from tilewright.vocabulary.target import Target
    from tilewright.vocabulary.task import Task


@dataclass(frozen=True, slots=True)
class Artifact:
    """Code for a target, ready to be loaded: plain data, so that it crosses processes and is saved.

    format     the backend's own word for what `data` is
    metadata   JSON values the backend needs to load it (symbols, workspace bytes, ISA); `counts`
               among them, where there, is {name: number}, summed over the trials of a run
    """

    target: str
    format: str
    data: bytes
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Kernel(Protocol):
    """A loaded artefact; `bind` first. Operands: inputs, then outputs, in physical layout."""

    def bind(self, arrays: Sequence[Array], copies: Mapping[int, int]) -> None:
        """Copy every array to device memory, operand i to copies[i] >= 1 places.

        An operand without an entry has one. Launches rotate through the copies, so that constants
        are cold when their copies exceed the caches.
        """

    def write(self, operand: int, array: Array) -> None:
        """Overwrite every copy of an operand."""

    def read(self, operand: int) -> Array:
        """The first copy's present content, which later launches do not change."""

    def launch(self) -> None:
        """Run once and wait."""

    def time(self, number: int) -> float:
        """Seconds that `number` launches take together, on the target's clock."""

    def flush(self) -> None:
        """Evict the operands from the caches, where the target can."""

    def close(self) -> None:
        """Free the memory; the kernel cannot be used afterwards."""


@runtime_checkable
class TellsOverruns(Protocol):
    """An optional part of a `Kernel`: it tells whether a launch wrote outside the operands."""

    def find_overrun(self) -> str:
        """Where launches since `bind` wrote outside the operands; empty if nowhere."""


class TargetBackend(Protocol):
    """Code generation and loading for one kind of target."""

    def probe(self) -> Sequence[Device]:
        """The devices of this kind on this machine; empty also where a driver is missing."""

    def check_target(self, target: Target, device: Device) -> None:
        """Raise UsageError where the device cannot run what is built for the target."""

    def build(self, program: Any, target: Target) -> Artifact:
        """Compile one program. Raises ValueError for a program the target cannot run."""

    def link(self, network_program: Any, target: Target) -> Artifact:
        """Compile a whole network; the artefact loads like any other."""

    def load(self, artifact: Artifact, device: Device) -> Kernel:
        """Load an artefact. Raises UsageError where the device cannot run it."""

    def measure_peak(self, device: Device, target: Target) -> tuple[float, float]:
        """(operations, bytes from main memory) a second of code for the target; under a second.

        Operations are of float32. `MeasuresInstructions` tells those of other precisions.
        """


@runtime_checkable
class MeasuresInstructions(Protocol):
    """An optional part of a `TargetBackend`: it multiplies other data types by instructions."""

    def measure_instructions(self, device: Device, target: Target) -> Mapping[str, float]:
        """Operations a second by `PRECISION/INSTRUCTION` (`bfloat16/vdpbf16ps`), in a second.

        Of the target's instructions; where it names no level, of all that the device has.
        """


@runtime_checkable
class SharesCode(Protocol):
    """An optional part of a `TargetBackend`: targets may differ in what a task has no use for."""

    def equal_targets(self, task: Task) -> Sequence[Target]:
        """Others for which strategies of float32 generate the very code that they do for this one.

        Their records count for the task. Of two targets, each names the other or neither does.
        """


@runtime_checkable
class ShowsCode(Protocol):
    """An optional part of a `TargetBackend`: the text that it generates is shown to people."""

    def code_text(self, program: Any, target: Target) -> str:
        """What is compiled for a program, in the language of the target's compiler.

        Raises ValueError for a program the target cannot run. Nothing is compiled.
        """


@runtime_checkable
class EmulatesTargets(Protocol):
    """An optional part of a `TargetBackend`: an emulated device runs code of its own."""

    def emulated_target(self, target: Target) -> Target:
        """The target whose code an emulated device runs in place of this one's."""


@runtime_checkable
class ReadsInPlace(Protocol):
    """A kernel that may read operands where they lie, so that several share them."""

    def bind_shared(self, arrays: Sequence[Array], shared: Collection[int]) -> None:
        """As `bind`, one place an operand; those of the numbers in `shared` are not copied.

        Nothing may change them as long as the kernel has them. One that does not begin on a cache
        line of 64 bytes is copied nevertheless.
        """


@runtime_checkable
class RunsParts(Protocol):
    """An optional part of a `Kernel`: operands are written, computed and read in part."""

    def write_part(self, operand: int, array: Array) -> None:
        """Overwrite the beginning of every axis of an operand in one place; the rest stays."""

    def read_part(self, operand: int, shape: Sequence[int]) -> Array:
        """The beginning of every axis, as a copy."""

    def take_rows(self, rows: Sequence[int] | None) -> None:
        """From now on launches need compute no more than the first so many rows of each dimension.

        None is all that the network was linked for. What was linked for none computes all.
        """


@runtime_checkable
class HandsOver(Protocol):
    """An optional part of a `Kernel`: timed launches meet operands as the launch before left them.

    Kernels of a network read what others wrote just before, each of the target's threads a part.
    """

    def hand_over(self, operands: Collection[int]) -> None:
        """From now on `time` has the threads write these anew, as they are, before each launch.

        The clock stands still meanwhile.
        """


@runtime_checkable
class TellsReuseDistance(Protocol):
    """An optional part of a `TargetBackend`: memory that was just read is slow to write."""

    def reuse_distance(self, device: Device, target: Target) -> int:
        """Bytes that a network should touch before it writes memory anew; 0: none."""


@runtime_checkable
class SwapsKernels(Protocol):
    """An optional part of a `TargetBackend`: a linked network's kernels are exchanged in place."""

    def swap_kernel(self, kernel: Kernel, call: int, program: int) -> None:
        """From now on a loaded network launches another of a call's programs; links nothing.

        `call` counts the calls of the network's program from 0; `program` is 0 for the call's own
        program, else the place, from 1, among those of its `others`. It takes microseconds.
        """


@runtime_checkable
class TellsItsParts(Protocol):
    """An optional part of a `TargetBackend`: what it depends on, and what of that is missing."""

    def found_parts(self) -> Mapping[str, str]:
        """By part, such as a compiler: its version and place on this machine."""

    def missing_parts(self) -> Mapping[str, str]:
        """By device or part: what this machine lacks and how to get it; empty if nothing."""
