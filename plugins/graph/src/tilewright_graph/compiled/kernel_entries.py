"""The kernels of a compiled network, as run.json lists them."""

from __future__ import annotations

from typing import Any

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.extraction.transforms import TRANSFORM
from tilewright_graph.selection.candidates import estimated_seconds
from tilewright_graph.selection.dispatching import (
    ENTERED,
    SOURCES,
    Dispatched,
    pack_behind,
    source_of,
)
from tilewright_graph.selection.prediction import recorded
from tilewright_graph.selection.transform_prices import TransformPrices


def kernel_entries(extracted: ExtractedNetwork, dispatched: Dispatched) -> list[dict[str, Any]]:
    """Each pair of task and config once, in order of first use, with the nodes it computes."""
    nodes: dict[tuple[Task, ConfigEntity], list[str]] = {}
    for call in dispatched.assembly.calls:
        nodes.setdefault((call.task, call.config), []).append(call.node)
    keys = {kernel.name: kernel.key for kernel in extracted.kernels}
    prices = TransformPrices.of(dispatched.context)
    return [
        _entry(kernel, names, keys.get(names[0]), dispatched, prices)
        for kernel, names in nodes.items()
    ]


def _entry(
    kernel: tuple[Task, ConfigEntity],
    names: list[str],
    key: str | None,
    dispatched: Dispatched,
    prices: TransformPrices,
) -> dict[str, Any]:
    task, config = kernel
    context = dispatched.context
    workload, host = task.workload, context.host
    reference, layouts = host.reference(workload.operator), host.layouts(task, config)
    transform = workload.operator == TRANSFORM
    found = recorded(task, config, context)
    answer = None if key is None else dispatched.answers[key]
    pack = pack_behind(answer, found)
    if found is not None:
        seconds = found.seconds
    else:
        seconds = prices(task) if transform else estimated_seconds(task, context)
    if key in dispatched.entered:
        source = ENTERED
    elif answer is not None:
        source = source_of(answer)
    else:
        _, history, fallback = SOURCES
        source = history if found else fallback
    flowing = (text for place, text in enumerate(layouts.inputs) if place not in layouts.packed)
    return {
        "nodes": names,
        "task": workload.key,
        "text": reference.format(workload),
        "operations": reference.operations(workload),
        "bytes": reference.bytes(workload),
        "config": config.to_json(),
        "precision": host.strategy(config.strategy).precision_of(task),
        "source": source,
        **({"pack": pack} if pack else {}),
        "seconds": seconds,
        "sequence": None if found is None else found.record.sequence,
        "samples": [] if found is None else list(found.record.trial.result.costs),
        "reads": list(dict.fromkeys(flowing)),
        "makes": layouts.outputs[0],
    }
