"""A choice over a network as records, one for each node, written as far as the store lacks it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tilewright.strategies.strategy import strategy_of
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.record import ErrorBound, GraphRecord, WonInNetwork
from tilewright.vocabulary.task import Task
from tilewright_graph.extraction.kernel_node import KernelNode
from tilewright_pipeline.context.run_context import RunContext


def keep_choice(
    kernels: Iterable[KernelNode],
    configs: Mapping[str, ConfigEntity],
    context: RunContext,
    bounds: Mapping[str, ErrorBound],
    won: Mapping[str, WonInNetwork] | None = None,
) -> None:
    """Write what differs from the choices that the store holds; all by the kernels' keys.

    `won` tells which of the configs won inside the network. Without it, the choice rests on the
    kernels' own times, and what won over the very config that is chosen now stays: of other layouts
    where all of the choice is what it was, for such win as a whole.
    """
    device, revisions, host = context.device, context.host.revisions, context.host
    known = context.store.graph_choices(device.fingerprint, revisions)
    every, records = [*kernels], []
    before = {key: one.by_own_times for key, one in known.items()}
    same = all(before.get(one.key) == configs[one.key] for one in every)

    def stays(task: Task, winner: ConfigEntity, over: ConfigEntity) -> bool:
        return same or host.layouts(task, winner) == host.layouts(task, over)

    for kernel in every:
        config, held = configs[kernel.key], known.get(kernel.key)
        record = GraphRecord(
            kernel.key,
            kernel.task,
            config,
            device.name,
            device.fingerprint,
            revisions[strategy_of(config.strategy)],
            bound=bounds.get(kernel.key),
            won=(won or {}).get(kernel.key),
        )
        if held is None or (held.task, held.bound) != (record.task, record.bound):
            records.append(record)
        elif (
            won is None
            and held.won is not None
            and held.won.over == config
            and stays(kernel.task, held.config, config)
        ):
            continue
        elif (held.config, held.won) != (config, record.won):
            records.append(record)
    if records:
        context.store.append(records)
