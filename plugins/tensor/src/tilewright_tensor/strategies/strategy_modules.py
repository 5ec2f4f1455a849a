"""How targets name their strategies: each is a module, which is imported when it is used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.plugins.component_host import ComponentHost
    from tilewright.strategies.strategy import Implementation


def implementation_of(module: str, make: str = "make") -> Callable[[ComponentHost], Implementation]:
    """A thunk that imports the module and calls its `make(operators)`, or another name of it."""

    def load(host: ComponentHost) -> Implementation:
        from tilewright_tensor.operators.operators import Operators

        schedule: Implementation = getattr(import_module(module), make)(Operators.of(host))
        return schedule

    return load
