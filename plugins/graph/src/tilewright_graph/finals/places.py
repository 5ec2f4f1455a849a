"""Where in a network kernels are exchanged, and for which configs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.record import GraphRecord
from tilewright.vocabulary.task import Task
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.extraction.kernel_node import KernelNode
from tilewright_graph.selection.candidates import (
    Accuracy,
    allowed,
    context_of,
    estimated_seconds,
)
from tilewright_graph.selection.dispatching import Dispatched
from tilewright_graph.selection.prediction import recorded_seconds
from tilewright_pipeline.context.run_context import RunContext

_NEAR = 1.2
"""Times the seconds alone of what was chosen: what is slower than that wins in no network."""


@dataclass(frozen=True, slots=True)
class Place:
    """A node whose kernel may be exchanged.

    call      its number among the calls of the assembly
    chosen    its config by the kernels' own times
    standing  its config at present
    rivals    others with the same layouts and precision, by the rank of their records
    """

    kernel: KernelNode
    call: int
    chosen: ConfigEntity
    standing: ConfigEntity
    rivals: tuple[ConfigEntity, ...]

    @property
    def configs(self) -> tuple[ConfigEntity, ...]:
        """All of them, the present one first."""
        return tuple(dict.fromkeys((self.standing, self.chosen, *self.rivals)))


def find_places(
    extracted: ExtractedNetwork,
    dispatched: Dispatched,
    context: RunContext,
    accuracy: Accuracy,
    *,
    kernels: int,
    candidates: int,
) -> tuple[Place, ...]:
    """The kernels that take longest and have rivals, with so many of these each."""
    number_of = {(c.node, c.task): n for n, c in enumerate(dispatched.assembly.calls)}
    known: Mapping[str, GraphRecord] = context.store.graph_choices(
        context.device.fingerprint, context.host.revisions
    )
    direct = dispatched.max_error is not None
    found: list[tuple[float, Place]] = []
    rivals: dict[tuple[Task, ConfigEntity], tuple[ConfigEntity, ...]] = {}
    for kernel in extracted.kernels:
        number = number_of.get((kernel.name, kernel.task))
        if number is None or kernel.key in dispatched.entered:
            continue
        standing, held = dispatched.configs[kernel.key], known.get(kernel.key)
        before = held.by_own_times if held is not None and held.config == standing else standing
        if before != standing and _other_layouts(kernel.task, standing, before, context):
            before = standing  # a whole network won
        which = kernel.task, before
        if which not in rivals:
            every = _rivals(*which, context, accuracy, direct=direct)
            rivals[which] = tuple(islice(every, candidates))
        place = Place(kernel, number, which[1], standing, rivals[which])
        if len(place.configs) > 1:
            found.append((_seconds(*which, context), place))
    found.sort(key=lambda one: -one[0])
    return tuple(place for _, place in found[:kernels])


def _other_layouts(task: Task, one: ConfigEntity, other: ConfigEntity, context: RunContext) -> bool:
    host = context.host
    valid = host.space(task, context_of(task, context).strategies).is_valid(other)
    return not valid or host.layouts(task, one) != host.layouts(task, other)


def _rivals(
    task: Task, chosen: ConfigEntity, context: RunContext, accuracy: Accuracy, *, direct: bool
) -> Iterator[ConfigEntity]:
    """Those that read and write the same bytes, packed constants included, and multiply as exactly.

    `direct`: those that err as little. Each was checked when it was measured.
    """
    own = context_of(task, context)
    host, space = own.host, own.host.space(task, own.strategies)
    layouts, strategy = host.layouts(task, chosen), host.strategy(chosen.strategy)

    def usable(config: ConfigEntity) -> bool:
        other = host.strategy(config.strategy)
        return (
            config != chosen
            and other.precision == strategy.precision
            and (not direct or other.direct_error == strategy.direct_error)
            and allowed(config.strategy, host, accuracy)
            and space.is_valid(config)
            and host.layouts(task, config) == layouts
        )

    limit = recorded_seconds(task, chosen, context) or 0.0
    for ranked in own.history.ranked(task, usable):
        limit = limit or ranked.seconds
        if ranked.seconds > _NEAR * limit:
            break
        yield ranked.record.config


def _seconds(task: Task, config: ConfigEntity, context: RunContext) -> float:
    return recorded_seconds(task, config, context) or estimated_seconds(task, context)
