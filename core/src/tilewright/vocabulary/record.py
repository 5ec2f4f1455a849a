"""Records: what was measured, chosen and spent, and which of them count for a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from tilewright.canonical import freeze
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Conditions, Trial
from tilewright.vocabulary.task import Task


@dataclass(frozen=True, slots=True)
class Charge:
    """What a trial took of the budget of the stage that asked for it.

    stage     hash of all that makes two stages equal, as in `BudgetRecord`
    seconds   since the stage began, or since its trial before
    trials    1, and 0 for what was measured once more
    """

    stage: str
    seconds: float
    trials: int


@dataclass(frozen=True, slots=True)
class Record:
    """One trial, where it was measured, and by which revision of its strategy.

    device     its name: `NAME`, or `NAME@WORKER` where devices of one fingerprint shared a run
    revision   of the strategy when it was measured; with another installed, the record is a miss
    sequence   place in the order of measurement, given by the store that appends it
    charge     None where no stage has a budget for it
    pack       the name of the record pack that it was read from; empty: the store's own
    """

    kind: ClassVar[str] = "trial"

    trial: Trial
    device: str
    fingerprint: str
    revision: int
    sequence: int = 0
    charge: Charge | None = None
    pack: str = ""

    @classmethod
    def of(
        cls, trial: Trial, device: Device, revision: int, charge: Charge | None = None
    ) -> Record:
        """The record of a trial just measured on a device, or on one of several like it."""
        name = trial.result.device or device.name
        return cls(trial, name, device.fingerprint, revision, charge=charge)

    @property
    def task(self) -> Task:
        return self.trial.input.task

    @property
    def config(self) -> ConfigEntity:
        return self.trial.input.config

    @property
    def seconds(self) -> float | None:
        """Median of the samples, None for a failure."""
        return self.trial.result.seconds


@dataclass(frozen=True, slots=True)
class ErrorBound:
    """What a choice over a network kept to: errors of its answers, relative, as `verify` has them.

    most    what the network was allowed
    alone   what the node adds to it while all others are as exact as they can be, as measured, by
            the precision of its products and what its output is stored as (`bfloat16:float32`)
    """

    most: float
    alone: Mapping[str, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "alone", freeze(self.alone))


@dataclass(frozen=True, slots=True)
class WonInNetwork:
    """Where a config made a whole network faster, measured in turns inside it.

    network, node  their names
    over           the config that was chosen for the node before, by the kernels' own times
    """

    network: str
    node: str
    over: ConfigEntity


@dataclass(frozen=True, slots=True)
class GraphRecord:
    """The config that was chosen for one node of a network: by a graph tuner, or inside it.

    node   hash of the node's workload, its inputs, and its rank among equals
    bound  None where the network's error was not bounded
    won    None where the choice rests on the kernels' own times
    pack   as in a `Record`
    """

    kind: ClassVar[str] = "graph"

    node: str
    task: Task
    config: ConfigEntity
    device: str
    fingerprint: str
    revision: int
    sequence: int = 0
    bound: ErrorBound | None = None
    won: WonInNetwork | None = None
    pack: str = ""

    @property
    def by_own_times(self) -> ConfigEntity:
        """The config that was chosen before any won inside the network."""
        return self.config if self.won is None else self.won.over


@dataclass(frozen=True, slots=True)
class BudgetRecord:
    """What a stage spent besides what its trials say (see `Charge`), written when it ends.

    stage      hash of all that makes two stages equal
    finished   False where it was interrupted, so that an equal stage goes on with what is left
    """

    kind: ClassVar[str] = "budget"

    stage: str
    device: str
    fingerprint: str
    finished: bool
    seconds: float
    trials: int
    sequence: int = 0


AnyRecord: TypeAlias = Record | GraphRecord | BudgetRecord


@dataclass(frozen=True, slots=True)
class Query:
    """A task, and what a record of it must be like to count; `History` makes a run's.

    conditions   equal where `constants` is; number and repeat may differ
    fingerprint  of the device: records of others are misses
    revisions    strategy name to installed revision: a record of another revision, or of a
                 strategy that is not in it, is a miss; where they are `Revisions`, a record under a
                 name of before counts as one under the present name, which its config then has
    where        narrows the configs
    alternatives narrows their alternatives, by present name: to count needs no config then
    """

    task: Task
    conditions: Conditions
    fingerprint: str
    revisions: Mapping[str, int]
    where: Callable[[ConfigEntity], bool] | None = None
    alternatives: Callable[[str], bool] | None = None

    def asks_for(self, config: ConfigEntity) -> bool:
        """Whether a config, with the present name of its alternative, is one that counts."""
        if self.alternatives is not None and not self.alternatives(config.strategy):
            return False
        return self.where is None or self.where(config)
