"""The role behind `tilewright_frontends`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from tilewright.errors import UsageError
from tilewright.extras import how_to_install
from tilewright.host import PluginHost
from tilewright_graph.network import Network


class Frontend(Protocol):
    """Reads models of one format."""

    def read(
        self, model: str, shapes: Mapping[str, Sequence[int]], weights_seed: int | None
    ) -> Network:
        """The network of a model, its `source` ready for oracles.

        `shapes` gives sizes to inputs with dynamic dimensions, also to those of other models; with
        a seed, weights are replaced by random ones. Raises UsageError, naming the place, for a
        model that cannot be read.
        """
        ...


def frontend_for(model: str, host: PluginHost) -> str:
    """The name of the frontend that reads a model, going by how the text begins or ends.

    Its capabilities say: `PREFIX:` and `.SUFFIX`. Raises UsageError where none says so.
    """
    known = host.components("frontend")
    for name, component in known.items():
        if any(model.startswith(word) or model.endswith(word) for word in component.capabilities):
            return name
    words = sorted(word for component in known.values() for word in component.capabilities)
    start, colon, _ = model.partition(":")
    install = how_to_install(start.partition("-")[0] if colon else Path(model).suffix[1:])
    raise UsageError(
        "no installed frontend reads such models",
        where=model,
        remedy=install or f"known: {', '.join(words)}; or name the `frontend`",
    )
