"""The stage `verify`: the compiled network's answers against someone else's."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from tilewright.errors import UsageError
from tilewright.options import Choice, Options
from tilewright.roles import Oracle, RunContext, StageResult
from tilewright_graph.compiled_network import CompiledNetwork
from tilewright_graph.network import Network
from tilewright_graph.random_inputs import random_inputs
from tilewright_graph.reference_oracle import WHEN_NAMED, what_it_runs
from tilewright_graph.verification import Comparison, check_fit, compare

_log = logging.getLogger("tilewright")


class VerifyOptions(Options):
    """Who knows the answers, and how near ours have to be.

    oracle    by default the first that is installed and can tell, but for `reference`, which has to
              be named; where none can, the answers are not checked, and that is said
    required  such answers are an error
    rtol      the largest relative error of any output or observed tensor that passes; by default
              1e-4, and 1e-2 for a network with tensors of float16, which are rounded to 5e-4

    Relative to max |b|; where logits, or outputs without any, vary by less than 5 % of that, to
    max |b - mean b|, unless they are one element.
    """

    oracle: Choice | None = None
    required: bool = False
    rtol: float | None = Field(None, gt=0)


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
        inputs = random_inputs(network, self._context.seed)
        extra = [name for name in network.observed if name not in network.outputs]
        decisive = extra or network.outputs
        try:
            oracle, answers = self._answers(network, inputs, extra)
        except UsageError as error:
            if self._options.oracle is not None or self._options.required:
                raise
            _log.warning("%s: answers not checked: %s", network.name, error)
            nothing = dict.fromkeys(("oracle", "max_abs_error", "max_rel_error", "passed"))
            return StageResult(report={"verify": nothing})
        result = compare(compiled.observe(inputs), answers, decisive)
        rtol = self._rtol(network)
        passed = result.max_rel_error <= rtol
        if not passed:
            _log.error("%s: %s", network.name, _verdict(oracle, result, rtol))
        report = {
            "oracle": oracle,
            "rtol": rtol,
            "max_abs_error": _finite(result.max_abs_error),
            "max_rel_error": _finite(result.max_rel_error),
            "passed": passed,
        }
        return StageResult(report={"verify": report}, ok=passed)

    def _answers(
        self, network: Network, inputs: Mapping[str, Any], extra: Sequence[str]
    ) -> tuple[str, Mapping[str, Any]]:
        """(oracle, its answers): those of the oracle asked for, else of the first that can tell.

        Raises UsageError where none can.
        """
        host, asked = self._context.host, self._options.oracle
        able = (
            Choice(name)
            for name, component in host.components("oracle").items()
            if WHEN_NAMED not in component.capabilities
        )
        choices = [*able] if asked is None else [asked]
        wrong = []
        for choice in choices:
            oracle: Oracle = host.choose("oracle", choice, host)
            try:
                answers = oracle.run(what_it_runs(oracle, network), inputs, extra)
                check_fit(choice.name, answers, extra or network.outputs, self._rtol(network))
            except UsageError as error:
                wrong.append(error)
                continue
            return choice.name, answers
        if not wrong:
            wrong = [UsageError("no oracle is installed", remedy="pip install tilewright-onnx")]
        raise UsageError.several(wrong)

    def _rtol(self, network: Network) -> float:
        """What was asked for, or what the network's dtypes allow."""
        halves = any(spec.dtype == "float16" for spec in network.specs.values())
        return self._options.rtol or (1e-2 if halves else 1e-4)


def _verdict(oracle: str, result: Comparison, rtol: float) -> str:
    """What is wrong, in one line."""
    against = f"against {oracle}"
    if not math.isfinite(result.max_rel_error):
        return f"tensor {result.worst!r} {against}: an answer is not finite"
    return (
        f"tensor {result.worst!r} {against}: relative error {result.max_rel_error:.3g}, "
        f"expected at most {rtol:.3g}"
    )


def _finite(error: float) -> float | None:
    """JSON has no infinity; None says that an answer was not finite."""
    return error if math.isfinite(error) else None
