"""The error of a network's answers under any configs, as the stage `verify` would measure it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.options import Choice
from tilewright_graph.compiled.compile import link_assembly
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.selection.assembly import Assembly
from tilewright_graph.verification.answers import ask_oracles
from tilewright_graph.verification.own_rows import with_own_rows
from tilewright_graph.verification.verification import compare
from tilewright_pipeline.context.run_context import RunContext
from tilewright_tensor.operators.operators import Operators

SAMPLES = 4
"""Seeded inputs of which the largest error counts; the first is that of `verify`."""


class MeasuredError:
    """Compiles an assembly, runs it on seeded inputs, and compares with an oracle's answers.

    >>> error = MeasuredError(extracted, context, None, max_error=1e-2)
    >>> error(assembly)  # relative, the largest over the inputs, outputs and observed tensors
    """

    def __init__(
        self,
        extracted: ExtractedNetwork,
        context: RunContext,
        oracle: Choice | None,
        max_error: float,
    ) -> None:
        """Asks the oracle at once. Raises UsageError where none can tell an error of that size."""
        self._extracted = extracted
        self._context = context
        network = extracted.network
        self._inputs = [random_inputs(network, context.seed + n) for n in range(SAMPLES)]
        self._told = ask_oracles(network, self._inputs, oracle, max_error, context.host)

    def __call__(self, assembly: Assembly) -> float:
        compiled, _ = link_assembly(self._extracted, assembly, self._context)
        with compiled:
            both = zip(self._inputs, self._told.answers, strict=True)
            return max(self._error(compiled, *one) for one in both)

    def _error(
        self, compiled: CompiledNetwork, inputs: Mapping[str, Any], theirs: Mapping[str, Any]
    ) -> float:
        network, operators = self._extracted.network, Operators.of(self._context.host)
        ours = compiled.observe(inputs)
        expected = with_own_rows(network, inputs, ours, theirs, operators)
        return compare(ours, expected, self._told.decisive).max_rel_error
