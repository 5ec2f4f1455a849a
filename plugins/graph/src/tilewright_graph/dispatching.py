"""Which config every kernel and transform of a network takes, and who said so."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal

from tilewright.config import ConfigEntity
from tilewright.dispatch import (
    Answer,
    ApplyGraphBest,
    ApplyHistoryBest,
    DispatchContext,
    current,
)
from tilewright.fallback import fallback_besides
from tilewright.roles import RunContext
from tilewright.task import Task
from tilewright_graph.assembly import Assembly, assemble
from tilewright_graph.candidates import (
    Accuracy,
    allowed,
    allowed_space,
    context_of,
)
from tilewright_graph.extraction import ExtractedNetwork
from tilewright_graph.prediction import predict

_log = logging.getLogger("tilewright")

Best = Literal["graph", "history", "fallback"]
"""The best that may answer; what it cannot answer goes to those behind it."""


GRAPH_CHOICE = "graph choice"
SOURCES = (GRAPH_CHOICE, "history", "fallback")
"""Where configs come from, the best first."""


@dataclass(frozen=True, slots=True)
class Dispatched:
    """An assembly, and what its kernels were answered, by their keys."""

    assembly: Assembly
    answers: Mapping[str, Answer]

    @property
    def configs(self) -> dict[str, ConfigEntity]:
        """The config of each kernel, by its key."""
        return {key: answer.config for key, answer in self.answers.items()}

    @property
    def sources(self) -> dict[str, int]:
        """How many kernels took their config from where: each of `SOURCES`."""
        found = [answer.source for answer in self.answers.values()]
        known = {source: found.count(source) for source in SOURCES}
        return {**known, "history": len(found) - sum(known.values())}


def dispatch_network(
    extracted: ExtractedNetwork, context: RunContext, accuracy: Accuracy, best: Best = "graph"
) -> Dispatched:
    """Every kernel and transform with the config that the stack of dispatch contexts gives it.

    A node takes the graph tuner's choice, else the best record of its task, else the best of its
    anchor, else the fallback. Where less of the network failed without the choice, or the records
    predict a faster one, it is passed over, with a warning.
    """
    found = _dispatched(extracted, context, accuracy, best)
    if not found.sources[GRAPH_CHOICE]:
        return found
    without = _dispatched(extracted, context, accuracy, "history")
    chosen = predict(found.assembly.calls, context)
    history = predict(without.assembly.calls, context)
    if not chosen.beaten_by(history):
        return found
    _log.warning(
        "%s: passed over the graph choice in %s, as what can be used of it is beaten: "
        "%s predicted, %s without it; run graph-tune with these options to choose anew",
        extracted.name,
        context.store.path,
        chosen,
        history,
    )
    return without


def _dispatched(
    extracted: ExtractedNetwork, context: RunContext, accuracy: Accuracy, best: Best
) -> Dispatched:
    answers: dict[str, Answer] = {}

    def choose(task: Task, node: str) -> ConfigEntity:
        answer = current().query(task, node or None)
        assert answer is not None, "the fallback answers everything"
        if node:
            answers[node] = answer
        return answer.config

    with ExitStack() as stack:
        for entered in _contexts(context, accuracy, best):
            stack.enter_context(entered)
        assembly = assemble(extracted, choose, context.host)
    return Dispatched(assembly, answers)


@dataclass(frozen=True, eq=False)
class _Fallback(DispatchContext):
    """The fallback among the strategies that the accuracy allows, and of what did not fail."""

    context: RunContext
    accuracy: Accuracy

    def find(self, task: Task, _node: str | None) -> Answer:
        failed = self.context.store.failed(context_of(task, self.context).query(task))
        space = allowed_space(task, self.context, self.accuracy)
        config = fallback_besides(failed, task, space, self.context.host)
        return Answer(config, None, "fallback")


@dataclass(frozen=True, eq=False)
class _History(DispatchContext):
    """The best record of a task, of the strategies that the run and the accuracy allow."""

    context: RunContext
    accuracy: Accuracy

    def find(self, task: Task, node: str | None) -> Answer | None:
        context = context_of(task, self.context)
        host = context.host
        return ApplyHistoryBest(
            context.store,
            host,
            context.device,
            context.conditions,
            context.strategies,
            where=lambda config: allowed(config.strategy, host, self.accuracy),
        ).find(task, node)


def _contexts(context: RunContext, accuracy: Accuracy, best: Best) -> tuple[DispatchContext, ...]:
    """From the outermost in."""
    host = context.host
    choices = context.store.graph_choices(context.device.fingerprint, host.revisions)
    graph = ApplyGraphBest(
        choices,
        GRAPH_CHOICE,
        where=lambda task, config: (
            allowed(config.strategy, host, accuracy)
            and host.space(task, context.strategies).is_valid(config)
        ),
    )
    every = (_Fallback(context, accuracy), _History(context, accuracy), graph)
    return every[: 1 + ("fallback", "history", "graph").index(best)]
