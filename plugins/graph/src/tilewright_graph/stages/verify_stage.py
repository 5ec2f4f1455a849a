"""The stage `verify`: the compiled network's answers against someone else's."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from tilewright.options import Choice, Options
from tilewright.roles import RunContext, StageResult
from tilewright_graph.compiled_network import CompiledNetwork
from tilewright_graph.network import Network
from tilewright_graph.random_inputs import random_inputs
from tilewright_graph.verification import Comparison, check_fit, compare

_log = logging.getLogger("tilewright")


class VerifyOptions(Options):
    """`rtol`: the largest relative error of any output or observed tensor that passes.

    Relative to max |b|; where logits, or outputs without any, vary by less than 5 % of that, to
    max |b - mean b|, unless they are one element.
    """

    oracle: Choice
    rtol: float = Field(1e-4, gt=0)


class VerifyStage:
    """Runs both on one random input; outputs and observed tensors (logits) are compared."""

    consumes: ClassVar[tuple[type, ...]] = (CompiledNetwork, Network)
    optional: ClassVar[tuple[type, ...]] = ()
    produces: ClassVar[tuple[type, ...]] = ()

    def __init__(self, options: VerifyOptions, context: RunContext) -> None:
        self._options = options
        self._context = context

    def run(self, values: Mapping[type, Any]) -> StageResult:
        compiled: CompiledNetwork = values[CompiledNetwork]
        network: Network = values[Network]
        choice, host = self._options.oracle, self._context.host
        oracle = host.choose("oracle", choice, host)
        inputs = random_inputs(network, self._context.seed)
        extra = [name for name in network.observed if name not in network.outputs]
        answers = oracle.run(network.original, inputs, extra)
        decisive = extra or network.outputs
        check_fit(choice.name, answers, decisive, self._options.rtol)
        result = compare(compiled.observe(inputs), answers, decisive)
        passed = result.max_rel_error <= self._options.rtol
        if not passed:
            _log.error("%s: %s", network.name, self._verdict(result))
        report = {
            "oracle": choice.name,
            "max_abs_error": _finite(result.max_abs_error),
            "max_rel_error": _finite(result.max_rel_error),
            "passed": passed,
        }
        return StageResult(report={"verify": report}, ok=passed)

    def _verdict(self, result: Comparison) -> str:
        """What is wrong, in one line."""
        against = f"against {self._options.oracle.name}"
        if not math.isfinite(result.max_rel_error):
            return f"tensor {result.worst!r} {against}: an answer is not finite"
        return (
            f"tensor {result.worst!r} {against}: relative error {result.max_rel_error:.3g}, "
            f"expected at most {self._options.rtol:.3g}"
        )


def _finite(error: float) -> float | None:
    """JSON has no infinity; None says that an answer was not finite."""
    return error if math.isfinite(error) else None
