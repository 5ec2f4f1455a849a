"""What a plugin file imports: the hook marker, and the value by which it offers a component."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pluggy

if TYPE_CHECKING:
    from tilewright.options import Options

hookspec = pluggy.HookspecMarker("tilewright")
hookimpl = pluggy.HookimplMarker("tilewright")

R = TypeVar("R")


def late(module: str, name: str) -> Callable[[], Any]:
    """A thunk that imports a module and gives one name of it."""
    return lambda: getattr(import_module(module), name)


def no_options() -> type[Options]:
    """The options model of a component that has none."""
    from tilewright.options import NoOptions

    return NoOptions


@dataclass(frozen=True, slots=True)
class Component(Generic[R]):
    """One named thing that a user can choose, with its options and a thunk that imports it.

    name          what a pipeline file or an option says
    summary       one line, shown by `tilewright plugins`
    load          imports and returns the factory; it is called with (options, the role's context)
    options       imports and returns the options model (pydantic, unknown keys forbidden)
    capabilities  words whose meaning is the role's: how the models of a frontend begin or end, what
                  a tuner claims (`batch`, `resume`, `model`)
    lacks         says what it lacks on this machine to work, or to work well, and how to get it,
                  for `tilewright doctor`; empty where that is nothing
    default       whether it is the one of its role that is taken where nobody names one; where
                  several say so, a user has to name one
    """

    name: str
    summary: str
    load: Callable[[], Callable[..., R]]
    options: Callable[[], type[Any]] = no_options
    capabilities: frozenset[str] = frozenset()
    lacks: Callable[[], str] = lambda: ""
    default: bool = False
