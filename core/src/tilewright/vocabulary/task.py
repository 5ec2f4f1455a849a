"""The unit of tuning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tilewright.vocabulary.target import Target
from tilewright.vocabulary.workload import Workload


@dataclass(frozen=True)
class Task:
    """A workload on a target."""

    workload: Workload
    target: Target

    def __repr__(self) -> str:
        return f"<Task {self.workload} on {self.target}>"

    @cached_property
    def key(self) -> str:
        """The workload's key and the target's text: what records are found by."""
        return f"{self.workload.key}@{self.target}"

    def to_json(self) -> dict[str, Any]:
        return {"workload": self.workload.to_json(), "target": str(self.target)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Task:
        return cls(Workload.from_json(data["workload"]), Target.parse(data["target"]))
