"""The kernels of a compiled network, as run.json lists them."""

from __future__ import annotations

from typing import Any

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.extraction.transforms import TRANSFORM
from tilewright_graph.selection.candidates import estimated_seconds
from tilewright_graph.selection.dispatching import ENTERED, SOURCES, Dispatched, source_of
from tilewright_graph.selection.transform_prices import TransformPrices
from tilewright_pipeline.context.run_context import RunContext


def kernel_entries(extracted: ExtractedNetwork, dispatched: Dispatched) -> list[dict[str, Any]]:
    """Each pair of task and config once, in order of first use, with the nodes it computes."""
    nodes: dict[tuple[Task, ConfigEntity], list[str]] = {}
    for call in dispatched.assembly.calls:
        nodes.setdefault((call.task, call.config), []).append(call.node)
    sources = _sources(extracted, dispatched)
    prices = TransformPrices.of(dispatched.context)
    return [
        _entry(kernel, names, sources.get(names[0]), dispatched.context, prices)
        for kernel, names in nodes.items()
    ]


def _entry(
    kernel: tuple[Task, ConfigEntity],
    names: list[str],
    source: str | None,
    context: RunContext,
    prices: TransformPrices,
) -> dict[str, Any]:
    task, config = kernel
    workload, host = task.workload, context.host
    reference, layouts = host.reference(workload.operator), host.layouts(task, config)
    transform = workload.operator == TRANSFORM
    found = next(iter(context.history.ranked(task, config.__eq__)), None)
    if found is not None:
        seconds = found.seconds
    else:
        seconds = prices(task) if transform else estimated_seconds(task, context)
    _, history, fallback = SOURCES
    flowing = (text for place, text in enumerate(layouts.inputs) if place not in layouts.packed)
    return {
        "nodes": names,
        "task": workload.key,
        "text": reference.format(workload),
        "operations": reference.operations(workload),
        "bytes": reference.bytes(workload),
        "config": config.to_json(),
        "precision": host.strategy(config.strategy).precision_of(task),
        "source": source or (history if found else fallback),
        "seconds": seconds,
        "sequence": None if found is None else found.record.sequence,
        "samples": [] if found is None else list(found.record.trial.result.costs),
        "reads": list(dict.fromkeys(flowing)),
        "makes": layouts.outputs[0],
    }


def _sources(extracted: ExtractedNetwork, dispatched: Dispatched) -> dict[str, str]:
    """Where the config of each kernel is from, by the kernel's name; see `SOURCES`."""
    found = {}
    for kernel in extracted.kernels:
        answer = dispatched.answers[kernel.key]
        found[kernel.name] = ENTERED if kernel.key in dispatched.entered else source_of(answer)
    return found
