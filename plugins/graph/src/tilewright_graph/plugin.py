"""Registers what tilewright-graph offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.plugins.plugin import Component, hookimpl, late
from tilewright_graph import hookspecs
from tilewright_graph.named_component import named_component, stage, tuner

if TYPE_CHECKING:
    from tilewright_pipeline.context.events import RunSummary, Section
    from tilewright_pipeline.context.run_context import RunContext


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
        tuner("greedy", "each kernel takes what is best beside its neighbours"),
        tuner("dp", "dynamic program, exact for networks of small width"),
        tuner("pbqp", "exact reductions where they last; else guesses, and a bound", default=True),
        tuner("exact", "integer program with proof, up to a time limit", "max-error"),
        tuner("exhaustive", "every choice priced; for very small networks", "max-error"),
    ]


@hookimpl
def tilewright_summary_sections(summary: RunSummary) -> Sequence[Section]:
    """Answers, latency, layouts, and where the configs of a compiled network came from."""
    from tilewright_graph.reports.summary import sections

    return sections(summary.report)


@hookimpl
def tilewright_explain(value: object, context: RunContext, options: Sequence[Any]) -> Any:
    explained = late("tilewright_graph.reports.explained_network", "explained")()
    return explained(value, context, options)


@hookimpl
def tilewright_stages() -> Sequence[Component[Any]]:
    """From a model file to a checked, timed network; `tune` is of pipeline."""
    return [
        stage("import", "a model becomes a network"),
        stage("extract", "a network becomes tasks"),
        stage("graph-tune", "one config for every kernel, over the whole network"),
        stage("finals", "the network itself chooses among its kernels' best"),
        stage("compile", "a network becomes an artefact"),
        stage("verify", "answers compared with an oracle's"),
        stage("benchmark", "latency beside that of others"),
    ]
