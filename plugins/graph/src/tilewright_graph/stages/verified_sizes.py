"""Whether a bucketed network answers right at the ends of every row of its table."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.options import Choice
from tilewright_graph.compiled.bucketed_network import BucketedNetwork
from tilewright_graph.network.buckets import Buckets
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.verification.answers import ask_oracles
from tilewright_graph.verification.own_rows import with_own_rows
from tilewright_graph.verification.verification import Comparison, compare
from tilewright_pipeline.context.run_context import RunContext
from tilewright_tensor.operators.operators import Operators


def verified_sizes(
    compiled: BucketedNetwork, buckets: Buckets, oracle: Choice, rtol: float, context: RunContext
) -> Iterator[tuple[int, Comparison]]:
    """The comparison at the least and the largest size of each row of the table, by size.

    The oracle answers at the next bucket's size, of which the first rows are those of a smaller.
    """
    dimension, operators = compiled.dimension, Operators.of(context.host)
    sizes = {size for row in compiled.table for size in (row.sizes.least, row.sizes.most)}
    below = 0
    for bucket, network in buckets.networks.items():
        inputs = random_inputs(network, context.seed)
        told = ask_oracles(network, [inputs], oracle, rtol, context.host)
        for size in sorted(size for size in sizes if below < size <= bucket):
            given = dimension.part(inputs, 0, size)
            ours = compiled.observe(given)
            theirs = dimension.part(told.answers[0], 0, size)
            if size == bucket:
                theirs = with_own_rows(network, given, ours, theirs, operators)
            yield size, compare(ours, theirs, told.decisive)
        below = bucket
