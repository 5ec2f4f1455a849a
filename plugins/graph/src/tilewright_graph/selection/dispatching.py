"""Which config each kernel and transform of a network takes, and where it comes from."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from tilewright.roles import Ranked
from tilewright.strategies.dispatch import Answer, DispatchContext, current, entered
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.record import GraphRecord
from tilewright.vocabulary.task import Task
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.selection.agreed_layouts import ApplyAgreed, Free, agreed_configs
from tilewright_graph.selection.assembly import Assembly, assemble
from tilewright_graph.selection.candidates import Accuracy, allowed, allowed_space, context_of
from tilewright_graph.selection.prediction import Prediction, predict, unrecorded_transforms
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.dispatch.contexts import ApplyGraphBest, ApplyHistoryBest, asked_first
from tilewright_pipeline.dispatch.unmeasured import FALLBACK, Advised, unmeasured

_log = logging.getLogger("tilewright")

Best = Literal["graph", "history", "fallback"]
"""The best that may answer; what it cannot answer goes to those behind it."""


GRAPH_CHOICE = "graph choice"
SOURCES = (GRAPH_CHOICE, "history", FALLBACK)
"""Where configs come from, the best first."""

ADVICE = "advice"
"""Where configs come from that nobody measured and a plugin advised, in place of the fallback."""

_UNMEASURED = (ADVICE, FALLBACK)

ENTERED = "dispatch context"
"""Where configs come from that a context answered which the caller had entered: asked first."""


def source_of(answer: Answer) -> str:
    """Which of `SOURCES` an answer is of, or `ADVICE`."""
    if isinstance(answer, Advised):
        return ADVICE
    _, history, _ = SOURCES
    return answer.source if answer.source in SOURCES else history


def pack_behind(answer: Answer | None, found: Ranked | None) -> str:
    """The pack that a config comes from: by the answer itself, or by the time it was chosen for.

    Empty where no pack has part in it.

    answer   None for a transform
    found    the config's record
    """
    chosen = answer is None or answer.source == GRAPH_CHOICE
    by_time = found.record.pack if found is not None and chosen else ""
    return (answer.pack if answer is not None else "") or by_time


@dataclass(frozen=True)
class Dispatched:
    """An assembly, and what its kernels were answered, by their keys.

    entered   the kernels for which a context answered that the caller had entered
    idle      those neither tuned nor called: slices that lie in what they are cut from
    max_error within which a graph tuner's choice among the answers kept the network's error
    """

    assembly: Assembly
    answers: Mapping[str, Answer]
    entered: Set[str]
    idle: Set[str]
    context: RunContext
    max_error: float | None = None

    @cached_property
    def prediction(self) -> Prediction:
        """What it should take, by the records of when it is first asked for."""
        return predict(self.assembly.calls, self.context)

    @property
    def configs(self) -> dict[str, ConfigEntity]:
        """The config of each kernel, by its key."""
        return {key: answer.config for key, answer in self.answers.items()}

    @property
    def sources(self) -> dict[str, int]:
        """How many kernels took their config from where: `SOURCES`, and others where any did.

        Without those that are idle.
        """
        counted = self.answers.keys() - self.idle
        own = [source_of(self.answers[key]) for key in counted - self.entered]
        by_caller = len(counted & self.entered)
        first = {ENTERED: by_caller} if by_caller else {}
        advised = {ADVICE: own.count(ADVICE)} if ADVICE in own else {}
        return {**first, **{source: own.count(source) for source in SOURCES}, **advised}


def dispatch_network(
    extracted: ExtractedNetwork, context: RunContext, accuracy: Accuracy, best: Best = "graph"
) -> Dispatched:
    """Every kernel and transform with the config that the stack of dispatch contexts gives it.

    First are asked the contexts that the caller has entered. Else a node takes the graph tuner's
    choice, else the best record of its task, else the best of its anchor, else the fallback. Where
    less of the network failed without the choice, or the best records predict a faster one, it is
    passed over, with a warning. There, what won inside the network counts as what it won over. A
    choice that keeps the network's error within a bound is not passed over for being slower.

    Where these configs need layout transforms, kernels without a choice take other records than
    their best, or without a record what is advised for other layouts, if a faster network is then
    predicted. By `history` and `fallback` each keeps its own.
    """
    every = _contexts(context, accuracy)
    contexts = every[: 1 + ("fallback", "history", "graph").index(best)]
    found = _dispatched(extracted, context, accuracy, contexts)
    if best == "graph":
        found = _agreed(found, extracted, accuracy, contexts)
    if not found.sources[GRAPH_CHOICE]:
        return found
    without = _dispatched(extracted, context, accuracy, every[:-1])
    if not _by_own_times(found, extracted, accuracy, contexts).beaten_by(without.prediction):
        return found
    if found.max_error is not None and found.prediction.failed <= without.prediction.failed:
        return found
    without = _agreed(without, extracted, accuracy, every[:-1])
    _log.warning(
        "%s: passed over the graph choice in %s, as what can be used of it is beaten: "
        "%s predicted, %s without it; run graph-tune with these options to choose anew",
        extracted.name,
        context.store.path,
        found.prediction,
        without.prediction,
    )
    return without


def _agreed(
    found: Dispatched,
    extracted: ExtractedNetwork,
    accuracy: Accuracy,
    contexts: Sequence[DispatchContext],
) -> Dispatched:
    """With configs that agree on layouts where each kernel's own do not, if that is faster.

    A frozen run avoids transforms without a record, which it cannot have, at any price. Beside
    choices that keep an error within a bound, configs stay as they are: others may err more.
    """
    context, answers = found.context, found.answers
    own = answers.keys() - found.entered
    measured = {key for key in own if answers[key].seconds is not None}
    guessed = {key for key in own if source_of(answers[key]) in _UNMEASURED and not context.frozen}
    if not (found.assembly.transforms and (measured or guessed)) or found.max_error is not None:
        return found
    free = Free(measured, guessed)
    chosen = agreed_configs(extracted, found.configs, free, context, accuracy)
    if not chosen.configs:
        return found
    agreed = _dispatched(extracted, context, accuracy, contexts, chosen.configs)
    if context.frozen and any(unrecorded_transforms(found.assembly.calls, context)):
        return agreed
    predicted = agreed.prediction
    predicted = replace(predicted, seconds=predicted.seconds + chosen.slower)
    return agreed if found.prediction.beaten_by(predicted) else found


def _by_own_times(
    found: Dispatched,
    extracted: ExtractedNetwork,
    accuracy: Accuracy,
    contexts: Sequence[DispatchContext],
) -> Prediction:
    """The prediction of a choice as it was before anything won inside the network."""
    context, configs = found.context, found.configs
    choices, over = _choices(context), {}
    for kernel in extracted.kernels:
        choice = choices.get(kernel.key)
        if choice is not None and choice.won and choice.config == configs[kernel.key]:
            space = context.host.space(kernel.task, context_of(kernel.task, context).strategies)
            if space.is_valid(choice.by_own_times):
                over[kernel.key] = choice.by_own_times
    if not over:
        return found.prediction
    return _dispatched(extracted, context, accuracy, contexts, configs | over).prediction


def _choices(context: RunContext) -> dict[str, GraphRecord]:
    """The last choice for each node."""
    return context.store.graph_choices(context.device.fingerprint, context.host.revisions)


def _dispatched(
    extracted: ExtractedNetwork,
    context: RunContext,
    accuracy: Accuracy,
    contexts: Sequence[DispatchContext],
    agreed: Mapping[str, ConfigEntity] | None = None,
) -> Dispatched:
    answers: dict[str, Answer] = {}
    first = _EnteredContexts(context, accuracy)
    by_caller: set[str] = set()

    def choose(task: Task, node: str) -> ConfigEntity:
        answer = first.answer(task, node)
        if answer is not None:
            by_caller.add(node)
        else:
            answer = current().query(task, node or None)
        assert answer is not None, "the fallback answers everything"
        if node:
            answers[node] = answer
        return answer.config

    with ExitStack() as stack:
        for own in contexts:
            stack.enter_context(own)
        stack.enter_context(ApplyAgreed(agreed or {}, context))
        assembly = assemble(extracted, choose, context.host)
    by_tuner = {key for key, answer in answers.items() if answer.source == GRAPH_CHOICE}
    by_caller &= answers.keys()
    max_error = _kept_error(by_tuner - by_caller, context)
    called = {call.node for call in assembly.calls}
    used = {kernel.key for kernel in extracted.kernels if kernel.name in called}
    idle = answers.keys() - used - {kernel.key for kernel in extracted.searched}
    return Dispatched(assembly, answers, by_caller, idle, context, max_error)


def _kept_error(nodes: Set[str], context: RunContext) -> float | None:
    """The widest bound within which choices for these nodes were made, None without any."""
    if context.host.precision == "float32":  # which adds no error to keep within a bound
        return None
    bounds = (choice.bound for node, choice in _choices(context).items() if node in nodes)
    return max((bound.most for bound in bounds if bound is not None), default=None)


def fixed_kernels(
    extracted: ExtractedNetwork, context: RunContext, accuracy: Accuracy
) -> dict[str, ConfigEntity]:
    """By key, the kernels for which a context answers that the caller has entered."""
    first = _EnteredContexts(context, accuracy)
    found = {kernel.key: first.answer(kernel.task, kernel.key) for kernel in extracted.kernels}
    return {key: answer.config for key, answer in found.items() if answer is not None}


class _EnteredContexts:
    """The contexts that the caller has entered by now; what they answer must be allowed."""

    def __init__(self, context: RunContext, accuracy: Accuracy) -> None:
        self._contexts = entered()
        self._context, self._accuracy = context, accuracy

    def answer(self, task: Task, node: str) -> Answer | None:
        """Theirs for a kernel; a transform follows from the kernels and is no node."""
        if not (self._contexts and node):
            return None
        reference = self._context.host.reference(task.workload.operator)
        return asked_first(
            self._contexts,
            task,
            node,
            lambda: allowed_space(task, self._context, self._accuracy),
            f"kernel {reference.format(task.workload)}",
            present=self._context.host.present,
        )


@dataclass(frozen=True, eq=False)
class _Fallback(DispatchContext):
    """The fallback among the strategies that the accuracy allows, and of what did not fail.

    known   what it answered: it reads the records of a task once
    """

    context: RunContext
    accuracy: Accuracy
    known: dict[Task, Answer] = field(default_factory=dict)

    def find(self, task: Task, _node: str | None) -> Answer:
        if task not in self.known:
            self.known[task] = self._find(task)
        return self.known[task]

    def _find(self, task: Task) -> Answer:
        failed = context_of(task, self.context).history.failed(task)
        space = allowed_space(task, self.context, self.accuracy)
        return unmeasured(task, space, self.context.host, self.context.device, failed)


@dataclass(frozen=True, eq=False)
class _History(DispatchContext):
    """The best record of a task, of the strategies that the run and the accuracy allow.

    known   what it answered, by task
    """

    context: RunContext
    accuracy: Accuracy
    known: dict[Task, Answer | None] = field(default_factory=dict)

    def find(self, task: Task, _node: str | None) -> Answer | None:
        if task not in self.known:
            self.known[task] = self._find(task)
        return self.known[task]

    def _find(self, task: Task) -> Answer | None:
        context = context_of(task, self.context)
        return ApplyHistoryBest(
            context.history,
            where=lambda config: allowed(config.strategy, context.host, self.accuracy),
        ).find(task, None)


def _contexts(context: RunContext, accuracy: Accuracy) -> tuple[DispatchContext, ...]:
    """From the outermost in."""
    host = context.host
    graph = ApplyGraphBest(
        _choices(context),
        GRAPH_CHOICE,
        where=lambda task, config: (
            allowed(config.strategy, host, accuracy)
            and host.space(task, context_of(task, context).strategies).is_valid(config)
        ),
    )
    return _Fallback(context, accuracy), _History(context, accuracy), graph
