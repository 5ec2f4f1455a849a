"""Registers what tilewright-graph offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.plugins.plugin import Component, hookimpl
from tilewright_graph import hookspecs
from tilewright_graph.named_component import named_component

if TYPE_CHECKING:
    from tilewright_pipeline.run.events import RunSummary, Section


@hookimpl
def tilewright_hookspecs() -> Sequence[object]:
    """Frontends, graph passes, graph tuners."""
    return [hookspecs]


@hookimpl
def tilewright_frontends() -> Sequence[Component[Any]]:
    """`zoo`."""
    place = "frontends.zoo.zoo_frontend"
    return [named_component("zoo", "networks made here", place, "Frontend", "zoo:")]


@hookimpl
def tilewright_oracles() -> Sequence[Component[Any]]:
    place = "verification.reference_oracle"
    return [named_component("reference", "definitions", place, "Oracle", "when-named")]


@hookimpl
def tilewright_graph_passes() -> Sequence[Any]:
    """The passes that every network needs."""
    from tilewright_graph.passes.builtin import BUILTIN_PASSES

    return BUILTIN_PASSES


@hookimpl
def tilewright_graph_tuners() -> Sequence[Component[Any]]:
    return [
        _tuner("greedy", "each kernel takes what is best beside its neighbours"),
        _tuner("dp", "dynamic program, exact for networks of small width"),
        _tuner("pbqp", "reductions, exact for series-parallel networks; else guesses, and a bound"),
        _tuner("exact", "integer program with proof, up to a time limit"),
        _tuner("exhaustive", "every choice priced; for very small networks"),
    ]


@hookimpl
def tilewright_summary_sections(summary: RunSummary) -> Sequence[Section]:
    """Layouts, and where the configs of a compiled network came from."""
    from tilewright_graph.reports.summary import sections

    return sections(summary.report)


@hookimpl
def tilewright_stages() -> Sequence[Component[Any]]:
    """From a model file to a checked, timed network; `tune` is of pipeline."""
    return [
        _stage("import", "a model becomes a network"),
        _stage("extract", "a network becomes tasks"),
        _stage("graph-tune", "one config for every kernel, over the whole network"),
        _stage("compile", "a network becomes an artefact"),
        _stage("verify", "answers compared with an oracle's"),
        _stage("benchmark", "latency beside that of others"),
    ]


def _tuner(name: str, summary: str) -> Component[Any]:
    return named_component(name, summary, f"selection.solvers.{name}", "Tuner")


def _stage(name: str, summary: str) -> Component[Any]:
    return named_component(name, summary, f"stages.{name.replace('-', '_')}_stage", "Stage")
