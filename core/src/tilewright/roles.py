"""The roles that plugins play. Core calls these and knows nothing of who is behind them.

Arrays are numpy arrays to those who make and take them; core passes them through unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from tilewright.config import ConfigEntity
    from tilewright.device import Device
    from tilewright.host import PluginHost
    from tilewright.measure import Conditions, Failure, MeasureInput, MeasureResult, Trial
    from tilewright.records import AnyRecord, BadLineError, JsonlRecordStore, Query
    from tilewright.space.config_space import ConfigSpace
    from tilewright.target import Target
    from tilewright.task import Task
    from tilewright.tuning.budget import Budget
    from tilewright.workload import Workload

Array = Any


# --- targets -------------------------------------------------------------------------------------


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
        ...

    def write(self, operand: int, array: Array) -> None:
        """Overwrite every copy of an operand."""
        ...

    def read(self, operand: int) -> Array:
        """The first copy's present content, which later launches do not change."""
        ...

    def launch(self) -> None:
        """Run once and wait."""
        ...

    def time(self, number: int) -> float:
        """Seconds that `number` launches take together, on the target's clock."""
        ...

    def flush(self) -> None:
        """Evict the operands from the caches, where the target can."""
        ...

    def close(self) -> None:
        """Give the memory back; the kernel is dead after it."""
        ...


@runtime_checkable
class TellsOverruns(Protocol):
    """An optional part of a `Kernel`: it tells whether a launch wrote outside the operands."""

    def overrun(self) -> str:
        """Where launches since `bind` wrote outside the operands; empty if nowhere."""
        ...


class TargetBackend(Protocol):
    """Code generation and loading for one kind of target."""

    def probe(self) -> Sequence[Device]:
        """The devices of this kind on this machine; empty also where a driver is missing."""
        ...

    def check_target(self, target: Target, device: Device) -> None:
        """Raise UsageError where the device cannot run what is built for the target."""
        ...

    def build(self, program: Any, target: Target) -> Artifact:
        """Compile one program. Raises ValueError for a program the target cannot run."""
        ...

    def link(self, network_program: Any, target: Target) -> Artifact:
        """Compile a whole network; the artefact loads like any other."""
        ...

    def load(self, artifact: Artifact, device: Device) -> Kernel:
        """Load an artefact. Raises UsageError where the device cannot run it."""
        ...

    def measure_peak(self, device: Device, target: Target) -> tuple[float, float]:
        """(operations, bytes from main memory) a second of code for the target; under a second."""
        ...


@runtime_checkable
class TellsItsParts(Protocol):
    """An optional part of a `TargetBackend`: what it depends on, and what of that is missing."""

    def found(self) -> Mapping[str, str]:
        """By part, such as a compiler: its version and place on this machine."""
        ...

    def missing(self) -> Mapping[str, str]:
        """By device or part: what this machine lacks and how to get it; empty if nothing."""
        ...


# --- references ----------------------------------------------------------------------------------


class Reference(Protocol):
    """What is known of one operator apart from any schedule."""

    operator: str

    def inputs(self, workload: Workload, seed: int) -> Sequence[Array]:
        """Seeded finite random inputs in logical layout, by role and operator."""
        ...

    def outputs(self, workload: Workload, inputs: Sequence[Array]) -> Sequence[Array]:
        """Expected outputs in logical layout, epilogue included, accumulated in float64."""
        ...

    def output_shapes(self, workload: Workload) -> Sequence[tuple[tuple[int, ...], str]]:
        """(shape, dtype) of every output."""
        ...

    def tolerance(self, workload: Workload) -> float:
        """Largest max|a-b| / max|b| of a right answer."""
        ...

    def operations(self, workload: Workload) -> int:
        """Floating-point operations of the direct algorithm, a multiply-add counting two."""
        ...

    def bytes(self, workload: Workload) -> int:
        """Bytes of all operands and outputs, each once."""
        ...

    def pack(self, array: Array, layout: str) -> Array:
        """A logical array rearranged into a layout."""
        ...

    def unpack(self, array: Array, layout: str, shape: tuple[int, ...]) -> Array:
        """The inverse of `pack`."""
        ...

    def parse(self, arguments: str, where: str) -> Workload:
        """The workload of a text form from its first parenthesis to its end. Raises UsageError."""
        ...

    def format(self, workload: Workload) -> str:
        """Text form, `operator(arguments)`."""
        ...

    def checked(self, workload: Workload, where: str) -> Workload:
        """A workload written by hand in the form that `parse` gives. Raises UsageError."""
        ...


# --- measurement ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MeasureContext:
    """What builders and runners are made from, besides their options."""

    host: PluginHost
    device: Device
    seed: int = 0


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
        ...

    def close(self) -> None:
        """End every process and remove every temporary file."""
        ...


class Runner(Protocol):
    """Checks answers and times candidates on a device, in isolation."""

    def run(
        self, inputs: Sequence[MeasureInput], builds: Sequence[BuildResult]
    ) -> Sequence[Future[MeasureResult]]:
        """One future an input, in order; a failed build passes through as its failure.

        An input may come several times, with one and the same build.
        """
        ...

    def close(self) -> None:
        """End every process; futures still pending end as `cancelled`."""
        ...


