"""Registers what tilewright-graph offers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tilewright.plugin import Component, hookimpl

if TYPE_CHECKING:
    from types import ModuleType

    from tilewright_graph.passes.graph_pass import GraphPassEntry


def _late(module: str, name: str) -> Callable[[], Any]:
    """A thunk that imports `tilewright_graph.MODULE` and returns one name of it."""
    from importlib import import_module

    return lambda: getattr(import_module(f"tilewright_graph.{module}"), name)


@hookimpl
def tilewright_hookspecs() -> Sequence[ModuleType]:
    """Frontends, graph passes, graph tuners."""
    from tilewright_graph import hookspecs

    return [hookspecs]


@hookimpl
def tilewright_frontends() -> Sequence[Component[Any]]:
    """`zoo`."""
    frontend, options = (_late("zoo.zoo_frontend", name) for name in ("ZooFrontend", "ZooOptions"))
    summary = "networks made in Python: zoo:resnet-18"
    return [Component("zoo", summary, frontend, options, frozenset({"zoo:"}))]


@hookimpl
def tilewright_graph_passes() -> Sequence[GraphPassEntry]:
    """The passes that every network needs."""
    from tilewright_graph.passes.builtin import BUILTIN_PASSES

    return BUILTIN_PASSES


@hookimpl
def tilewright_graph_tuners() -> Sequence[Component[Any]]:
    """`greedy`."""
    tuner, options = _late("greedy", "GreedyTuner"), _late("greedy", "GreedyOptions")
    return [
        Component("greedy", "each kernel takes what is best beside its neighbours", tuner, options)
    ]


@hookimpl
def tilewright_stages() -> Sequence[Component[Any]]:
    """From a model file to a checked, timed network; `tune` is core's."""
    return [
        _stage("import", "a model becomes a network", "Import"),
        _stage("extract", "a network becomes tasks", "Extract"),
        _stage("graph-tune", "one config for every kernel, over the whole network", "GraphTune"),
        _stage("compile", "a network becomes an artefact", "Compile"),
        _stage("verify", "answers compared with an oracle's", "Verify"),
        _stage("benchmark", "latency beside that of others", "Benchmark"),
    ]


def _stage(name: str, summary: str, title: str) -> Component[Any]:
    """The stage TITLEStage of `stages/NAME_stage.py`, with TITLEOptions."""
    module = f"stages.{name.replace('-', '_')}_stage"
    return Component(
        name, summary, _late(module, f"{title}Stage"), _late(module, f"{title}Options")
    )
