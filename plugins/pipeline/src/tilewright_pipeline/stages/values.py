"""What the stages of a run have made so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from tilewright.errors import UsageError
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.stages.planned_stage import PlannedStage
from tilewright_pipeline.stages.stage import StageResult


class RunValues:
    """Values found by their type; where a stage made branches, each of them has its own.

    >>> values.run(stage, context)      # on what the stage takes; keeps what it makes
    >>> values.find(TaskSet)            # None where there is none
    >>> values.branches                 # {} unless a stage made some
    """

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self._values = list(values)
        self.branches: dict[str, RunValues] = {}

    def run(self, stage: PlannedStage, context: RunContext) -> StageResult:
        """Run a stage: for each branch, or once where its inputs can be merged (see `is_joint`)."""
        if self.branches and not is_joint(stage):
            results = [
                values.run(stage, branch_context(context, name))
                for name, values in self.branches.items()
            ]
            return StageResult(
                ok=all(result.ok for result in results),
                partial=any(result.partial for result in results),
            )
        made = stage.factory(stage.options, context)
        result: StageResult = made.run(self._inputs(stage))
        self._values += result.values
        self.branches |= {name: RunValues(own) for name, own in result.branches.items()}
        return result

    def find(self, kind: type) -> Any | None:
        """The latest value of a type; else that of all branches, merged."""
        for value in reversed(self._values):
            if isinstance(value, kind):
                return value
        parts = [values.find(kind) for values in self.branches.values()]
        known = [part for part in parts if part is not None]
        if not known or not hasattr(kind, "merged"):
            return None
        return kind.merged(chain.from_iterable(known))

    def latest(self) -> Iterator[Any]:
        """Its values, the latest first, without those of its branches."""
        yield from reversed(self._values)

    def each(self) -> tuple[RunValues, ...]:
        """Itself and its branches."""
        return (self, *self.branches.values())

    def by_type(self) -> dict[type, Any]:
        """The latest value of every type."""
        return {type(value): value for value in self._values}

    def _inputs(self, stage: PlannedStage) -> dict[type, Any]:
        kinds = (*stage.factory.consumes, *stage.factory.optional)
        found = {kind: self.find(kind) for kind in kinds}
        return {kind: value for kind, value in found.items() if value is not None}


def is_joint(stage: PlannedStage) -> bool:
    """Whether a stage runs once for all branches: everything it takes can be merged, like tasks."""
    kinds = stage.factory.consumes
    return bool(kinds) and all(hasattr(kind, "merged") for kind in kinds)


def branch_context(context: RunContext, name: str) -> RunContext:
    """The context of a branch: a run of that name, in a folder below.

    Raises UsageError for a name, as models bring theirs, that leads elsewhere.
    """
    if name in ("", ".", "..") or {"/", "\0"} & set(name):
        raise UsageError(f"{name!r} names no folder", remedy="rename the model's file")
    return replace(context, name=name, folder=context.folder / name, branch=name)