# --- search --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TunerContext:
    """What a tuner may know; the same for every tuner of a task.

    history   trials of all tasks known when the tuner is made, oldest first, its own included
    shared    shared(key, make): one object a run, made by the first who asks (cost models)
    """

    task: Task
    space: ConfigSpace
    seed: int
    history: Sequence[Trial]
    host: PluginHost
    shared: Callable[[Any, Callable[[], Any]], Any]


class Tuner(Protocol):
    """Proposes configs, 16 at a time or as many as its option `batch` says; learns from trials.

    >>> tuner = factory(options, context)   # knows context.history
    >>> tuner.propose(16)                   # 16 feasible configs, none known from before
    >>> tuner.observe(trials)               # in order of measurement; may hold other configs
    >>> tuner.propose(16)                   # fewer: running out; empty: exhausted
    """

    def propose(self, count: int) -> Sequence[ConfigEntity]: ...

    def observe(self, trials: Sequence[Trial]) -> None: ...


@dataclass(frozen=True, slots=True)
class TaskState:
    """How far a task has come, as a scheduler sees it.

    weight          how often the task occurs, in all networks together
    trials          measured so far, those of earlier runs and failures counted
    best_seconds    None until one succeeded
    curve           best seconds after each trial, None while all failed; rises if one did not last
    exhausted       it must not be chosen: nothing works, nothing is left or nothing improves
    networks        how often the task occurs in each network, by name; empty for a task by itself
    """

    task: Task
    weight: float
    trials: int
    failures: int
    best_seconds: float | None
    curve: tuple[float | None, ...] = ()
    exhausted: bool = False
    networks: Mapping[str, float] = field(default_factory=dict)


class TaskScheduler(Protocol):
    """Decides who gets the next batch, from the states alone: a resumed run makes a new one."""

    def next_task(self, states: Sequence[TaskState]) -> int | None:
        """Index of the task that gets the next batch; None where none is worth one."""
        ...


# --- records, networks and pipelines -------------------------------------------------------------


class RecordReader(Protocol):
    """Reads one format of records files."""

    def recognises(self, first_line: str) -> bool:
        """Whether a file that begins with this line is of its format."""
        ...

    def read(self, path: Path) -> Iterator[tuple[int, AnyRecord | BadLineError]]:
        """Lazily, by line number from 1: a line's record, or its fault. Raises UsageError."""
        ...


class Oracle(Protocol):
    """Runs a network's source elsewhere: answers, and times as a peer."""

    def run(
        self, source: Any, inputs: Mapping[str, Array], extra_outputs: Sequence[str]
    ) -> Mapping[str, Array]:
        """Answers by tensor name: the outputs and the extra (inner) tensors asked for."""
        ...

    def time(self, source: Any, inputs: Mapping[str, Array], threads: int) -> Callable[[], float]:
        """A function that runs the network once and returns the seconds; set up before."""
        ...


@dataclass(frozen=True)
class RunContext:
    """What every stage of a run shares.

    runner, builder  name and options of those that measure
    strategies       glob over the names of alternatives; see `narrowed`
    more             what `--more` adds to what tuning stages have left (nothing once finished)
    foreign_records  whether records of other devices may serve as starting points
    branch           which of several networks the stage runs for; empty where there is one
    saves            whether stages leave files in the folder; where not, it is gone afterwards
    """

    name: str
    folder: Path
    target: Target
    device: Device
    host: PluginHost
    store: JsonlRecordStore
    conditions: Conditions
    seed: int
    runner: tuple[str, Mapping[str, Any]]
    builder: tuple[str, Mapping[str, Any]]
    strategies: str = "*"
    more: Budget | None = None
    foreign_records: bool = False
    branch: str = ""
    saves: bool = True

    def query(self, task: Task, where: Callable[[ConfigEntity], bool] | None = None) -> Query:
        """Which records of a task count in this run: those of its strategies, or of `where`."""
        from tilewright.narrowing import own_configs
        from tilewright.records import Query

        where = where or own_configs(task, self)
        conditions = self.conditions.for_workload(task.workload)
        return Query(task, conditions, self.device.fingerprint, self.host.revisions, where=where)


@dataclass(frozen=True, slots=True)
class StageResult:
    """What a stage hands on and what it writes into run.json.

    values    found by later stages by their type
    report    top-level members of run.json (`verify`, `benchmark`, ...)
    ok        False: a check failed, exit code 1, and nothing runs behind it
    partial   True: less than was asked for, exit code 3 in the end; the run goes on
    branches  values of several networks, by name: later stages run once for each, or once for all
              where their inputs can be merged (tasks); after the last of those, each branch is a
              run of its own, in a folder of its name
    """

    values: tuple[Any, ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict)
    ok: bool = True
    branches: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    partial: bool = False


class Stage(Protocol):
    """A typed step of a pipeline; the factory is called with (options, RunContext).

    With a class attribute `measures = True` where it needs the runner and the builder.
    """

    consumes: ClassVar[tuple[type, ...]]
    optional: ClassVar[tuple[type, ...]]
    produces: ClassVar[tuple[type, ...]]

    def run(self, values: Mapping[type, Any]) -> StageResult:
        """Do the work; `values` holds what `consumes` names and what of `optional` there is."""
        ...
