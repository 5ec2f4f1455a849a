"""Hooks that tilewright-graph adds: frontends, passes over networks, and graph tuners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright import Component
from tilewright.plugin import hookspec

if TYPE_CHECKING:
    from tilewright_graph.frontend import Frontend
    from tilewright_graph.passes.graph_pass import GraphPassEntry
    from tilewright_graph.problem import GraphTuner

# By role, what no annotation names: `tilewright plugins --protocols` shows it.
MORE_VALUES = {
    "frontend": (("tilewright_graph.builder", "NetworkBuilder"),),
    "stage": (
        ("tilewright_graph.network", "Network"),
        ("tilewright_graph.extraction", "ExtractedNetwork"),
        ("tilewright.task_set", "TaskSet"),
        ("tilewright_graph.graph_tuning", "GraphChoice"),
        ("tilewright_graph.compiled_network", "CompiledNetwork"),
    ),
    "oracle": (("tilewright_graph.reference_oracle", "RunsNetworks"),),
}


@hookspec
def tilewright_frontends() -> Sequence[Component[Frontend]]:
    """Readers of models; (options, host). First: onnx."""
    raise NotImplementedError


@hookspec
def tilewright_graph_passes() -> Sequence[GraphPassEntry]:
    """Rewrites of networks before extraction; the phase says when. First: graph."""
    raise NotImplementedError


@hookspec
def tilewright_graph_tuners() -> Sequence[Component[GraphTuner]]:
    """Solvers that choose a candidate for each kernel; (options, host). First: graph (`greedy`)."""
    raise NotImplementedError
