"""The stage `finals`: the best kernels of the network's records, exchanged while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.finals.finals_options import FinalsOptions
from tilewright_graph.finals.last_word import last_word
from tilewright_graph.selection.graph_tuning import GraphChoice
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.stages.stage import StageResult


class FinalsStage:
    """Keeps what makes the whole network faster, as the choice that `compile` takes."""

    consumes: ClassVar[tuple[type, ...]] = (ExtractedNetwork,)
    optional: ClassVar[tuple[type, ...]] = (GraphChoice,)
    produces: ClassVar[tuple[type, ...]] = ()

    def __init__(self, options: FinalsOptions, context: RunContext) -> None:
        self._options = options
        self._context = context

    def run(self, values: Mapping[type, Any]) -> StageResult:
        told = last_word(values[ExtractedNetwork], self._context, self._options)
        return StageResult(report={"finals": told})
