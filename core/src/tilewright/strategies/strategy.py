"""A way to compute an operator on a kind of target: what target plugins register."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from inspect import getdoc
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from tilewright.plugins.component_host import ComponentHost
    from tilewright.space.config_space import Alternative
    from tilewright.vocabulary.config import ConfigEntity, Layouts
    from tilewright.vocabulary.task import Task


PRECISIONS = ("float32", "tf32", "bfloat16", "float16")
"""Of products in tasks of float32. A run names the lowest that it allows; sums are float32."""


class Implementation(Protocol):
    """What a strategy computes with; imported when the strategy is first asked something."""

    def applies(self, task: Task) -> bool:
        """Whether the task can be computed this way; operator and target kind match already."""

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """The products of knobs, named `STRATEGY` or `STRATEGY/VARIANT`; called once a task."""

    def lower(self, task: Task, config: ConfigEntity) -> Any:
        """The program that the backend builds. Raises ValueError for what it cannot express."""

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """The layouts of operands and outputs under this config."""

    def fallback(self, task: Task) -> ConfigEntity | None:
        """A good config without measurements; None leaves it to other strategies.

        Where none does, the first feasible point is taken.
        """


@runtime_checkable
class Adopts(Protocol):
    """An optional part of a `Implementation`: it translates configs of other systems' templates."""

    def adopt_config(self, task: Task, foreign: ConfigEntity) -> ConfigEntity | None:
        """Its own config that is nearest; None where the knobs have no counterpart.

        `foreign` is as the record reader names it (`SYSTEM:TEMPLATE`), of a task with the same
        anchor workload; what is adopted is measured among the task's incumbents.
        """


@runtime_checkable
class CountsOperations(Protocol):
    """An optional part of a `Implementation`: of an algorithm with fewer operations."""

    def operations_of(self, task: Task, alternative: str) -> int:
        """That every config of the alternative does, a multiply-add counting two."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """Name, what it is for, and a thunk to its implementation.

    name           unique in the installed set; the first part of its alternatives' names, and what
                   records know it by. One for a single kind of target ends in it, `NAME.TARGET`
    revision       raised when equal knob values come to mean other code; other records are misses
    target_kinds   kinds of target it generates for
    operators      anchor operators it serves; empty: any that has a definition
    priority       where nothing was measured, of the strategies that advise a config (`fallback`)
                   the highest is taken, ties by name
    direct_error   keeps the direct algorithm's numerical error (`accuracy: strict` wants these)
    precision      of its products, where it is lower than float32: one of PRECISIONS
    arithmetic     what all its products are made by: a precision or `PRECISION/INSTRUCTION`, as
                   `Device.peak` takes it; empty: whatever suits its precision, float32 included
    load           imports and returns the implementation; called with the host, once a host
    aliases        names that it had before, the first one first: records, globs and whoever asks
                   for one of them mean it, unless another strategy has that name now
    """

    name: str
    revision: int
    target_kinds: tuple[str, ...]
    operators: tuple[str, ...]
    load: Callable[[ComponentHost], Implementation]
    priority: int = 10
    direct_error: bool = True
    aliases: tuple[str, ...] = ()
    precision: str = "float32"
    arithmetic: str = ""

    @property
    def first_name(self) -> str:
        """The one that it had first, for hashes that a new name must not change."""
        return self.aliases[0] if self.aliases else self.name

    def precision_of(self, task: Task) -> str:
        """Of the products in a task: its own, else that of the task's first operand.

        Signed or not, integers of a size are one: `int8`.
        """
        inputs = task.workload.inputs
        if self.precision != "float32" or not inputs:
            return self.precision
        return inputs[0].dtype.removeprefix("u")

    def serves(self, task: Task) -> bool:
        """Whether kind of target and operator match; the schedule's `applies` says the rest."""
        return task.target.kind in self.target_kinds and (
            not self.operators or task.workload.operator in self.operators
        )


@dataclass(frozen=True, slots=True)
class Declined:
    """A strategy for a task's operator and kind of target that does not take the task.

    serves  the tasks that it takes, in its author's words; may be empty
    """

    name: str
    serves: str

    def __str__(self) -> str:
        return f"{self.name} declines" + (f", it takes: {self.serves}" if self.serves else "")


def own_words(documented: object) -> str:
    """The author's description of a schedule, or of the tasks that its `applies` takes."""
    return (getdoc(documented) or "").partition("\n")[0]


def strategy_of(alternative: str) -> str:
    """The strategy in an alternative's name, `STRATEGY` or `STRATEGY/VARIANT`."""
    return alternative.partition("/")[0]


def variant_of(alternative: str) -> str:
    """The variant in an alternative's name, empty where a strategy has just one."""
    return alternative.partition("/")[2]


def selects(strategies: str, alternative: str) -> bool:
    """Whether a glob matches the name of an alternative or of its strategy."""
    names = alternative, strategy_of(alternative)
    return any(fnmatchcase(name, strategies) for name in names)


class _Template:
    """Defaults of a class under `@strategy`."""

    def applies(self, _task: Task) -> bool:
        return True

    def fallback(self, _task: Task) -> ConfigEntity | None:
        return None


def strategy(
    name: str,
    *,
    operator: str,
    target: str,
    revision: int = 1,
    priority: int = 20,
    direct_error: bool = True,
    aliases: Sequence[str] = (),
) -> Callable[[type], Strategy]:
    """Make a class with `alternatives`, `lower` and `layouts` a Strategy, to return from a hook.

    `applies` and `fallback` may be left out. The class is called without arguments, or
    with the host where its `__init__` takes one.

    >>> @strategy("mine.loop", operator=OPERATOR, target=KIND)
    ... class Mine: ...
    >>> @hookimpl
    ... def tilewright_strategies():
    ...     return [Mine]
    """

    def decorate(own: type) -> Strategy:
        filled = type(own.__name__, (own, _Template), {"__doc__": own.__doc__})
        takes_host = "__init__" in vars(own)

        def load(host: ComponentHost) -> Implementation:
            made: Implementation = filled(host) if takes_host else filled()
            return made

        return Strategy(
            name, revision, (target,), (operator,), load, priority, direct_error, tuple(aliases)
        )

    return decorate
