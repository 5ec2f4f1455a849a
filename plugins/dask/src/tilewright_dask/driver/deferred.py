"""Artefacts that are yet to be built: by a builder of the fleet, or by the device that measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilewright.roles import Artifact, BuildResult


@dataclass(frozen=True, slots=True)
class DeferredArtifact(Artifact):
    """One without code; once it is built, its `metadata` holds the `counts` of what was built.

    limits   options by which it is built
    made     what a builder made of it, once it has
    """

    metadata: dict[str, Any] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=dict)
    made: list[Artifact] = field(default_factory=list)

    def note_counts(self, counts: Mapping[str, int]) -> None:
        """Tell whoever holds it what the built one counts of itself."""
        self.metadata["counts"] = dict(counts)


def code_of(built: BuildResult) -> Artifact | None:
    """What is loaded on a device; None where that is yet to be built."""
    if isinstance(built.artifact, DeferredArtifact):
        return built.artifact.made[0] if built.artifact.made else None
    return built.artifact


def building_limits(builds: Sequence[BuildResult]) -> Mapping[str, Any]:
    """By which limits the deferred ones among them are built."""
    made = (built.artifact for built in builds)
    return next((one.limits for one in made if isinstance(one, DeferredArtifact)), {})
