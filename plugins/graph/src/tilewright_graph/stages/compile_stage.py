"""The stage `compile`: a network becomes an artefact."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from statistics import median
from typing import Any, ClassVar

from pydantic import Field

from tilewright.options import Options
from tilewright_graph.compiled.bucketed_network import BucketedNetwork
from tilewright_graph.compiled.compile import CompileReport, compile_network
from tilewright_graph.compiled.compile_buckets import compile_buckets
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_graph.extraction.extracted_buckets import ExtractedBuckets
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.ranges.dimensions import Sizes
from tilewright_graph.selection.candidates import Accuracy
from tilewright_graph.selection.graph_tuning import GraphChoice
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.stages.stage import StageResult

_log = logging.getLogger("tilewright")
FOLDER = "network"
_RUNS, _WARMUP, _SECONDS = 20, 3, 2.0


class CompileOptions(Options):
    """Options of the stage `compile`."""

    accuracy: Accuracy = Field(
        default="default",
        description="`strict`: only strategies that keep the direct algorithm's numerical error.",
    )


class CompileStage:
    """Compiles with the best that is known, and saves the result into the run's folder."""

    consumes: ClassVar[tuple[type, ...]] = (ExtractedNetwork,)
    optional: ClassVar[tuple[type, ...]] = (GraphChoice, ExtractedBuckets)
    produces: ClassVar[tuple[type, ...]] = (CompiledNetwork, BucketedNetwork)

    def __init__(self, options: CompileOptions, context: RunContext) -> None:
        self._options = options
        self._context = context

    def run(self, values: Mapping[type, Any]) -> StageResult:
        extracted: ExtractedNetwork = values[ExtractedNetwork]
        accuracy = self._options.accuracy
        made: tuple[Any, ...]
        if ExtractedBuckets in values:
            bucketed, reports = compile_buckets(values[ExtractedBuckets], self._context, accuracy)
            most = bucketed.dimensions.most
            compiled, report = bucketed.networks[most], reports[most]
            made, told = (compiled, bucketed), {"buckets": _told(bucketed, reports)}
        else:
            compiled, report = compile_network(extracted, self._context, accuracy)
            made, told = (compiled,), {}
        self._warn_of_strangers(extracted)
        if self._context.saves:
            made[-1].save(self._context.folder / FOLDER)
        compiled.run(random_inputs(extracted.network, self._context.seed))
        latency = compiled.benchmark(_RUNS, _WARMUP, _SECONDS)
        _log.info("%s: %s", compiled.name, report)
        prediction = {
            "sum_of_kernels_ms": report.prediction.seconds * 1e3,
            "network_ms": median(latency.seconds) * 1e3,
            "share_without_record": report.prediction.share_without_record,
        }
        entry = {
            "configs": dict(report.sources),
            "transforms": report.transforms,
            "kernels": list(report.kernels),
            "arena_bytes": report.memory.arena_bytes,
            "arena_bound_bytes": report.memory.bound_bytes,
        }
        return StageResult(made, {"prediction": prediction, "compile": entry, **told})

    def _warn_of_strangers(self, extracted: ExtractedNetwork) -> None:
        """Say so where the records hold graph choices, none of them for this network."""
        context = self._context
        held = context.store.graph_choices(context.device.fingerprint, context.host.revisions)
        if held and held.keys().isdisjoint(kernel.key for kernel in extracted.kernels):
            of = {choice.task.target for choice in held.values()}
            others = ", ".join(sorted(map(str, of)))
            here = extracted.target in of
            _log.warning(
                "%s: the %d graph choices in %s are of %s, and not used",
                extracted.name,
                len(held),
                context.store.path,
                "other networks" if here else f"other targets ({others}; this is {context.target})",
            )


def _told(network: BucketedNetwork, reports: Mapping[Sizes, CompileReport]) -> dict[str, Any]:
    """What run.json says of the buckets; the other members are of the largest."""
    dimensions = network.dimensions
    return {
        "dimensions": {one.name: str(one.sizes) for one in dimensions.each},
        "constant_bytes": network.constant_bytes,
        "table": [row.to_json(dimensions) for row in network.table],
        "each": [
            {
                "sizes": dimensions.named(sizes),
                "network_ms": network.seconds[sizes] * 1e3,
                "sum_of_kernels_ms": report.prediction.seconds * 1e3,
                "configs": dict(report.sources),
                "code_bytes": len(network.networks[sizes].parts()[0].data),
                "arena_bytes": report.memory.arena_bytes,
            }
            for sizes, report in reports.items()
        ],
    }
