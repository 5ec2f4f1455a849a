"""What is measured, under which conditions, and the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from statistics import median
from typing import Any, Literal

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task

TEXT_CHARACTERS = 4096

NO_WORKER = "no worker process can start"
"""The text of an `internal` failure begins so where no candidate of any task would fare better."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """How a kernel is timed. Names and meanings are AutoTVM's, plus cold and warm.

    constants          `cold`: every call meets the constants in no cache, as in a network, whatever
                       it takes of the device; activations stay warm; `warm`: one copy of each;
                       `network`: what cold is on several threads, each of which writes a part of
                       the activations before every call, as other kernels do in a network
    number             calls per sample, raised until a sample lasts `min_repeat_ms`
    repeat             samples
    cooldown_interval  seconds of rest before the first sample
    turns              runs of `repeat` samples each, alternating with the rest of the batch

    Raises ValueError for values that no measurement can have.
    """

    constants: Literal["cold", "warm", "network"] = "cold"
    number: int = 1
    repeat: int = 5
    min_repeat_ms: float = 1.0
    cooldown_interval: float = 0.0
    turns: int = 1

    def __post_init__(self) -> None:
        if self.constants not in ("cold", "warm", "network"):
            raise ValueError(f"constants are cold, warm or network, not {self.constants!r}")
        if not (self.number >= 1 and self.repeat >= 1 and self.turns >= 1):
            counts = f"number {self.number}, repeat {self.repeat} and turns {self.turns}"
            raise ValueError(f"{counts} are at least 1")
        if not (self.min_repeat_ms >= 0 and self.cooldown_interval >= 0):
            raise ValueError("min_repeat_ms and cooldown_interval are not negative")

    def for_task(self, task: Task) -> Conditions:
        """These conditions, with what `cold` comes to.

        On several threads `network`; else warm for a workload that has no constant operand.
        """
        if self.constants == "cold" and task.target.threads > 1:
            return replace(self, constants="network")
        if any(spec.role == "constant" for spec in task.workload.inputs):
            return self
        return replace(self, constants="warm")

    def to_json(self) -> dict[str, Any]:
        """Without `turns` where there is one, as in most records."""
        turns = {"turns": self.turns} if self.turns > 1 else {}
        return {
            "constants": self.constants,
            "number": self.number,
            "repeat": self.repeat,
            "min_repeat_ms": self.min_repeat_ms,
            "cooldown_interval": self.cooldown_interval,
            **turns,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Conditions:
        return cls(**data)


class FailureKind(StrEnum):
    """Why a candidate has no time; the texts stand in records and do not change."""

    INVALID_CONFIG = "invalid_config"
    BUILD_ERROR = "build_error"
    BUILD_TIMEOUT = "build_timeout"
    RUN_ERROR = "run_error"
    RUN_TIMEOUT = "run_timeout"
    CRASH = "crash"
    OUT_OF_MEMORY = "out_of_memory"
    WRONG_ANSWER = "wrong_answer"
    INVALID_RESULT = "invalid_result"
    DEVICE_LOST = "device_lost"
    CANCELLED = "cancelled"
    INTERNAL = "internal"

    @property
    def retried(self) -> bool:
        """True where the candidate is not at fault, so that it is measured again."""
        return self in (self.DEVICE_LOST, self.CANCELLED, self.INTERNAL)


@dataclass(frozen=True, slots=True)
class Failure:
    """Kind, text (the worker's last output, at most 4 KiB), and the signal where one ended it."""

    kind: FailureKind
    text: str = ""
    signal: str = ""

    def __post_init__(self) -> None:
        # A compiler's whole output is more than the line of a record may hold.
        object.__setattr__(self, "text", self.text[:TEXT_CHARACTERS])

    @property
    def killed(self) -> bool:
        """Whether the worker was killed from outside, so that no candidate is at fault."""
        return self.kind is FailureKind.INTERNAL and self.signal == "SIGKILL"

    def in_one_line(self) -> str:
        """The kind and the first line of the text; for a crash, the last line."""
        lines = self.text.strip().splitlines() or ["no text"]
        if self.signal:
            return f"{self.kind} ({self.signal}): {lines[-1][:160]}"
        return f"{self.kind}: {lines[0][:240]}"

    def to_json(self) -> dict[str, Any]:
        return {"kind": str(self.kind), "text": self.text, "signal": self.signal}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Failure:
        return cls(FailureKind(data["kind"]), data.get("text", ""), data.get("signal", ""))


class DeviceFaultError(Exception):
    """A kernel left its device unusable for this process, which has to end.

    Raised by a target's kernels. A measuring worker replies with the failure of that kind and ends,
    so that it costs one candidate: `crash` where the candidate is at fault, `run_timeout`, or
    `device_lost`, which is measured again.
    """

    def __init__(self, text: str, kind: FailureKind = FailureKind.CRASH) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class MeasureInput:
    """A task, a config of its space, and the conditions of the measurement."""

    task: Task
    config: ConfigEntity
    conditions: Conditions = Conditions()

    def to_json(self) -> dict[str, Any]:
        return {
            "task": self.task.to_json(),
            "config": self.config.to_json(),
            "conditions": self.conditions.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> MeasureInput:
        return cls(
            Task.from_json(data["task"]),
            ConfigEntity.from_json(data["config"]),
            Conditions.from_json(data["conditions"]),
        )


def is_seconds(value: Any) -> bool:
    """Whether something can be the time of a call: a number between 1e-10 and 1e5 seconds."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 1e-10 <= value <= 1e5


@dataclass(frozen=True, slots=True)
class MeasureResult:
    """All samples in seconds, or a typed failure; never a magic number.

    costs       seconds, one per sample; empty exactly when `failure` is set
    timings     where the trial's time went, seconds by part: lower, compile, load, check, time
    device      name of the device that it was measured on, where the runner has several
    """

    costs: tuple[float, ...] = ()
    failure: Failure | None = None
    timings: Mapping[str, float] = field(default_factory=dict)
    device: str = ""

    def __post_init__(self) -> None:
        if bool(self.costs) == (self.failure is not None):
            raise ValueError("a result has either costs or a failure")

    @property
    def seconds(self) -> float | None:
        """Median of the samples, None for a failure: the one number that trials are compared by."""
        return median(self.costs) if self.costs else None

    @property
    def spoiled(self) -> bool:
        """Whether it failed through no fault of the candidate: it says nothing about its config."""
        return self.failure is not None and self.failure.kind.retried

    def to_json(self) -> dict[str, Any]:
        """Without `device` where the runner has one alone."""
        return {
            **self.outcome_json(),
            "timings": dict(self.timings),
            **({"device": self.device} if self.device else {}),
        }

    def outcome_json(self) -> dict[str, Any]:
        """`costs` or `failure`, as in records."""
        if self.failure is not None:
            return {"failure": self.failure.to_json()}
        return {"costs": list(self.costs)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> MeasureResult:
        return cls(
            tuple(data.get("costs", ())),
            Failure.from_json(data["failure"]) if "failure" in data else None,
            data["timings"],
            data.get("device", ""),
        )


@dataclass(frozen=True, slots=True)
class Trial:
    """One measurement: its input and its result."""

    input: MeasureInput
    result: MeasureResult
