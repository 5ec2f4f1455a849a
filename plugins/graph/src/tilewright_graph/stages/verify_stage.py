"""The stage `verify`: the compiled network's answers against someone else's."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any, ClassVar

from pydantic import Field

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice, Options, Place
from tilewright.plugins.offers import lack_of
from tilewright_graph.compiled.bucketed_network import BucketedNetwork
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_graph.network.network import Network
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.ranges.buckets import Buckets
from tilewright_graph.ranges.dimensions import Sizes
from tilewright_graph.stages.verified_sizes import verified_sizes
from tilewright_graph.verification.agreement import agreement, is_classification
from tilewright_graph.verification.answers import ask_oracles, no_oracle, possible_oracles
from tilewright_graph.verification.oracle import AnswersInTurn, Oracle
from tilewright_graph.verification.own_rows import with_own_rows
from tilewright_graph.verification.reference_oracle import WHEN_NAMED, what_it_runs
from tilewright_graph.verification.verification import Comparison, compare
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.stages.stage import StageResult
from tilewright_tensor.expressions.dtype import DATA_TYPES
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.operators.trials.answer_rounding import network_tolerance

_SAMPLES = 200
_log = logging.getLogger("tilewright")


class VerifyOptions(Options):
    """Options of the stage `verify`.

    Errors are relative to max |b|; where logits, or outputs without any, vary by less than 5 % of
    that, to max |b - mean b|, unless they are one element.
    """

    oracle: Choice | None = Field(
        None,
        description="Default: the first that is installed and can tell, but for `reference`, which "
        "has to be named; where none can, the answers are not checked, and that is said.",
    )
    required: bool = Field(False, description="Answers that nobody can check are an error.")
    samples: int | None = Field(
        None,
        ge=0,
        description="Seeded inputs over which a classifier's best classes are compared, if the "
        "oracle can be asked so often; default: 200 where products are of lower precision, else "
        "none.",
    )
    rtol: float | None = Field(
        None,
        gt=0,
        description="The largest relative error of any output or observed tensor that passes; "
        "default: by the coarsest dtype of its tensors, bfloat16 3e-2, float16 1e-2, float32 1e-4, "
        "float64 1e-8; where products are of lower precision, four times its epsilon, or the "
        "`max_error` within which graph-tune kept the network.",
    )


class VerifyStage:
    """Runs both on one random input; outputs and observed tensors (logits) are compared.

    Of dimensions with ranges, at the ends of every row of their table; where the oracle cannot tell
    at one of these sizes, that is said.
    """

    consumes: ClassVar[tuple[type, ...]] = (CompiledNetwork, Network)
    optional: ClassVar[tuple[type, ...]] = (BucketedNetwork, Buckets)
    produces: ClassVar[tuple[type, ...]] = ()

    def __init__(self, options: VerifyOptions, context: RunContext) -> None:
        self._options = options
        self._context = context

    @staticmethod
    def option_mistakes(
        options: VerifyOptions, host: PluginHost
    ) -> Iterator[tuple[Place, UsageError]]:
        """That answers are required, and no oracle can be asked here."""
        asked = possible_oracles(options.oracle, host)
        lacks = [_lack(one, host) for one in asked] if options.required else [""]
        if not lacks:
            yield (), no_oracle()
        elif all(lacks):
            yield (), UsageError("; ".join(lacks), remedy="install it, or say --no-verify")

    def run(self, values: Mapping[type, Any]) -> StageResult:
        compiled: CompiledNetwork = values[CompiledNetwork]
        network: Network = values[Network]
        inputs, bound = random_inputs(network, self._context.seed), compiled.max_error
        rtol = self._options.rtol or bound or _default_rtol(network, compiled.precision)
        try:
            told = ask_oracles(network, [inputs], self._options.oracle, rtol, self._context.host)
        except UsageError as error:
            if self._strict:
                raise
            untold = f"{network.name}: answers not checked: {error}"
            _log.warning("%s", "\n  ".join([untold, *_others(self._context.host)]))
            nothing = dict.fromkeys(("oracle", "max_abs_error", "max_rel_error", "passed"))
            return StageResult(report={"verify": nothing})
        oracle, (answers,) = told.oracle.name, told.answers
        ours = compiled.observe(inputs)
        operators = Operators.of(self._context.host)
        expected = with_own_rows(network, inputs, ours, answers, operators)
        result = compare(ours, expected, told.decisive)
        sizes: list[dict[str, Any]] = []
        if BucketedNetwork in values and Buckets in values:
            named = values[BucketedNetwork].dimensions.named
            found = [*self._of_sizes(values, told.oracle, rtol)]
            sizes = [
                {"sizes": named(own), "max_rel_error": one and _finite(one.max_rel_error)}
                for own, one in found
            ]
            every = (result, *(one for _, one in found if one is not None))
            result = max(every, key=lambda one: one.max_rel_error)
        passed = result.max_rel_error <= rtol
        if not passed:
            _log.error("%s: %s", network.name, _verdict(oracle, result, rtol))
        elif bound is not None and result.max_rel_error > bound:
            what = f"relative error {result.max_rel_error:.3g} is above max_error"
            _log.warning("%s: %s %.3g of graph-tune", network.name, what, bound)
        report = {
            "oracle": oracle,
            "rtol": rtol,
            **({} if bound is None else {"max_error": bound}),
            "max_abs_error": _finite(result.max_abs_error),
            "max_rel_error": _finite(result.max_rel_error),
            "passed": passed,
            **({"sizes": sizes} if sizes else {}),
            **self._agreement(told.oracle, network, compiled, answers),
        }
        return StageResult(report={"verify": report}, ok=passed)

    @property
    def _strict(self) -> bool:
        """Whether answers that nobody can check are an error."""
        return self._options.oracle is not None or self._options.required

    def _of_sizes(
        self, values: Mapping[type, Any], oracle: Choice, rtol: float
    ) -> Iterator[tuple[Sizes, Comparison | None]]:
        """As `verified_sizes`; None where the oracle cannot tell, which is warned of."""
        compiled: BucketedNetwork = values[BucketedNetwork]
        told = verified_sizes(compiled, values[Buckets], oracle, rtol, self._context)
        for sizes, found in told:
            if isinstance(found, Comparison):
                yield sizes, found
                continue
            text = compiled.dimensions.sizes_text(sizes)
            if self._strict:
                raise found.within(text)
            _log.warning("%s: answers not checked with %s: %s", compiled.name, text, found)
            yield sizes, None

    def _agreement(
        self,
        asked: Choice,
        network: Network,
        compiled: CompiledNetwork,
        answers: Mapping[str, Any],
    ) -> dict[str, Any]:
        """What the report says of best classes: a member, or nothing."""
        samples = self._options.samples
        if samples is None:
            samples = 0 if compiled.precision == "float32" else _SAMPLES
        names = [name for name in answers if is_classification(answers[name])]
        other: Oracle = self._context.host.choose("oracle", asked, self._context.host)
        if not samples or not names or not isinstance(other, AnswersInTurn):
            return {}
        name, seed = names[0], self._context.seed

        def drawn() -> Iterator[dict[str, Any]]:
            return (random_inputs(network, seed + number) for number in range(samples))

        extra = [] if name in network.outputs else [name]
        theirs = other.answer_each(what_it_runs(other, network, self._context.host), drawn(), extra)
        both = zip(drawn(), theirs, strict=True)
        pairs = ((compiled.observe(inputs)[name], answer[name]) for inputs, answer in both)
        return {"agreement": asdict(agreement(pairs))}


def _default_rtol(network: Network, precision: str) -> float:
    """What the network's dtypes and the precision of its products allow."""
    own = network_tolerance(spec.dtype for spec in network.specs.values())
    return own if precision == "float32" else max(own, 4 * DATA_TYPES[precision].eps)


def _others(host: PluginHost) -> Iterator[str]:
    """How to ask those that answer only where they are named."""
    for name, one in host.components("oracle").items():
        if WHEN_NAMED in one.capabilities:
            yield f"'{name}' can be asked: --set verify.oracle={name} ({one.summary})"


def _lack(oracle: Choice, host: PluginHost) -> str:
    """Why an oracle cannot be asked here; empty where it can."""
    component = host.component("oracle", oracle.name)
    lack, problem = host.tried("oracle", oracle.name, "lacks()", partial(lack_of, component))
    return lack or problem


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
