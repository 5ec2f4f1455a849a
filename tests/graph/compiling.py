"""Compiles a network after the built-in passes."""

from __future__ import annotations

from tilewright_graph.compiled.compile import compile_network
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.passes.builtin import BUILTIN_PASSES
from tilewright_graph.passes.graph_pass import apply_passes
from tilewright_tensor.operators.operators import Operators


def extracted_from(network, context, target=None):
    operators = Operators.of(context.host)
    passed = apply_passes(network, BUILTIN_PASSES, operators)
    return extract(passed, target or context.target, operators)


def compiled(network, context, target=None, accuracy="default"):
    return compile_network(extracted_from(network, context, target), context, accuracy)
