"""The role of stages: the steps of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol


@dataclass(frozen=True, slots=True)
class StageResult:
    """What a stage hands on and what it writes into run.json.

    values    found by later stages by their type
    report    top-level members of run.json (`verify`, `benchmark`, ...)
    ok        False: a check failed, exit code 1, and no later stage runs
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
