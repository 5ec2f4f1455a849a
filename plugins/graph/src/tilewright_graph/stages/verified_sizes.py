"""Whether a bucketed network answers right at the ends of every row of its table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tilewright.errors import UsageError
from tilewright.options import Choice
from tilewright_graph.compiled.bucketed_network import BucketedNetwork
from tilewright_graph.network.network import Network
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.ranges.buckets import Buckets
from tilewright_graph.ranges.dimensions import Sizes
from tilewright_graph.verification.answers import OracleAnswers, ask_oracles
from tilewright_graph.verification.own_rows import with_own_rows
from tilewright_graph.verification.reference_oracle import what_it_runs
from tilewright_graph.verification.verification import Comparison, compare
from tilewright_pipeline.context.run_context import RunContext
from tilewright_tensor.operators.operators import Operators


def verified_sizes(
    compiled: BucketedNetwork, buckets: Buckets, oracle: Choice, rtol: float, context: RunContext
) -> Iterator[tuple[Sizes, Comparison | UsageError]]:
    """The comparison at the least and the largest sizes of each row of the table, by sizes.

    An error in its place says why the oracle cannot tell there.

    The oracle answers at the next bucket's sizes, of which the first rows are those of smaller.
    Where rows read others, it answers at the very sizes; one that runs the bucket's network gets
    its masks, so that it tells nothing of them.
    """

    def ask(network: Network, inputs: Mapping[str, Any]) -> OracleAnswers | UsageError:
        try:
            return ask_oracles(network, [inputs], oracle, rtol, context.host)
        except UsageError as error:
            return error

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
        of_bucket = ask(network, inputs)
        for sizes in sorted(served):
            given, told = dimensions.part(inputs, sizes), of_bucket
            if sizes != bucket and not alone:
                itself = what_it_runs(asked_one, network, context.host) is network
                masked = {**inputs, **dimensions.masks(bucket, sizes)}
                told = ask(network, masked if itself else given)
            if isinstance(told, UsageError):
                yield sizes, told
                continue
            ours = compiled.observe(given)
            theirs = dimensions.part(told.answers[0], sizes)
            if sizes == bucket:
                theirs = with_own_rows(network, given, ours, theirs, operators)
            yield sizes, compare(ours, theirs, told.decisive)
