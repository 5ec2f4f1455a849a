"""From the extracted networks of buckets to one network for all their sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from statistics import median

from tilewright_graph.compiled.bucketed_network import BucketedNetwork
from tilewright_graph.compiled.compile import CompileReport, link_dispatched, refuse_unrecorded
from tilewright_graph.compiled.packed_constants import pack_constants
from tilewright_graph.extraction.extracted_buckets import ExtractedBuckets
from tilewright_graph.extraction.inner_rows import InnerRows
from tilewright_graph.network.random_inputs import random_arrays
from tilewright_graph.ranges.dimensions import Sizes
from tilewright_graph.selection.candidates import Accuracy
from tilewright_graph.selection.dispatching import dispatch_network
from tilewright_pipeline.context.run_context import RunContext

_ROUNDS, _RUNS, _WARMUP, _SECONDS = 4, 5, 1, 0.125  # of each bucket, in turns: they are compared


def compile_buckets(
    extracted: ExtractedBuckets, context: RunContext, accuracy: Accuracy = "default"
) -> tuple[BucketedNetwork, Mapping[Sizes, CompileReport]]:
    """The network ready to run, each bucket timed, and by its sizes how each came about.

    Every bucket takes the best that is known for its own shapes. What its configs make of a weight
    is in memory once for all buckets that make the same of it. In a frozen run the records say how
    long each takes, so that equal records make equal tables. Raises UsageError as
    `compile_network`.
    """
    dispatched = [dispatch_network(one, context, accuracy) for one in extracted]
    refuse_unrecorded([*zip(extracted, dispatched, strict=True)], context)
    packed = pack_constants([one.assembly.constants for one in dispatched])
    compiled, reports, dimensions = {}, {}, extracted.dimensions
    parts = zip(extracted.networks.items(), dispatched, packed, strict=True)
    inner: dict[Sizes, InnerRows | None] = {}
    for (sizes, one), configs, constants in parts:
        inner[sizes] = rows = InnerRows.of(one, dimensions, sizes)
        made = link_dispatched(one, configs, context, constants, rows)
        compiled[sizes], reports[sizes] = made
    if context.frozen:
        told = {sizes: report.prediction.seconds for sizes, report in reports.items()}
        return BucketedNetwork(dimensions, compiled, told), reports
    along = dimensions.along
    least = dimensions.each[along].sizes.least
    fewest = {
        sizes: (*sizes[:along], least, *sizes[along + 1 :])
        for sizes in compiled
        if inner[sizes] is not None and least < sizes[along]
    }
    for network in compiled.values():
        network.run(random_arrays(network.inputs, context.seed))
    taken: dict[tuple[Sizes, Sizes | None], list[float]] = defaultdict(list)
    for _ in range(_ROUNDS):
        for sizes, some in (*dict.fromkeys(compiled).items(), *fewest.items()):
            taken[sizes, some] += compiled[sizes].benchmark(_RUNS, _WARMUP, _SECONDS, some).seconds
    seconds = {sizes: median(taken[sizes, None]) for sizes in compiled}
    least_seconds = {sizes: median(taken[sizes, rows]) for sizes, rows in fewest.items()}
    return BucketedNetwork(dimensions, compiled, seconds, least_seconds), reports
