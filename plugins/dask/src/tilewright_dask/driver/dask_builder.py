"""The builder `dask`: leaves building to the workers that measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.host.contexts import MeasureContext
from tilewright.roles import Artifact, BuildResult
from tilewright.vocabulary.measure import MeasureInput
from tilewright_dask.driver.options import DaskBuilderOptions

DEFERRED = "deferred"
"""Format of an artefact that is yet to be built, where it is measured."""


class DaskBuilder:
    """Gives an artefact without code for everything; it says by which limits to build."""

    def __init__(self, options: DaskBuilderOptions, context: MeasureContext) -> None:
        self._limits = options.model_dump(include={"timeout_seconds", "memory_gib"})

    def build(self, inputs: Sequence[MeasureInput]) -> Sequence[BuildResult]:
        """One result an input, at once."""
        return [
            BuildResult(Artifact(str(each.task.target), DEFERRED, b"", self._limits))
            for each in inputs
        ]

    def close(self) -> None:
        """Nothing is open."""


def building_limits(builds: Sequence[BuildResult]) -> Mapping[str, Any]:
    """By which limits the deferred ones among them are built."""
    made = (built.artifact for built in builds)
    return next((dict(one.metadata) for one in made if one and one.format == DEFERRED), {})


def is_deferred(built: BuildResult) -> bool:
    """Whether it is yet to be built."""
    return built.artifact is not None and built.artifact.format == DEFERRED
