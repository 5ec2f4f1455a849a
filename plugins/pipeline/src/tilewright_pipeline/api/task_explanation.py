"""Why a task has its config: which rules were asked, their answers, and the alternatives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from tilewright.canonical import thaw
from tilewright.strategies.dispatch import Answer, entered
from tilewright.strategies.strategy import strategy_of
from tilewright.terminal_text import brief
from tilewright_pipeline.context.time_text import ranked_text, time_text
from tilewright_pipeline.dispatch.contexts import ApplyHistoryBest, FallbackContext, asked_first
from tilewright_pipeline.dispatch.unmeasured import advice

if TYPE_CHECKING:
    from tilewright.roles import Ranked
    from tilewright.strategies.strategy import Declined
    from tilewright.vocabulary.task import Task
    from tilewright_pipeline.context.run_context import RunContext

_WIDTH, _INDENT = 100, " " * 6


@dataclass(frozen=True, slots=True)
class StrategyUse:
    """A strategy that serves the task.

    configs     size of its part of the space, infeasible points included
    advice      the values that it proposes where nothing was measured, None without an opinion
    precision   of its products
    peak_share  that its best reaches of the precision's peak, None where either is unknown
    """

    name: str
    revision: int
    priority: int
    configs: int
    measured: int
    failed: int
    best_seconds: float | None
    advice: Mapping[str, Any] | None
    precision: str
    peak_share: float | None

    def __str__(self) -> str:
        head = f"{self.name}, revision {self.revision}, priority {self.priority}"
        found = f"{self.configs} configs, {self.measured} measured, {self.failed} failed"
        best = "" if self.best_seconds is None else f", best {_time(self.best_seconds)}"
        if self.peak_share is not None:
            best += f", {self.peak_share:.0%} of the peak in {self.precision}"
        return f"{head}: {found}{best}"


@dataclass(frozen=True, slots=True)
class TaskExplanation:
    """The answer for a task and all that was considered.

    asked        who is asked, in turn, and what each answers; the first answer is taken
    measured     every config that has a time here, the fastest first
    strategies   by priority, as the fallback asks them
    declined     strategies for the operator that do not take the task
    not_counted  how many of the task's records were left out, by reason
    first_proposals  what those of a tuner with a model rest on; None where on nothing
    """

    task: Task
    text: str
    device: str
    records: str
    asked: Mapping[str, Answer | None]
    measured: Sequence[Ranked]
    strategies: Sequence[StrategyUse]
    declined: Sequence[Declined]
    not_counted: Mapping[str, int]
    first_proposals: str | None

    @classmethod
    def of(cls, task: Task, context: RunContext) -> TaskExplanation:
        """As the records stand, for the context's device, conditions and strategies.

        Dispatch contexts that the caller has entered are asked first.
        """
        host, history = context.host, context.history
        valid = host.space(task, context.strategies).is_valid
        measured = [*history.ranked(task, valid)]
        failed = history.failed(task, valid)
        fallback = FallbackContext(host, context.strategies, lambda _: failed, context.device)
        text = host.reference(task.workload.operator).format(task.workload)
        space = partial(host.space, task, context.strategies)
        first = advice(task, host.space(task, context.strategies), host, context.device)
        own = asked_first(
            contexts := entered(), task, None, space, f"kernel {text}", present=host.present
        )
        return cls(
            task,
            text,
            context.device.name,
            str(context.store.path),
            {
                **({"the dispatch contexts entered": own} if contexts else {}),
                "best record of the task, else of one with another epilogue": (
                    ApplyHistoryBest(history).find(task, None)
                ),
                "fallback, where nothing was measured": fallback.find(task, None),
            },
            measured,
            _strategies(task, context, measured, Counter(c.strategy for c in failed)),
            host.declined(task, context.strategies),
            _not_counted(task, context, len(measured) + len(failed)),
            None if first is None else first.told,
        )

    @property
    def answer(self) -> Answer | None:
        """The answer that is taken; None where no strategy has a feasible config."""
        return next((answer for answer in self.asked.values() if answer is not None), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "task": {
                "key": self.task.workload.key,
                "text": self.text,
                "target": str(self.task.target),
            },
            "device": self.device,
            "records": self.records,
            "answer": _answer_json(self.answer),
            "asked": [
                {"rule": rule, "answer": _answer_json(answer)}
                for rule, answer in self.asked.items()
            ],
            "measured": [
                {
                    "seconds": record.seconds,
                    "ranked_seconds": seconds,
                    "sequence": record.sequence,
                    "config": record.config.to_json(),
                }
                for record, seconds in self.measured
            ],
            "strategies": [asdict(use) for use in self.strategies],
            "declined": [asdict(each) for each in self.declined],
            "not_counted": dict(self.not_counted),
            "first_proposals": self.first_proposals,
        }

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<TaskExplanation {brief(self.text, 200)}: {brief(_answer_line(self.answer))}>"

    def lines(self) -> Iterator[str]:
        """For people, with the five fastest configs; knobs once, then those that differ."""
        yield f"{self.text} on {self.task.target}"
        yield f"  key {self.task.workload.key}, device {self.device}, records {self.records}"
        yield f"  answer: {_answer_line(self.answer)}"
        known = {} if self.answer is None else dict(self.answer.config.values)
        yield from knob_lines(known)
        yield "  asked, until one answers:"
        for rule, answer in self.asked.items():
            yield f"    {rule}: {_answer_line(answer)}"
        if self.measured:
            yield f"  first of the {len(self.measured)} configs that have a time:"
        for found in self.measured[:5]:
            config = found.record.config
            yield f"    {ranked_text(found)}  {config.strategy}"
            yield from knob_lines(
                {name: v for name, v in config.values.items() if known.get(name, "") != v}
            )
        yield "  strategies:"
        yield from (f"    {use}" for use in (*self.strategies, *self.declined))
        for reason, records in self.not_counted.items():
            yield f"  not counted, {reason}: {records}"
        if self.first_proposals is not None:
            yield f"  first proposals of a tuner with a model: from {self.first_proposals}"


def _strategies(
    task: Task, context: RunContext, found: Sequence[Ranked], failed: Mapping[str, int]
) -> list[StrategyUse]:
    host = context.host
    space = host.space(task, context.strategies)
    operations = host.reference(task.workload.operator).operations(task.workload)
    used = []
    for strategy in host.strategies(task, context.strategies):
        own = [each for each in found if strategy_of(each.record.config.strategy) == strategy.name]
        advice = host.implementation(strategy.name).fallback(task)
        precision = strategy.precision_of(task)
        peak = context.device.peak(precision, task.target.threads)
        best = own[0].seconds if own else None
        used.append(
            StrategyUse(
                strategy.name,
                strategy.revision,
                strategy.priority,
                sum(a.size for a in space.alternatives if strategy_of(a.name) == strategy.name),
                len(own),
                sum(n for name, n in failed.items() if strategy_of(name) == strategy.name),
                best,
                None if advice is None else advice.to_json()["values"],
                precision,
                operations / best / peak if best and peak else None,
            )
        )
    return sorted(used, key=lambda use: (-use.priority, use.name))


def _not_counted(task: Task, context: RunContext, counted: int) -> dict[str, int]:
    host, conditions = context.host, context.conditions.for_task(task)
    valid = host.space(task, context.strategies).is_valid
    reasons: Counter[str] = Counter()
    records = context.history.records(task)
    for record in records:
        revision = host.revisions.get(strategy_of(record.config.strategy))
        if record.fingerprint != context.device.fingerprint:
            reasons["made on another device"] += 1
        elif record.trial.input.conditions.constants != conditions.constants:
            reasons["measured under other conditions"] += 1
        elif revision != record.revision:
            known = "another revision of" if revision is not None else "a strategy not installed:"
            reasons[f"by {known} {strategy_of(record.config.strategy)}"] += 1
        elif record.trial.result.spoiled:
            reasons["spoiled by the machinery, not by the config"] += 1
        elif not valid(host.present(record.config)):
            reasons["no point of the space"] += 1
    again = len(records) - reasons.total() - counted
    return {**reasons, "measured again later": again} if again else dict(reasons)


def _time(seconds: float | None) -> str:
    return "no time" if seconds is None else time_text(seconds)


def _answer_json(answer: Answer | None) -> dict[str, Any] | None:
    if answer is None:
        return None
    config = answer.config.to_json()
    pack = {"pack": answer.pack} if answer.pack else {}
    return {"source": answer.source, **pack, "seconds": answer.seconds, "config": config}


def _answer_line(answer: Answer | None) -> str:
    if answer is None:
        return "none"
    time = "" if answer.seconds is None else f"{_time(answer.seconds)}, "
    return f"{time}{answer.config.strategy}, from {answer.source}"


def knob_lines(values: Mapping[str, Any]) -> Iterator[str]:
    """`name=value`, as many a line as fit a terminal."""
    words = (f"{name}={value}".replace(" ", "") for name, value in thaw(values).items())
    yield from wrap(
        "  ".join(words), _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
