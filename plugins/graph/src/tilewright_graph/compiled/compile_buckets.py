"""From the extracted networks of buckets to one network for all their sizes."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from tilewright_graph.compiled.bucketed_network import BucketedNetwork
from tilewright_graph.compiled.compile import CompileReport, link_dispatched, refuse_unrecorded
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_graph.compiled.packed_constants import pack_constants
from tilewright_graph.extraction.extracted_buckets import ExtractedBuckets
from tilewright_graph.extraction.inner_rows import InnerRows
from tilewright_graph.network.random_inputs import random_arrays
from tilewright_graph.ranges.dimensions import Sizes
from tilewright_graph.selection.candidates import Accuracy
from tilewright_graph.selection.dispatching import dispatch_network
from tilewright_pipeline.context.run_context import RunContext

_RUNS, _WARMUP, _SECONDS = 20, 3, 0.5  # of each bucket


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
    seconds, least_seconds, along = {}, {}, dimensions.along
    least = dimensions.each[along].sizes.least
    for sizes, network in compiled.items():
        network.run(random_arrays(network.inputs, context.seed))
        seconds[sizes] = _seconds(network, None)
        if inner[sizes] is not None and least < sizes[along]:
            fewest = (*sizes[:along], least, *sizes[along + 1 :])
            least_seconds[sizes] = _seconds(network, fewest)
    return BucketedNetwork(dimensions, compiled, seconds, least_seconds), reports


def _seconds(network: CompiledNetwork, rows: Sizes | None) -> float:
    return median(network.benchmark(_RUNS, _WARMUP, _SECONDS, rows).seconds)
