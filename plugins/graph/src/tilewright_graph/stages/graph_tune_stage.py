"""The stage `graph-tune`: one config for every kernel, chosen over the whole network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tilewright.options import Choice, Options
from tilewright.roles import RunContext, StageResult
from tilewright_graph.candidates import Accuracy
from tilewright_graph.extraction import ExtractedNetwork
from tilewright_graph.graph_tuning import GraphChoice, Measured, tune_graph


class GraphTuneOptions(Options):
    """Options of the stage `graph-tune`; `accuracy` as in `compile`."""

    graph_tuner: Choice = Choice(name="greedy")
    accuracy: Accuracy = "default"


class GraphTuneStage:
    """Chooses, measures the transforms that the choice needs, and keeps it as records."""

    consumes: ClassVar[tuple[type, ...]] = (ExtractedNetwork,)
    optional: ClassVar[tuple[type, ...]] = ()
    produces: ClassVar[tuple[type, ...]] = (GraphChoice,)

    def __init__(self, options: GraphTuneOptions, context: RunContext) -> None:
        self._options = options
        self._context = context

    def run(self, values: Mapping[type, Any]) -> StageResult:
        options, context = self._options, self._context
        tuner = context.host.choose("graph_tuner", options.graph_tuner, context.host)
        measured = Measured()
        choice = tune_graph(values[ExtractedNetwork], tuner, context, measured, options.accuracy)
        cost, bound = choice.solution.cost, choice.solution.bound
        graph = {
            "tuner": options.graph_tuner.name,
            "cost_ms": cost * 1e3,
            "bound_ms": None if bound is None else bound * 1e3,
            "gap": None if not bound else max(0.0, cost / bound - 1),
            "transforms": choice.transforms,
        }
        return StageResult((choice,), {"graph": graph, "measurement": measured.to_json()})
