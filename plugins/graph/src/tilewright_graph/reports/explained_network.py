"""Why the kernels of a network have their configs, as its pipeline would choose them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.reports.explanation import Explainer, KernelExplanation
from tilewright_graph.selection.candidates import Accuracy
from tilewright_graph.stages.compile_stage import CompileOptions
from tilewright_graph.stages.graph_tune_options import GraphTuneOptions
from tilewright_pipeline.context.run_context import RunContext


class ExplainedNetwork:
    """Explains in the accuracy of the last stage that has one: what that stage takes."""

    def __init__(
        self, extracted: ExtractedNetwork, context: RunContext, options: Sequence[Any]
    ) -> None:
        self._extracted = extracted
        self._context = context
        choosing = [one for one in options if isinstance(one, CompileOptions | GraphTuneOptions)]
        self._accuracy: Accuracy = choosing[-1].accuracy if choosing else "default"

    @property
    def parts(self) -> list[str]:
        """The names of its kernels."""
        return [kernel.name for kernel in self._extracted.kernels]

    def explain(self, part: str | None) -> Iterator[KernelExplanation]:
        """The kernels of a name, key, or key of their task; else those not at their own best."""
        explainer = Explainer(self._extracted, self._context, self._accuracy)
        for kernel in self._extracted.kernels:
            task = kernel.task
            if part in (kernel.name, kernel.key, task.workload.key, task.key):
                yield explainer.explain(kernel)
            elif part is None:
                explanation = explainer.explain(kernel)
                if explanation.chosen != explanation.best:
                    yield explanation


def explained(
    value: object, context: RunContext, options: Sequence[Any]
) -> ExplainedNetwork | None:
    """What explains an extracted network; None for every other value."""
    if not isinstance(value, ExtractedNetwork):
        return None
    return ExplainedNetwork(value, context, options)
