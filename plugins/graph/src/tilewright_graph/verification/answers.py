"""What an oracle answers to a network's inputs: of those installed, the first that can tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright.plugins.loading.distributions import how_to_get, who_has_role
from tilewright_graph.network.network import Network
from tilewright_graph.verification.oracle import AnswersInTurn, Oracle
from tilewright_graph.verification.reference_oracle import WHEN_NAMED, what_it_runs
from tilewright_graph.verification.verification import check_fit


@dataclass(frozen=True, slots=True)
class OracleAnswers:
    """By tensor name, for each of the inputs.

    oracle    who answered
    decisive  the tensors that tell right from wrong: the observed ones, else the outputs
    """

    oracle: Choice
    answers: Sequence[Mapping[str, Any]]
    decisive: Sequence[str]


def ask_oracles(
    network: Network,
    inputs: Sequence[Mapping[str, Any]],
    asked: Choice | None,
    rtol: float,
    host: PluginHost,
) -> OracleAnswers:
    """The answers of the oracle that is asked for, else of the first that can tell.

    Raises UsageError where none can tell an error of `rtol` in its answers to the first input.
    """
    extra = [name for name in network.observed if name not in network.outputs]
    decisive = extra or network.outputs
    wrong = []
    for choice in possible_oracles(asked, host):
        oracle: Oracle = host.choose("oracle", choice, host)
        source = what_it_runs(oracle, network, host)
        try:
            if isinstance(oracle, AnswersInTurn):
                answers = list(oracle.answer_each(source, inputs, extra))
            else:
                answers = [oracle.run(source, one, extra) for one in inputs]
            check_fit(choice.name, answers[0], decisive, rtol)
        except UsageError as error:
            wrong.append(error)
            continue
        return OracleAnswers(choice, answers, decisive)
    raise UsageError.several(wrong or [no_oracle()])


def possible_oracles(asked: Choice | None, host: PluginHost) -> list[Choice]:
    """Those that may be asked, in order: the one asked for, else all that need not be named."""
    if asked is not None:
        return [asked]
    known = host.components("oracle").items()
    return [Choice(name) for name, one in known if WHEN_NAMED not in one.capabilities]


def no_oracle() -> UsageError:
    """That none is installed."""
    remedy = how_to_get(who_has_role("oracle")) or "`tilewright plugins` says what is blocked"
    return UsageError("no oracle is installed", remedy=remedy)
