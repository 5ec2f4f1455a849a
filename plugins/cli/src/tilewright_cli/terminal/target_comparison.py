"""The tasks of one network on several targets, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tilewright.strategies.strategy import Strategy, own_words

if TYPE_CHECKING:
    from tilewright.vocabulary.task import Task
    from tilewright.vocabulary.task_set import TaskSet, WeightedTask
    from tilewright_pipeline.context.run_context import RunContext


@dataclass(frozen=True, slots=True)
class StrategyOnTarget:
    """A strategy on a target.

    what    what it does, in its author's words
    serves  the tasks that it takes, in its author's words
    tasks   how many of the network's it takes
    """

    name: str
    target: str
    what: str
    serves: str
    tasks: int


@dataclass(frozen=True, slots=True)
class TargetComparison:
    """Workloads by key, what each target has for them, and why that differs.

    contexts   by target, in the order in which they were named
    tasks      by key of the workload: {target: entry}
    """

    contexts: Mapping[str, RunContext]
    tasks: Mapping[str, Mapping[str, WeightedTask]]

    @classmethod
    def of(cls, found: Sequence[tuple[RunContext, TaskSet]]) -> TargetComparison:
        """From what each target's extraction gave."""
        tasks: dict[str, dict[str, WeightedTask]] = {}
        for context, of_target in found:
            for entry in of_target:
                tasks.setdefault(entry.task.workload.key, {})[str(context.target)] = entry
        return cls({str(context.target): context for context, _ in found}, tasks)

    @property
    def equal(self) -> bool:
        """Whether every target has the same workloads, as often."""
        return all(
            len(by_target) == len(self.contexts)
            and len({entry.weight for entry in by_target.values()}) == 1
            for by_target in self.tasks.values()
        )

    def strategies(self) -> list[StrategyOnTarget]:
        """Every strategy that takes any of the tasks, by target and name."""
        uses = []
        for target, context in self.contexts.items():
            own = [found[target].task for found in self.tasks.values() if target in found]
            counts = Counter(s.name for task in own for s in _strategies(context, task))
            for name, count in sorted(counts.items()):
                half = context.host.implementation(name)
                serves = own_words(half.applies)
                uses.append(StrategyOnTarget(name, target, own_words(half), serves, count))
        return uses

    def rows(self) -> Iterator[dict[str, Any]]:
        """One a workload: weight, configs and strategies by target."""
        context = next(iter(self.contexts.values()))
        for key, by_target in self.tasks.items():
            entry = next(iter(by_target.values()))
            reference = context.host.reference(entry.task.workload.operator)
            yield {
                "key": key,
                "name": entry.name,
                "text": reference.format(entry.task.workload),
                "operations": reference.operations(entry.task.workload),
                "weights": {target: one.weight for target, one in by_target.items()},
                "configs": {
                    target: _configs(self.contexts[target], one.task)
                    for target, one in by_target.items()
                },
                "strategies": {
                    target: [s.name for s in _strategies(self.contexts[target], one.task)]
                    for target, one in by_target.items()
                },
            }

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return {
            "targets": list(self.contexts),
            "equal": self.equal,
            "tasks": list(self.rows()),
            "strategies": [asdict(use) for use in self.strategies()],
        }

    def lines(self) -> Iterator[str]:
        """The same for people."""
        for row in self.rows():
            yield f"{row['key']}  {row['operations'] / 1e6:10.1f} MFLOP  {row['text']}"
            for target in self.contexts:
                if target not in row["weights"]:
                    yield f"    {target}: not there"
                    continue
                names = ", ".join(row["strategies"][target])
                weight, configs = row["weights"][target], row["configs"][target]
                yield f"    {target}: x{weight:g}, {configs} configs: {names}"
        verdict = "the same workloads, as often" if self.equal else "DIFFERENT workloads"
        yield f"{len(self.tasks)} tasks, on {' and '.join(self.contexts)}: {verdict}"
        yield (
            "A workload is in logical axis order on every target, whatever the model's layout; "
            "layouts are the choice of strategies:"
        )
        for use in self.strategies():
            yield f"  {use.target}  {use.name} ({use.tasks} tasks): {use.what}"
            yield f"      takes: {use.serves}"


def _configs(context: RunContext, task: Task) -> int:
    return context.host.space(task, context.history.narrowed(task)).size


def _strategies(context: RunContext, task: Task) -> Sequence[Strategy]:
    return context.host.strategies(task, context.history.narrowed(task))
