"""Records: what was measured, chosen and spent. Member names are promises to others' files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from tilewright.canonical import thaw
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Trial
from tilewright.vocabulary.task import Task

VERSION = 1


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

    def to_json(self) -> dict[str, Any]:
        return {"stage": self.stage, "seconds": self.seconds, "trials": self.trials}


@dataclass(frozen=True, slots=True)
class Record:
    """One trial, where it was measured, and by which revision of its strategy.

    revision   of the strategy when it was measured; with another installed, the record is a miss
    sequence   place in the order of measurement, given by the store that appends it
    charge     None where no stage has a budget for it
    """

    kind: ClassVar[str] = "trial"

    trial: Trial
    device: str
    fingerprint: str
    revision: int
    sequence: int = 0
    charge: Charge | None = None

    @classmethod
    def of(
        cls, trial: Trial, device: Device, revision: int, charge: Charge | None = None
    ) -> Record:
        """The record of a trial just measured on a device."""
        return cls(trial, device.name, device.fingerprint, revision, charge=charge)

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

    def to_json(self) -> dict[str, Any]:
        result = self.trial.result
        outcome: dict[str, Any] = (
            {"costs": list(result.costs)}
            if result.failure is None
            else {"failure": result.failure.to_json()}
        )
        return {
            **_head(self.kind, self.sequence, self.device, self.fingerprint),
            **_choice(self.task, self.config, self.revision),
            "conditions": self.trial.input.conditions.to_json(),
            **outcome,
            "timings": dict(result.timings),
            **({} if self.charge is None else {"budget": self.charge.to_json()}),
        }


@dataclass(frozen=True, slots=True)
class GraphRecord:
    """The config that a graph tuner chose for one node of a network.

    node   hash of the node's workload, its inputs, and its rank among equals
    """

    kind: ClassVar[str] = "graph"

    node: str
    task: Task
    config: ConfigEntity
    device: str
    fingerprint: str
    revision: int
    sequence: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            **_head(self.kind, self.sequence, self.device, self.fingerprint),
            "node": self.node,
            **_choice(self.task, self.config, self.revision),
        }


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

    def to_json(self) -> dict[str, Any]:
        return {
            **_head(self.kind, self.sequence, self.device, self.fingerprint),
            "stage": self.stage,
            "finished": self.finished,
            "seconds": self.seconds,
            "trials": self.trials,
        }


AnyRecord: TypeAlias = Record | GraphRecord | BudgetRecord


def _head(kind: str, sequence: int, device: str, fingerprint: str) -> dict[str, Any]:
    return {
        "version": VERSION,
        "kind": kind,
        "sequence": sequence,
        "device": {"name": device, "fingerprint": fingerprint},
    }


def _choice(task: Task, config: ConfigEntity, revision: int) -> dict[str, Any]:
    return {
        "key": task.workload.key,
        "workload": task.workload.to_json(),
        "target": str(task.target),
        "strategy": config.strategy,
        "revision": revision,
        "config": thaw(config.values),
    }
