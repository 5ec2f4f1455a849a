"""The plugin host: the only way from core to a plugin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.errors import UsageError, did_you_mean
from tilewright.plugins.catalogue import Catalogue
from tilewright.plugins.component_host import ComponentHost
from tilewright.plugins.offers import word_of
from tilewright.strategies.renamed_implementation import renamed
from tilewright.strategies.strategy import (
    PRECISIONS,
    Declined,
    Implementation,
    Strategy,
    own_words,
    strategy_of,
)
from tilewright.strategies.strategy_set import (
    SEPARATOR,
    StrategySet,
    for_their_own,
    infeasible,
    nothing_left,
)
from tilewright.vocabulary.revisions import Revisions, present_config
from tilewright.vocabulary.target import Target

if TYPE_CHECKING:
    from tilewright.roles import Reference, TargetBackend
    from tilewright.space.alternative import Alternative
    from tilewright.space.config_space import ConfigSpace
    from tilewright.vocabulary.config import ConfigEntity, Layouts
    from tilewright.vocabulary.task import Task


class PluginHost(ComponentHost):
    """Every plugin, and what targets, operators and strategies together mean.

    >>> host = PluginHost.load()
    >>> host.components("tuner")["xgb"].summary
    >>> tuner = host.make("tuner", "xgb", {"batch": 16}, tuner_context)

    Built once, then read only; a worker process builds an equal one from `files`.

    precision  the lowest that strategies may compute products of float32 in
    """

    precision = "float32"

    def __init__(self, files: Sequence[Path] = (), extra: Sequence[object] = ()) -> None:
        super().__init__(files, extra)
        self._strategy_set = cache(lambda: StrategySet(self.catalogue("strategy")))
        self._backends: dict[str, TargetBackend] = {}
        self._implementations: dict[str, Implementation] = {}
        self._spaces: dict[tuple[Task, str], ConfigSpace | None] = {}

    @classmethod
    def load(cls, files: Sequence[Path] = (), extra: Sequence[object] = ()) -> PluginHost:
        """A host with the installed plugins and these plugin files.

        `extra` are objects with hookimpls, such as a progress display; workers do not get them.
        """
        return cls(files, extra)

    def at_precision(self, precision: str) -> PluginHost:
        """The host of a run that allows products of that precision: spaces hold more or fewer."""
        if precision not in PRECISIONS:
            raise UsageError(
                f"precision {precision!r}", remedy=did_you_mean(precision, list(PRECISIONS))
            )
        host = copy(self)
        host.precision, host._spaces = precision, {}
        return host

    def permits(self, strategy: str, task: Task) -> bool:
        """Whether a strategy, by its name or an alternative's, is no less precise than allowed.

        The run's precision allows it, or that of the task's operands. Of strategies that are not
        installed, nothing is known against them.
        """
        offer = self.catalogue("strategy").offers.get(strategy_of(strategy))
        own = offer.value.precision if offer else "float32"
        if own == "tf32":
            return self.precision != "float32"
        dtypes = (spec.dtype for spec in task.workload.inputs)
        return own in ("float32", self.precision, *dtypes)

    # --- targets, references, strategies ---------------------------------------------------------

    def backend(self, kind: str) -> TargetBackend:
        """The backend of a kind of target, made once."""
        if kind not in self._backends:
            self._backends[kind] = self.make("target", kind, {}, self)
        return self._backends[kind]

    def resolve_target(self, text: str | Target | None = None) -> Target:
        """The target that a text means, or one made by hand as its plugin completes it.

        Without any, the default one. The text begins with `OWNER/KIND` where several plugins offer
        the kind. Raises UsageError where no plugin offers it.
        """
        hook, kinds, owner = "tilewright_resolve_target", self.catalogue("target"), None
        text = self.default("target") if text is None else str(text).strip()
        kind, colon, attributes = text.partition(":")
        if shown := kinds.find(kind):
            owner = kinds.offers[shown].owner if "/" in kind else None
            text = f"{kinds.offers[shown].name}{colon}{attributes}"
        elif "/" in kind:
            self._named("target", kind)
        target = Target.parse(text) if owner is not None else None
        for answer, plugin in self._hooks.answers(hook, {"text": text}, owner):
            if isinstance(answer, Target):
                target = replace(answer, kind=kinds.own(answer.kind, plugin.owner))
                break
            plugin.fail(f"{hook}: expected a Target, got a {type(answer).__name__}")
        assert target is not None, "core parses what no plugin knows"
        if owner is not None and shown is not None:
            target = replace(target, kind=shown)
        self._named("target", target.kind)
        return target

    def reference(self, operator: str) -> Reference:
        """The reference of an operator, by its name or `OWNER/NAME`.

        Raises UsageError where no plugin defines it, or several do.
        """
        reference: Reference = self._named("reference", operator).value
        return reference

    def references(self) -> Mapping[str, Reference]:
        """All references by operator."""
        return {name: offer.value for name, offer in self.catalogue("reference").offers.items()}

    def strategy(self, name: str) -> Strategy:
        """A strategy by its name, one that it had before, or that of one of its alternatives."""
        strategy: Strategy = self._named("strategy", strategy_of(name)).value
        return strategy

    def implementation(self, name: str) -> Implementation:
        """The implementation of a strategy, made once; by its name or that of an alternative."""
        strategy = self.strategy(name)
        if strategy.name not in self._implementations:
            self._implementations[strategy.name] = strategy.load(self)
        return self._implementations[strategy.name]

    @property
    def revisions(self) -> Revisions:
        """Installed revision of every strategy by name; what the store's queries ask for."""
        return self._strategy_set().revisions

    def present(self, config: ConfigEntity) -> ConfigEntity:
        """The config under the present name of its strategy, as spaces and strategies know it."""
        return present_config(config, self.revisions)

    def strategies(self, task: Task, pattern: str = "*") -> tuple[Strategy, ...]:
        """Applicable strategies, sorted by name, that the pattern matches in part or whole."""
        found = self._serving(task, pattern)
        return tuple(s for s in found if self.implementation(s.name).applies(task))

    def declined(self, task: Task, pattern: str = "*") -> tuple[Declined, ...]:
        """Those for the operator and kind of target that do not take the task, as above."""
        serving = {s.name: self.implementation(s.name) for s in self._serving(task, pattern)}
        return tuple(
            Declined(name, own_words(implementation.applies))
            for name, implementation in serving.items()
            if not implementation.applies(task)
        )

    def check_strategies(self, pattern: str, target: Target, where: str) -> None:
        """Raise UsageError where no strategy for this kind of target has a name that matches."""
        self._strategy_set().check(pattern, target, where)

    def selects(self, pattern: str, alternative: str) -> bool:
        """Whether a glob of strategies, `GLOB` or `OWNER/GLOB`, means an alternative."""
        return self._strategy_set().selects(pattern, alternative)

    def space(self, task: Task, pattern: str = "*") -> ConfigSpace:
        """All alternatives of the applicable strategies whose names match the glob.

        Raises UsageError where none matches.
        """
        found = self.space_within(task, pattern)
        if found is None:
            every = [] if pattern == "*" else self.space(task).alternatives
            raise nothing_left(task, pattern, every, self.declined(task, pattern))
        return found

    def space_within(self, task: Task, pattern: str) -> ConfigSpace | None:
        """As `space`, but None where the glob leaves nothing."""
        from tilewright.space.config_space import ConfigSpace

        if (task, pattern) not in self._spaces:
            alternatives = [
                alternative
                for strategy in self.strategies(task, pattern)
                for alternative in self.alternatives(strategy, task)
                if self.selects(pattern, alternative.name)
            ]
            alternatives.sort(key=lambda alternative: alternative.name)
            self._spaces[task, pattern] = ConfigSpace(alternatives) if alternatives else None
        return self._spaces[task, pattern]

    def alternatives(self, strategy: Strategy, task: Task) -> Sequence[Alternative]:
        """What a strategy offers for a task; none where it does not take the task."""
        implementation = self.implementation(strategy.name)
        with self.blaming("strategy", strategy.name):
            found = implementation.alternatives(task) if implementation.applies(task) else ()
            for alternative in found:
                if strategy_of(alternative.name) != strategy.name:
                    raise ValueError(
                        f"its alternative is called '{alternative.name}', expected "
                        f"'{strategy.name}' or '{strategy.name}/VARIANT'"
                    )
        return found

    def lower(self, task: Task, config: ConfigEntity) -> Any:
        """The program of a config, as its target's backend builds it."""
        return self.implementation(config.strategy).lower(task, self.present(config))

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """The layouts of operands and outputs under a config."""
        return self.implementation(config.strategy).layouts(task, self.present(config))

    def fallback_config(self, task: Task, space: ConfigSpace) -> ConfigEntity:
        """A config without any measurement: a plugin's choice, else the best strategy's.

        Raises UsageError, naming task and constraints, where no point is feasible.
        """
        hook, arguments = "tilewright_fallback_config", {"task": task, "space": space, "host": self}
        for config, plugin in self._hooks.answers(hook, arguments):
            if config in space:
                answer: ConfigEntity = config
                return answer
            plugin.fail(f"{hook}: {getattr(config, 'text', config)!r} is no point of the space")
        raise infeasible(task, space, self.references().get(task.workload.operator))

    # --- inside ----------------------------------------------------------------------------------

    def _serving(self, task: Task, pattern: str) -> Iterator[Strategy]:
        return (
            s for s in self._strategy_set().serving(task, pattern) if self.permits(s.name, task)
        )

    def _kind_of(self, role: str) -> type:
        return Strategy if role == "strategy" else super()._kind_of(role)

    def _collect_offers(self, role: str) -> Catalogue[Any]:
        if role != "strategy":
            return super()._collect_offers(role)
        own = for_their_own(
            self._collected(role), self.catalogue("target"), self.catalogue("operator")
        )
        return Catalogue(word_of(role), own, SEPARATOR, renamed)

    def _find(self, role: str, name: str) -> str | None:
        shown = super()._find(role, self.revisions.present(name) if role == "strategy" else name)
        if shown is None and role == "reference":  # whose names are those of the operators
            return super()._find("operator", name)
        return shown
