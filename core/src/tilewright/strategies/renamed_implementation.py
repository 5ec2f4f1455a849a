"""A strategy under another name than its author's, where two plugins use one name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilewright.strategies.strategy import Adopts, CountsOperations, Implementation, Strategy

if TYPE_CHECKING:
    from tilewright.plugins.component_host import ComponentHost
    from tilewright.space.alternative import Alternative
    from tilewright.vocabulary.config import ConfigEntity, Layouts
    from tilewright.vocabulary.task import Task


def renamed(strategy: Strategy, name: str) -> Strategy:
    """The strategy by this name; so are its alternatives, and the configs that it is given."""

    def load(host: ComponentHost) -> Implementation:
        return _RenamedImplementation(strategy.load(host), strategy.name, name)

    return replace(strategy, name=name, load=load)


class _RenamedImplementation:
    """The author's code sees the author's name, all other code the new one."""

    def __init__(self, made: Implementation, old: str, new: str) -> None:
        self._made, self._old, self._new = made, old, new

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)  # `applies`, and optional parts

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        found = self._made.alternatives(task)
        return [replace(one, name=self._new + one.name.removeprefix(self._old)) for one in found]

    def lower(self, task: Task, config: ConfigEntity) -> Any:
        return self._made.lower(task, self._inner(config))

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        return self._made.layouts(task, self._inner(config))

    def fallback(self, task: Task) -> ConfigEntity | None:
        return self._outer(self._made.fallback(task))

    def operations_of(self, task: Task, alternative: str) -> int:
        made: object = self._made
        own = self._old + alternative.removeprefix(self._new)
        return made.operations_of(task, own) if isinstance(made, CountsOperations) else 0

    def adopt_config(self, task: Task, foreign: ConfigEntity) -> ConfigEntity | None:
        made: object = self._made
        return self._outer(made.adopt_config(task, foreign)) if isinstance(made, Adopts) else None

    def _inner(self, config: ConfigEntity) -> ConfigEntity:
        return replace(config, strategy=self._old + config.strategy.removeprefix(self._new))

    def _outer(self, config: ConfigEntity | None) -> ConfigEntity | None:
        if config is None:
            return None
        return replace(config, strategy=self._new + config.strategy.removeprefix(self._old))
