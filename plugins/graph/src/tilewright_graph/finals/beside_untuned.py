"""What tuning chose, beside the network that nobody tuned: run in turns, the faster is kept."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from tilewright.canonical import content_key
from tilewright.vocabulary.record import BudgetRecord
from tilewright_graph.compiled.compile import link_assembly
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.finals.median_interval import MedianInterval
from tilewright_graph.finals.winners import keep_winners
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.selection.candidates import Accuracy
from tilewright_graph.selection.dispatching import Dispatched, dispatch_network
from tilewright_graph.selection.graph_tuning import measure_pairs, without_record
from tilewright_graph.selection.prediction import predict
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.context.run_setup import open_store

_PAIRS, _SECONDS = 9, 0.25
"""Pairs of runs at least, which decide if all agree, and how long they go on."""

_CONFIDENCE, _LEAST_GAIN = 0.99, 0.01
"""Less may be due to where two networks lie in memory."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What tuning chose, and the untuned network.

    pairs   seconds of a run of each, in that order; none where they are the same by now
    untuned whether the untuned one stands
    """

    pairs: tuple[tuple[float, float], ...]
    untuned: bool

    def to_json(self) -> dict[str, Any]:
        """What run.json says of it: medians."""
        tuned, untuned = (median(each) * 1e3 for each in zip(*self.pairs, strict=True))
        return {
            "tuned_ms": tuned,
            "untuned_ms": untuned,
            "pairs": len(self.pairs),
            "kept": "untuned" if self.untuned else "tuned",
        }


@dataclass(frozen=True)
class UntunedNetwork:
    """The network as it is compiled without records, all of which has been measured.

    measurement  of what had no record, as run.json has it
    """

    extracted: ExtractedNetwork
    context: RunContext
    accuracy: Accuracy
    dispatched: Dispatched
    measurement: Mapping[str, Any]

    @classmethod
    def of(
        cls, extracted: ExtractedNetwork, context: RunContext, accuracy: Accuracy
    ) -> UntunedNetwork | None:
        """None where it does not run on this machine, and where a part of it failed."""
        if not _runs_here(context):
            return None
        with TemporaryDirectory() as folder:
            store = open_store(Path(folder) / "none", context.host)
            empty = replace(context, store=store, packs=())
            dispatched = dispatch_network(extracted, empty, accuracy)
        calls = dispatched.assembly.calls
        measurement = measure_pairs(without_record(calls, context), context)
        if predict(calls, context).failed:
            return None
        return cls(extracted, context, accuracy, dispatched, measurement)

    def beside_tuned(self) -> Beside | None:
        """Keep its configs as the choice where it is faster than what is compiled by now.

        Kernels are measured one after another. Where the machine has other speeds meanwhile, what
        is fastest by these times need not be: it may be slower than what nobody measured. What is
        compiled by now stays unless the interval of the median of the differences tells this one to
        be faster.

        None where an equal call has ended before, and where an error is kept within a bound.
        """
        context, own = self.context, self.dispatched
        tuned = dispatch_network(self.extracted, context, self.accuracy)
        if own.configs == tuned.configs:
            return Beside((), untuned=True)
        device, stage = context.device, _key(tuned, own)
        if tuned.max_error is not None or context.store.spent(stage, device).finished:
            return None
        start = time.perf_counter()
        pairs = self._timed(tuned)
        least = -_LEAST_GAIN * median(seconds for seconds, _ in pairs)
        differences = MedianInterval.of([b - a for a, b in pairs], _CONFIDENCE)
        is_faster = differences.high < least
        if is_faster:
            keep_winners(self.extracted, tuned, own.configs, context)
        spent = time.perf_counter() - start
        line = BudgetRecord(stage, device.name, device.fingerprint, True, spent, trials=0)
        context.store.append([line])
        return Beside(tuple(pairs), is_faster)

    def _timed(self, tuned: Dispatched) -> list[tuple[float, float]]:
        """Seconds of a run of the tuned network and of this one, by pairs in drawn order."""
        extracted, context = self.extracted, self.context
        random, inputs = Random(context.seed), random_inputs(extracted.network, context.seed)
        found: list[tuple[float, float]] = []
        with (
            link_assembly(extracted, tuned.assembly, context)[0] as one,
            link_assembly(extracted, self.dispatched.assembly, context)[0] as other,
        ):
            for network in (one, other):
                network.run(inputs)
                network.time()
            end = time.perf_counter() + _SECONDS
            while len(found) < _PAIRS or time.perf_counter() < end:
                turns = random.choice(((one, other), (other, one)))
                seconds = {network: network.time() for network in turns}
                found.append((seconds[one], seconds[other]))
        return found


def _runs_here(context: RunContext) -> bool:
    """Whether the device is one of this machine's, and no emulation, recording or fleet."""
    device = context.device
    if context.devices or device.emulated:
        return False
    own = context.host.backend(context.target.kind).probe()
    return device.fingerprint in {one.fingerprint for one in own}


def _key(*networks: Dispatched) -> str:
    """A hash that is equal for calls that would do the same."""
    every = [
        [(call.node, call.task.key, call.config.text) for call in each.assembly.calls]
        for each in networks
    ]
    return content_key({"beside untuned": every})
