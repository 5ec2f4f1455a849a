"""The last word inside the network: exchanged, decided, kept as records, told."""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import inf, isfinite
from typing import Any

from tilewright.canonical import content_key
from tilewright.errors import UsageError
from tilewright.roles import SwapsKernels
from tilewright.vocabulary.record import BudgetRecord
from tilewright_graph.compiled.compile import link_assembly
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.finals.contest import Outcome, Verdict, contest
from tilewright_graph.finals.finals_options import FinalsOptions
from tilewright_graph.finals.places import Place, find_places
from tilewright_graph.finals.winners import keep_winners
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.selection.dispatching import Dispatched, dispatch_network
from tilewright_pipeline.context.run_context import RunContext

_WARMUP = 3


def last_word(
    extracted: ExtractedNetwork, context: RunContext, options: FinalsOptions
) -> dict[str, Any]:
    """Let the running network choose among its kernels' best; what run.json says of it.

    What wins is kept as the choice for the network, where `compile` finds it. Nothing is done where
    an equal call has ended before, in a frozen run, and at effort 0. Raises UsageError for a target
    that does not have `SwapsKernels`, and for devices elsewhere.
    """
    _check(extracted, context)
    dispatched = dispatch_network(extracted, context, options.accuracy)
    places = find_places(
        extracted,
        dispatched,
        context,
        options.accuracy,
        kernels=options.kernels,
        candidates=options.candidates,
    )
    stage = _key(places, context, options)
    left_out = context.frozen or context.unmeasured or not options.seconds
    done = left_out or context.store.spent(stage, context.device).finished
    if done or not places:
        return _report(places, Outcome((), (), {}, Verdict(0, None, 0), 0, 0.0), 0.0, 0)
    with _link(extracted, dispatched, places, context) as compiled:
        compiled.run(random_inputs(extracted.network, context.seed))
        compiled.benchmark(1, _WARMUP)
        network = _Swapped(compiled, [place.call for place in places])
        start = time.perf_counter()
        counts = [len(place.configs) for place in places]
        outcome = contest(counts, network.run, options.seconds, context.seed)
        spent = time.perf_counter() - start
    if any(outcome.standing):
        standing = zip(places, outcome.standing, strict=True)
        winners = {place.kernel.key: place.configs[program] for place, program in standing}
        keep_winners(extracted, dispatched, winners, context)
    device = context.device
    line = BudgetRecord(stage, device.name, device.fingerprint, True, spent, trials=0)
    context.store.append([line])
    return _report(places, outcome, spent, network.swaps)


def _check(extracted: ExtractedNetwork, context: RunContext) -> None:
    if not isinstance(context.host.backend(extracted.target.kind), SwapsKernels):
        raise UsageError(
            "its backend exchanges no kernels of a linked network",
            where=f"finals: target {extracted.target}",
            remedy="leave finals out",
        )
    if context.devices:
        raise UsageError(
            "the network has to run on this machine, and the run's devices are elsewhere",
            where="finals",
            remedy="leave finals out, or measure with the runner 'local'",
        )


def _key(places: Sequence[Place], context: RunContext, options: FinalsOptions) -> str:
    """A hash that is equal for calls that would do the same, whoever stands by now."""
    return content_key(
        {
            "finals": [options.seconds, options.accuracy, context.seed],
            "places": [
                [place.kernel.key, place.chosen.text, [rival.text for rival in place.rivals]]
                for place in places
            ],
        }
    )


class _Swapped:
    """A network that runs with any programs at its places."""

    def __init__(self, compiled: CompiledNetwork, calls: Sequence[int]) -> None:
        self._compiled = compiled
        self._calls = calls
        self._present = [0] * len(calls)
        self.swaps = 0

    def run(self, programs: Sequence[int]) -> float:
        """Seconds of one run with these."""
        for place, program in enumerate(programs):
            if program != self._present[place]:
                self._compiled.swap(self._calls[place], program)
                self._present[place] = program
                self.swaps += 1
        return self._compiled.time()


def _link(
    extracted: ExtractedNetwork,
    dispatched: Dispatched,
    places: Sequence[Place],
    context: RunContext,
) -> CompiledNetwork:
    others = {place.call: place.configs[1:] for place in places}
    return link_assembly(extracted, dispatched.assembly, context, others=others)[0]


def _report(places: Sequence[Place], outcome: Outcome, spent: float, swaps: int) -> dict[str, Any]:
    whole = outcome.run_seconds
    tried = [
        {
            "node": places[rival.place].kernel.name,
            "config": places[rival.place].configs[rival.program].to_json(),
            "over": places[rival.place].configs[verdict.over].to_json(),
            "won": outcome.winners[rival.place] == rival.program,
            **_gain(verdict, whole),
        }
        for rival, verdict in outcome.verdicts.items()
    ]
    return {
        "seconds": spent,
        "runs": outcome.runs,
        "swaps": swaps,
        "network_ms": whole * 1e3,
        "kept": sum(map(bool, outcome.standing)),
        "tried": tried,
        "total": None if outcome.total.difference is None else _gain(outcome.total, whole),
    }


def _gain(verdict: Verdict, whole: float) -> dict[str, Any]:
    """Shares of the network's time that are gained; None where too few pairs can tell."""
    told = verdict.difference
    ends = (told.median, told.high, told.low) if told is not None else (inf, inf, inf)
    gain, low, high = (-end / whole if isfinite(end) else None for end in ends)
    return {"gain": gain, "gain_low": low, "gain_high": high, "pairs": verdict.pairs}
