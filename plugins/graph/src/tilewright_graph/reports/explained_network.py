"""Why the kernels of a network have their configs, as its pipeline would choose them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tilewright_graph.extraction.extracted_buckets import ExtractedBuckets
from tilewright_graph.extraction.extraction import ExtractedNetwork, readable_name
from tilewright_graph.extraction.kernel_node import KernelNode
from tilewright_graph.reports.explanation import Explainer, KernelExplanation
from tilewright_graph.selection.candidates import Accuracy
from tilewright_graph.stages.compile_stage import CompileOptions
from tilewright_graph.stages.graph_tune_options import GraphTuneOptions
from tilewright_pipeline.context.run_context import RunContext


class ExplainedNetwork:
    """Explains in the accuracy of the last stage that has one: what that stage takes.

    networks   one, or those of all buckets, whose shapes tell their kernels apart
    """

    def __init__(
        self,
        networks: Sequence[ExtractedNetwork],
        context: RunContext,
        options: Sequence[Any],
    ) -> None:
        self._networks = networks
        self._context = context
        choosing = [one for one in options if isinstance(one, CompileOptions | GraphTuneOptions)]
        self._accuracy: Accuracy = choosing[-1].accuracy if choosing else "default"

    @property
    def parts(self) -> list[str]:
        """The names of its kernels."""
        return list(dict.fromkeys(one.name for each in self._networks for one in each.kernels))

    def explain(self, part: str | None) -> Iterator[KernelExplanation]:
        """The kernels of a name, key, or key of their task; else those not at their own best."""
        for extracted in self._networks:
            kernels = [one for one in extracted.kernels if part is None or part in _names(one)]
            if not kernels:
                continue
            explainer = Explainer(extracted, self._context, self._accuracy)
            for explanation in map(explainer.explain, kernels):
                if part is not None or explanation.chosen != explanation.best:
                    yield explanation


def _names(kernel: KernelNode) -> tuple[str, ...]:
    workload = kernel.task.workload
    return (kernel.name, kernel.key, readable_name(workload), workload.key, kernel.task.key)


def explained(
    value: object, context: RunContext, options: Sequence[Any]
) -> ExplainedNetwork | None:
    """What explains an extracted network, or buckets; None for every other value."""
    if isinstance(value, ExtractedNetwork):
        return ExplainedNetwork([value], context, options)
    if isinstance(value, ExtractedBuckets):
        return ExplainedNetwork([*value], context, options)
    return None
