"""The stage `graph-tune`: one config for every kernel, chosen over the whole network."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any, ClassVar

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Place, completed
from tilewright.paths import path_of
from tilewright_graph.compiled.measured_error import MeasuredError
from tilewright_graph.extraction.extracted_buckets import ExtractedBuckets
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.finals.beside_untuned import Beside, UntunedNetwork
from tilewright_graph.finals.finals_options import FinalsOptions
from tilewright_graph.finals.last_word import last_word
from tilewright_graph.pictures.layout_flow import layout_flow
from tilewright_graph.pictures.layout_picture import layout_picture
from tilewright_graph.selection.graph_problem import MAX_ERROR, GraphTuner
from tilewright_graph.selection.graph_tuning import GraphChoice, precisions_of, tune_graph
from tilewright_graph.stages.graph_tune_options import GraphTuneOptions
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.measuring.measurement_spent import summed
from tilewright_pipeline.stages.stage import StageResult
from tilewright_pipeline.writing import check_file, writing_file

PICTURE = "layouts.svg"
_log = logging.getLogger("tilewright")


class GraphTuneStage:
    """Chooses, measures the transforms that the choice needs, and keeps it as records."""

    consumes: ClassVar[tuple[type, ...]] = (ExtractedNetwork,)
    optional: ClassVar[tuple[type, ...]] = (ExtractedBuckets,)
    produces: ClassVar[tuple[type, ...]] = (GraphChoice,)
    measures: ClassVar[bool] = True

    def __init__(self, options: GraphTuneOptions, context: RunContext) -> None:
        self._options = completed(options, context.host.default)
        self._context = context

    @staticmethod
    def option_mistakes(
        options: GraphTuneOptions, host: PluginHost
    ) -> Iterator[tuple[Place, UsageError]]:
        """That errors are bounded, and the graph tuner cannot keep to a bound."""
        tuner = completed(options, host.default).graph_tuner.name
        able = {
            n for n, one in host.components("graph_tuner").items() if MAX_ERROR in one.capabilities
        }
        if options.max_error is not None and tuner not in able:
            remedy = f"choose one that can: graph_tuner: {' or '.join(sorted(able))}"
            yield (
                ("max_error",),
                UsageError(
                    f"graph tuner '{tuner}' cannot keep to a bound on the network's error",
                    remedy=remedy,
                ),
            )

    def run(self, values: Mapping[type, Any]) -> StageResult:
        options, context = self._options, self._context
        extracted: ExtractedNetwork = values[ExtractedNetwork]
        if context.frozen or context.unmeasured:  # the choice that its records hold counts
            self._warn_of_what_is_left_out(extracted.name)
            return StageResult(partial=options.proof)
        tuner = context.host.choose("graph_tuner", options.graph_tuner, context.host)
        picture = self._picture
        if picture is not None:
            check_file(picture, "svg")
        choice, beside = self._choice(extracted, tuner)
        choices = [(extracted.name, choice)]
        if (buckets := values.get(ExtractedBuckets)) is not None:  # their choices stay as records
            choices += [
                (
                    f"{bucket.name} with {buckets.dimensions.sizes_text(sizes)}",
                    self._choice(bucket, tuner)[0],
                )
                for sizes, bucket in buckets.networks.items()
                if bucket is not extracted
            ]
        measurement = reduce(summed, (one.measurement for _, one in choices))
        lacking = [self._lacks(name, one) for name, one in choices]
        if picture is not None:
            self._draw(picture, extracted, choice)
        graph = {"tuner": options.graph_tuner.name, **choice.to_json()}
        if beside is not None and beside.pairs:
            graph["beside_untuned"] = beside.to_json()
        report = {"graph": graph, "measurement": measurement}
        if options.finals:
            last = FinalsOptions(seconds=options.finals, accuracy=options.accuracy)
            report["finals"] = last_word(extracted, context, last)
        return StageResult((choice,), report, partial=any(lacking))

    def _warn_of_what_is_left_out(self, name: str) -> None:
        """That nothing is proved or drawn, where that was asked for."""
        left = ["nothing is proved"] if self._options.proof else []
        left += ["nothing is drawn"] if self._options.svg is not None else []
        if left:
            why = "the run is frozen" if self._context.frozen else "the effort is 0"
            told = " and ".join(left)
            _log.warning("%s: %s, as %s, which leaves graph-tune out", name, told, why)

    def _lacks(self, name: str, choice: GraphChoice) -> bool:
        """Whether a choice keeps to no bound, or is not proved as asked: it is warned of."""
        error = choice.error
        exceeds = error is not None and not error.holds
        if error is not None and exceeds:
            what = f"even in float32 everywhere, its error of {error.exact:.3g} is above max_error"
            _log.warning("%s: %s %.3g", name, what, error.most)
        unproved = self._options.proof and not choice.solution.optimal
        if unproved:
            why = choice.solution.note or "this solver proves nothing"
            _log.warning("%s: the choice is not proved to be the best: %s", name, why)
        return unproved or exceeds

    def _choice(
        self, extracted: ExtractedNetwork, tuner: GraphTuner
    ) -> tuple[GraphChoice, Beside | None]:
        """The tuner's choice, or the untuned network's configs where these are faster in turns."""
        options, context, measured = self._options, self._context, None
        if options.max_error is not None:
            measured = MeasuredError(extracted, context, options.oracle, options.max_error)
            return tune_graph(extracted, tuner, context, options, measured), None
        untuned = UntunedNetwork.of(extracted, context, options.accuracy)  # of which it may choose
        choice = tune_graph(extracted, tuner, context, options)
        if untuned is None:
            return choice, None
        choice = replace(choice, measurement=summed(untuned.measurement, choice.measurement))
        beside, kept = untuned.beside_tuned(), untuned.dispatched
        if beside is None or not beside.untuned or kept.configs == choice.configs:
            return choice, beside
        _log.info("%s: the configs that nobody tuned are faster in turns, and kept", extracted.name)
        choice = replace(
            choice,
            kept="untuned",
            configs=kept.configs,
            transforms=kept.assembly.transforms,
            precisions=precisions_of(kept.configs.values(), context.host),
        )
        return choice, beside

    @property
    def _picture(self) -> Path | None:
        """Where the layouts are drawn: into the run's folder, unless somewhere else is named."""
        if self._options.svg is None:
            return self._context.folder / PICTURE if self._context.saves else None
        path, branch = path_of(self._options.svg), self._context.branch
        return path.with_name(f"{path.stem}-{branch}{path.suffix}") if branch else path

    def _draw(self, path: Path, extracted: ExtractedNetwork, choice: GraphChoice) -> None:
        host = self._context.host
        before = layout_flow(extracted, choice.history, host)
        after = layout_flow(extracted, choice.configs, host)
        panels = [("before, by history best", before), ("after, by graph-tune", after)]
        with writing_file(path, "svg"):
            path.write_text(layout_picture(extracted.name, panels), "utf-8")
