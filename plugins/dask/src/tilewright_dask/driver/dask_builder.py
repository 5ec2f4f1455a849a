"""The builder `dask`: leaves building to the workers of a fleet."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.host.contexts import MeasureContext
from tilewright.roles import BuildResult
from tilewright.vocabulary.measure import MeasureInput
from tilewright_dask.driver.deferred import DeferredArtifact
from tilewright_dask.driver.options import DaskBuilderOptions


class DaskBuilder:
    """Gives an artefact without code for everything; it says by which limits to build."""

    def __init__(self, options: DaskBuilderOptions, context: MeasureContext) -> None:
        self._limits = {
            "timeout_seconds": options.timeout_on(context.device),
            "memory_gib": options.memory_gib,
        }

    def build(self, inputs: Sequence[MeasureInput]) -> Sequence[BuildResult]:
        """One result an input, at once."""
        return [
            BuildResult(
                DeferredArtifact(str(each.task.target), "deferred", b"", limits=self._limits)
            )
            for each in inputs
        ]

    def close(self) -> None:
        """Nothing is open."""
