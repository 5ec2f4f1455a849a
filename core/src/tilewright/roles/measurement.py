"""The roles of builders and runners: candidates compiled and timed, in isolation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tilewright.roles.target import Artifact
    from tilewright.vocabulary.measure import Failure, MeasureInput, MeasureResult


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
