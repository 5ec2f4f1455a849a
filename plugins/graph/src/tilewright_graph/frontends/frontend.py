"""The role behind `tilewright_frontends`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.paths import check_is_file
from tilewright.plugins.loading.distributions import how_to_get, who_offers
from tilewright_graph.network.network import Network


class Frontend(Protocol):
    """Reads models of one format, from a file or of a name."""

    def read(
        self, model: Any, shapes: Mapping[str, Sequence[int]], weights_seed: int | None
    ) -> Network:
        """The network of a model, its `source` ready for oracles.

        `shapes` gives sizes to inputs with dynamic dimensions, also to those of other models; with
        a seed, weights are replaced by random ones. Raises UsageError, naming the place, for a
        model that cannot be read.
        """


@runtime_checkable
class ReadsObjects(Protocol):
    """An optional part of a `Frontend`: `read` also takes models that are in memory."""

    def recognises_model(self, model: object) -> bool:
        """Whether this is a model of its format, as its own library has it, or as bytes."""


@runtime_checkable
class NamesDimensions(Protocol):
    """An optional part of a `Frontend`: its models may name dimensions that have no size yet."""

    def named_dimensions(self, model: Any) -> Mapping[str, Sequence[int | str] | None]:
        """The shape of every input by name, as the model has it; a text names a dimension.

        One that is dynamic and has no name is below 0.

        None for an input of which the model says none. Raises UsageError as `read` does.
        """


def frontend_for(model: Any, host: PluginHost) -> str:
    """The name of the frontend that reads a model, going by how a text begins or ends.

    Its capabilities say: `PREFIX:` and `.SUFFIX`. A model in memory is shown to those that read
    such. Raises UsageError where none says so.
    """
    known = host.components("frontend")
    if not isinstance(model, str):
        return _frontend_that_recognises(model, host)
    for name, component in known.items():
        if any(model.startswith(word) or model.endswith(word) for word in component.capabilities):
            return name
    words = sorted(word for component in known.values() for word in component.capabilities)
    start, colon, _ = model.partition(":")
    format_name = start.partition("-")[0] if colon else Path(model).suffix[1:]
    readers = who_offers("frontend", format_name)
    remedy = f"known: {', '.join(words)}; or name the `frontend`"
    if readers:
        not_loaded = f"{readers[0]} does, and is not loaded: `tilewright plugins` says why"
        remedy = how_to_get(readers) or not_loaded
    raise UsageError(
        "no installed frontend reads such models",
        where=model,
        remedy=remedy,
    )


def check_model(model: Any, frontend: str | None, host: PluginHost) -> None:
    """Raise UsageError for a text that no frontend reads, and for a file that is not there.

    A text that ends in a `.SUFFIX` of the frontend and begins with none of its prefixes is a file.
    """
    if not isinstance(model, str):
        return
    words = host.component("frontend", frontend or frontend_for(model, host)).capabilities
    prefixes = [word for word in words if not word.startswith(".")]
    if model.endswith(tuple(words - set(prefixes))) and not model.startswith(tuple(prefixes)):
        hint = f"give a path{''.join(f', or {prefix}NAME' for prefix in sorted(prefixes))}"
        check_is_file(model, "model file", hint)


def _frontend_that_recognises(model: object, host: PluginHost) -> str:
    for name in host.components("frontend"):
        frontend = host.make("frontend", name, {}, host)
        if isinstance(frontend, ReadsObjects) and frontend.recognises_model(model):
            return name
    raise UsageError(
        f"no installed frontend reads models of the type {type(model).__name__!r}",
        remedy="give a path, a model or its bytes as its own library has it, or a Network",
    )
