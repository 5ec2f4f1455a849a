"""The stage `extract`: a network becomes tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tilewright.options import Options
from tilewright.vocabulary.task_set import TaskSet
from tilewright_graph.extraction.extracted_buckets import ExtractedBuckets
from tilewright_graph.extraction.extraction import ExtractedNetwork, extract
from tilewright_graph.network.network import Network
from tilewright_graph.passes.graph_pass import GraphPassEntry, apply_passes, passes_for
from tilewright_graph.ranges.buckets import Buckets
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.stages.stage import StageResult
from tilewright_pipeline.tuning.narrowing import tell_narrowing
from tilewright_tensor.operators.operators import Operators


class ExtractOptions(Options):
    """It has none."""


class ExtractStage:
    """Applies the passes, fuses, and takes the distinct tasks."""

    consumes: ClassVar[tuple[type, ...]] = (Network,)
    optional: ClassVar[tuple[type, ...]] = (Buckets,)
    produces: ClassVar[tuple[type, ...]] = (ExtractedNetwork, TaskSet, ExtractedBuckets)

    def __init__(self, _options: ExtractOptions, context: RunContext) -> None:
        self._context = context

    def run(self, values: Mapping[type, Any]) -> StageResult:
        host = self._context.host
        operators = Operators.of(host)
        target = self._context.target
        strategies = map(host.strategy, host.owners("strategy"))
        passes = host.hook_values("tilewright_graph_passes", GraphPassEntry)
        passes = passes_for(target.kind, passes, strategies)

        def extracted_from(network: Network) -> ExtractedNetwork:
            return extract(apply_passes(network, passes, operators), target, operators)

        buckets, others = values.get(Buckets), tuple[ExtractedBuckets, ...]()
        if buckets is None:
            extracted = extracted_from(values[Network])
            tasks = extracted.task_set()
        else:
            networks = {sizes: extracted_from(one) for sizes, one in buckets.networks.items()}
            every = ExtractedBuckets(buckets.dimensions, networks)
            extracted = networks[buckets.dimensions.most]
            tasks, others = every.task_set(), (every,)
        tell_narrowing(tasks, self._context)
        return StageResult((extracted, tasks, *others))
