"""A stage as it is planned, and which installed stage makes what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Place


@dataclass(frozen=True, slots=True)
class PlannedStage:
    """A stage's name, its checked options, the factory that makes it, and where it stands."""

    name: str
    options: Any
    factory: Any
    place: str


@runtime_checkable
class ChecksOptions(Protocol):
    """An optional part of a stage's class: mistakes in options that are valid one by one.

    Called before any stage runs, and reported with all other mistakes; it reads no files.
    """

    @staticmethod
    def option_mistakes(options: Any, host: PluginHost) -> Iterable[tuple[Place, UsageError]]:
        """Each with the path of its option."""


def told_options(options: Any) -> dict[str, Any]:
    """A stage's options as a pipeline file has them, without those at their default."""
    if not isinstance(options, BaseModel):
        return {}
    return options.model_dump(mode="json", exclude_defaults=True)


def stage_that_makes(kind: type, host: PluginHost) -> str | None:
    """The name of an installed stage that makes values of a type."""
    return next((name for name, factory in factories(host) if makes(factory, {kind})), None)


def factories(host: PluginHost) -> Iterator[tuple[str, Any]]:
    """Every installed stage's name and class; one that cannot be imported hurts no other."""
    for name, component in host.components("stage").items():
        factory, _ = host.tried("stage", name, "load()", component.load)
        if factory is not None:
            yield name, factory


def makes(factory: Any, kinds: Set[type]) -> bool:
    """Whether a stage makes values of one of these types."""
    return any(issubclass(made, kind) for made in factory.produces for kind in kinds)
