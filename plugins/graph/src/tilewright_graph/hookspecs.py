"""Hooks that tilewright-graph adds: frontends, writers, passes, graph tuners, and oracles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright import Component
from tilewright.plugins.plugin import hookspec

if TYPE_CHECKING:
    from tilewright_graph.frontends.frontend import Frontend
    from tilewright_graph.network.network_writer import NetworkWriter
    from tilewright_graph.passes.graph_pass import GraphPassEntry
    from tilewright_graph.selection.graph_problem import GraphTuner
    from tilewright_graph.verification.oracle import Oracle

# By role, what no annotation names: `tilewright plugins --protocols` shows it.
MORE_VALUES = {
    "frontend": (("tilewright_graph.network.builder", "NetworkBuilder"),),
    "stage": (
        ("tilewright_graph.network.network", "Network"),
        ("tilewright_graph.extraction.extraction", "ExtractedNetwork"),
        ("tilewright.vocabulary.task_set", "TaskSet"),
        ("tilewright_graph.selection.graph_tuning", "GraphChoice"),
        ("tilewright_graph.compiled.compiled_network", "CompiledNetwork"),
        ("tilewright_graph.compiled.bucketed_network", "BucketedNetwork"),
    ),
    "oracle": (("tilewright_graph.verification.reference_oracle", "RunsNetworks"),),
}


@hookspec
def tilewright_frontends() -> Sequence[Component[Frontend]]:
    """Readers of models; (options, host). First: onnx."""
    raise NotImplementedError


@hookspec
def tilewright_network_writers() -> Sequence[Component[NetworkWriter]]:
    """Writers of networks, each named after its format; (options, host). First: onnx."""
    raise NotImplementedError


@hookspec
def tilewright_graph_passes() -> Sequence[GraphPassEntry]:
    """Rewrites of networks before extraction; the phase says when. First: graph."""
    raise NotImplementedError


@hookspec
def tilewright_graph_tuners() -> Sequence[Component[GraphTuner]]:
    """Solvers that choose a candidate for each kernel; (options, host). First: graph (`greedy`)."""
    raise NotImplementedError


@hookspec
def tilewright_oracles() -> Sequence[Component[Oracle]]:
    """Other systems that run a network's source; (options, host). First: a frontend's plugin."""
    raise NotImplementedError
