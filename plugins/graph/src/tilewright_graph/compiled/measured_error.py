"""The error of a network's answers under any configs, as the stage `verify` would measure it."""

from __future__ import annotations

from tilewright.options import Choice
from tilewright_graph.compiled.compile import link_assembly
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.selection.assembly import Assembly
from tilewright_graph.verification.answers import ask_oracles
from tilewright_graph.verification.verification import compare
from tilewright_pipeline.context.run_context import RunContext

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
            return max(
                compare(compiled.observe(inputs), theirs, self._told.decisive).max_rel_error
                for inputs, theirs in both
            )
