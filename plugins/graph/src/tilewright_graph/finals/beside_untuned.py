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
from tilewright_graph.compiled.compiled_network import CompiledNetwork
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

_PAIRS, _SECONDS = 16, 0.25
"""Pairs of runs at least, and how long they go on."""

_CONFIDENCE = 0.99
_WARMUP = 3


@dataclass(frozen=True, slots=True)
class Beside:
    """What tuning chose, and the network without records: medians of runs, in seconds.

    kept         the untuned one where it is faster for certain, else None
    measurement  of what of it had no record, as run.json has it
    """

    tuned: float
    untuned: float
    pairs: int
    kept: Dispatched | None
    measurement: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """What run.json says of it."""
        return {
            "tuned_ms": self.tuned * 1e3,
            "untuned_ms": self.untuned * 1e3,
            "pairs": self.pairs,
            "kept": "tuned" if self.kept is None else "untuned",
        }


def beside_untuned(
    extracted: ExtractedNetwork, context: RunContext, accuracy: Accuracy
) -> Beside | None:
    """Keep the configs of the network without records where that is faster, as the choice.

    Kernels are measured one after another. Where the machine has other speeds meanwhile, what is
    fastest by these times need not be: it may be slower than what nobody measured. The choice stays
    unless the interval of the median of the differences tells the other to be faster. What then has
    no record is measured, and nothing is kept that fails.

    None where both are the same, where one of the other's configs has failed, where an equal call
    has ended before, and where the network does not run on this machine or is kept within an error.
    """
    tuned = dispatch_network(extracted, context, accuracy)
    elsewhere = context.devices or context.device.emulated
    if elsewhere or tuned.max_error is not None:
        return None
    untuned = _without_records(extracted, context, accuracy)
    calls, device, stage = untuned.assembly.calls, context.device, _key(tuned, untuned)
    known = untuned.configs == tuned.configs or context.store.spent(stage, device).finished
    if known or predict(calls, context).failed:
        return None
    pairs = _timed(extracted, tuned, untuned, context)
    faster = MedianInterval.of([b - a for a, b in pairs], _CONFIDENCE).high < 0
    measurement = measure_pairs(without_record(calls, context) if faster else (), context)
    kept = untuned if faster and not predict(calls, context).failed else None
    if kept is not None:
        keep_winners(extracted, tuned, kept.configs, context)
    done = BudgetRecord(stage, device.name, device.fingerprint, True, 0.0, trials=0)
    context.store.append([done])
    own, others = zip(*pairs, strict=True)
    return Beside(median(own), median(others), len(pairs), kept, measurement)


def _without_records(
    extracted: ExtractedNetwork, context: RunContext, accuracy: Accuracy
) -> Dispatched:
    """What is compiled where nothing was measured."""
    with TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "none", context.host, context.record_store)
        empty = replace(context, store=store, packs=())
        return dispatch_network(extracted, empty, accuracy)


def _key(*networks: Dispatched) -> str:
    """A hash that is equal for calls that would do the same."""
    every = [sorted((key, one.text) for key, one in each.configs.items()) for each in networks]
    return content_key({"beside untuned": every})


def _timed(
    extracted: ExtractedNetwork, tuned: Dispatched, untuned: Dispatched, context: RunContext
) -> list[tuple[float, float]]:
    """Seconds of a run of each, by pairs in drawn order."""
    random = Random(context.seed)
    found: list[tuple[float, float]] = []
    with (
        _linked(extracted, tuned, context) as one,
        _linked(extracted, untuned, context) as other,
    ):
        end = time.perf_counter() + _SECONDS
        while len(found) < _PAIRS or time.perf_counter() < end:
            turns = random.choice(((one, other), (other, one)))
            seconds = {network: network.time() for network in turns}
            found.append((seconds[one], seconds[other]))
    return found


def _linked(
    extracted: ExtractedNetwork, dispatched: Dispatched, context: RunContext
) -> CompiledNetwork:
    compiled, _ = link_assembly(extracted, dispatched.assembly, context)
    compiled.run(random_inputs(extracted.network, context.seed))
    compiled.benchmark(1, _WARMUP)
    return compiled
