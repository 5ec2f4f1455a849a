"""Whether a bucketed network answers right at the ends of every row of its table."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.options import Choice
from tilewright_graph.compiled.bucketed_network import BucketedNetwork
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.ranges.buckets import Buckets
from tilewright_graph.verification.answers import ask_oracles
from tilewright_graph.verification.own_rows import with_own_rows
from tilewright_graph.verification.reference_oracle import what_it_runs
from tilewright_graph.verification.verification import Comparison, compare
from tilewright_pipeline.context.run_context import RunContext
from tilewright_tensor.operators.operators import Operators


def verified_sizes(
    compiled: BucketedNetwork, buckets: Buckets, oracle: Choice, rtol: float, context: RunContext
) -> Iterator[tuple[dict[str, int], Comparison]]:
    """The comparison at the least and the largest sizes of each row of the table, by sizes.

    The oracle answers at the next bucket's sizes, of which the first rows are those of smaller.
    Where rows read others, it answers at the very sizes; one that runs the bucket's network gets
    its masks, so that it tells nothing of them.
    """
    dimensions, operators = compiled.dimensions, Operators.of(context.host)
    alone = all(one.independent or not one.padded for one in dimensions.each)
    asked_one = context.host.choose("oracle", oracle, context.host)
    left = {sizes for row in compiled.table for sizes in row.corners()}
    for bucket, network in buckets.networks.items():
        served = {one for one in left if all(map(int.__le__, one, bucket))}
        left -= served
        if not served:
            continue
        inputs = random_inputs(network, context.seed)
        told = ask_oracles(network, [inputs], oracle, rtol, context.host)
        for sizes in sorted(served):
            given, answers = dimensions.part(inputs, sizes), told.answers[0]
            ours = compiled.observe(given)
            if sizes != bucket and not alone:
                itself = what_it_runs(asked_one, network, context.host) is network
                masked = {**inputs, **dimensions.masks(bucket, sizes)}
                asked = masked if itself else given
                answers = ask_oracles(network, [asked], oracle, rtol, context.host).answers[0]
            theirs = dimensions.part(answers, sizes)
            if sizes == bucket:
                theirs = with_own_rows(network, given, ours, theirs, operators)
            yield dimensions.named(sizes), compare(ours, theirs, told.decisive)
