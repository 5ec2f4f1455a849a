"""The plugin host: the only way from core to a plugin."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pluggy

from tilewright.errors import UsageError, blame
from tilewright.plugins.catalogue import Catalogue, Offer
from tilewright.plugins.elsewhere import role_of_name
from tilewright.plugins.hook_calls import HookCalls
from tilewright.plugins.hook_names import hook_of, role_of_hook
from tilewright.plugins.loading.distributions import missing_distribution
from tilewright.plugins.loading.plugin_loading import Plugin, load_plugins
from tilewright.plugins.offers import collected, place_of, word_of
from tilewright.plugins.owner import Owner
from tilewright.plugins.plugin import Component, no_options
from tilewright.plugins.unknown_name import default_name, unknown_name
from tilewright.strategies.fallback import infeasible
from tilewright.strategies.renamed_implementation import renamed
from tilewright.strategies.strategy import (
    Declined,
    Implementation,
    Strategy,
    own_words,
    strategy_of,
)
from tilewright.strategies.strategy_set import SEPARATOR, StrategySet, for_their_own, nothing_left
from tilewright.vocabulary.revisions import Revisions, present_config
from tilewright.vocabulary.target import Target

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tilewright.options import Choice
    from tilewright.roles import Reference, TargetBackend
    from tilewright.space.alternative import Alternative
    from tilewright.space.config_space import ConfigSpace
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.layouts import Layouts
    from tilewright.vocabulary.task import Task


T = TypeVar("T")
Wrong = Callable[[Any], str]


class PluginHost:
    """Loads, isolates and blocks plugins, and knows the owner of every contribution.

    >>> host = PluginHost.load()
    >>> host.components("tuner")["xgb"].summary
    >>> tuner = host.make("tuner", "xgb", {"batch": 16}, tuner_context)

    Built once, then read only; a worker process builds an equal one from `files`.
    """

    def __init__(self, files: Sequence[Path] = (), extra: Sequence[object] = ()) -> None:
        from tilewright.plugins import builtin

        # A file may be named twice: in a pipeline and by --plugin.
        self.files = tuple(dict.fromkeys(Path(path).resolve() for path in files))
        manager = pluggy.PluginManager("tilewright")
        self._plugins = load_plugins(manager, builtin, self.files, extra)
        self._hooks = HookCalls(manager, self._plugins)
        # Caches live as long as the host and are filled by the thread that owns it.
        self.catalogue = cache(self._collect_offers)
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

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """Every plugin found, blocked and failed ones included."""
        return tuple(self._plugins)

    # --- the three calling modes -----------------------------------------------------------------

    def hook_values(self, hook: str, kind: type = object, /, **arguments: Any) -> list[Any]:
        """All values of one type that a collect hook gives, flat; bad plugins are left out."""
        values = []
        for value, plugin in self._hooks.values(hook, arguments):
            if isinstance(value, kind):
                values.append(value)
            else:
                plugin.fail(f"{hook}: a {type(value).__name__} is no {kind.__name__}")
        return values

    def decide(self, hook: str, wrong: Wrong = lambda _: "", /, **arguments: Any) -> Any:
        """The first answer of a decide hook, or None; where one is `wrong`, the next is asked."""
        for answer, plugin in self._hooks.answers(hook, arguments):
            if not (reason := wrong(answer)):
                return answer
            plugin.fail(f"{hook}: {reason}")
        return None

    def notify(self, hook: str, **arguments: Any) -> None:
        """Notify every implementation; one that raises is listed, the others are still called."""
        for _ in self._hooks.answers(hook, arguments):
            pass

    # --- components ------------------------------------------------------------------------------

    def components(self, role: str) -> Mapping[str, Component[Any]]:
        """What is installed for a role, by sorted name; `OWNER/NAME` where several offer a name."""
        return {name: offer.value for name, offer in self.catalogue(role).offers.items()}

    def roles(self) -> tuple[str, ...]:
        """Every role that the installed plugins know of, sorted."""
        found = (
            role_of_hook(hook)
            for hook, options, arguments in self._hooks.specified()
            if not options["firstresult"] and not set(arguments) - {"host"}
        )
        return tuple(sorted(filter(None, found)))

    def owners(self, role: str) -> Mapping[str, Owner]:
        """The owner of each component, strategy or reference of a role."""
        return {name: offer.owner for name, offer in self.catalogue(role).offers.items()}

    def owner(self, role: str, name: str) -> Owner:
        """The owner of a component, by its name or `OWNER/NAME`. Raises UsageError."""
        return self._named(role, name).owner

    def default(self, role: str) -> str:
        """The name of the component that is taken where nobody names one.

        Raises UsageError where no component of the role is declared `default`, or several are.
        """
        return default_name(role, self.catalogue(role).offers, self._plugins)

    def component(self, role: str, name: str) -> Component[Any]:
        """One component, by its name or `OWNER/NAME`; by an empty name the default one.

        Raises UsageError for an unknown name, with the nearest, and for one that several offer.
        """
        component: Component[Any] = self._named(role, name).value
        return component

    def make(self, role: str, name: str, options: Mapping[str, Any], context: Any) -> Any:
        """A component's instance; `None` is the options of a component that declares none.

        Raises UsageError for an unknown name or bad options.
        """
        component = self.component(role, name := name or self.default(role))
        checked = None
        if options or component.options is not no_options:
            # Late, because pydantic takes 50 ms that a worker process should not spend.
            from tilewright.options import Choice

            checked = self.check(role, Choice(name, options))
        with self.blaming(role, name):
            return component.load()(checked, context)

    def options_of(self, role: str, name: str) -> type[BaseModel]:
        """The options model of a component. Errors in making it name its plugin."""
        from pydantic import BaseModel

        component = self.component(role, name)
        with self.blaming(role, name):
            model = component.options()
            if not isinstance(model, type) or not issubclass(model, BaseModel):
                raise TypeError(f"options() gave {model!r}, expected a pydantic model")
        return model

    @contextmanager
    def blaming(self, role: str, name: str) -> Iterator[None]:
        """Errors raised inside, except UsageError, name the component, its plugin, file and line.

        This includes errors about an answer that no component of the role may give.
        """
        try:
            yield
        except UsageError:
            raise
        except Exception as error:
            if isinstance(error, ModuleNotFoundError) and (missing := missing_distribution(error)):
                raise missing.placed(f"{word_of(role)} '{name}'") from error
            offer = self._named(role, name)
            place = f", {found}" if (found := place_of(offer.value)) else ""
            blame(error, f"in the {word_of(role)} '{name}' of {offer.owner}{place}")
            raise

    def tried(self, role: str, name: str, what: str, ask: Callable[[], T]) -> tuple[T | None, str]:
        """The answer of a component, else None and the reason; never raises.

        For listings: one plugin's error is noted as its own, and affects no other.
        """
        try:
            with redirect_stdout(sys.stderr):  # stdout is for the listing
                return ask(), ""
        except UsageError as error:
            return None, " ".join(str(error).split())
        except (Exception, SystemExit) as error:  # noqa: BLE001  whatever a plugin raises
            reason = f"{what} raised {type(error).__name__}: {error}"
            owner = self._named(role, name).owner
            plugin = next(plugin for plugin in self._plugins if plugin.owner == owner)
            plugin.fail(f"{word_of(role)} '{name}': {reason}")
            return None, reason

    def check(self, role: str, choice: Choice) -> Any:
        """The checked options of a choice; choices among them are checked as well.

        Raises UsageError as `make` does, and makes nothing.
        """
        from tilewright.options import check_options, choices, completed

        model, where = self.options_of(role, choice.name), f"{role} '{choice.name}'"
        options: Any = check_options(model, choice.options, where=where)
        options = completed(options, self.default)
        for _, inner_role, inner in choices(options):
            self.check(inner_role, inner)
        return options

    def choose(self, role: str, choice: Choice, context: Any) -> Any:
        """The instance that a `name` or `{name: {options}}` of a pipeline file asks for."""
        return self.make(role, choice.name, choice.options, context)

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
        found = self._strategy_set().serving(task, pattern)
        return tuple(s for s in found if self.implementation(s.name).applies(task))

    def declined(self, task: Task, pattern: str = "*") -> tuple[Declined, ...]:
        """Those for the operator and kind of target that do not take the task, as above."""
        halves = {
            s.name: self.implementation(s.name) for s in self._strategy_set().serving(task, pattern)
        }
        return tuple(
            Declined(name, own_words(half.applies))
            for name, half in halves.items()
            if not half.applies(task)
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
        half = self.implementation(strategy.name)
        with self.blaming("strategy", strategy.name):
            found = half.alternatives(task) if half.applies(task) else ()
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
        raise infeasible(task, space, self)

    # --- inside ----------------------------------------------------------------------------------

    def _collect_offers(self, role: str) -> Catalogue[Any]:
        hook = hook_of(role)
        values = self._hooks.values(hook, {"host": self})
        offers = collected(role, values, components=self._hooks.gives_components(hook))
        if role != "strategy":
            return Catalogue(word_of(role), offers)
        own = for_their_own(offers, self.catalogue("target"), self.catalogue("operator"))
        return Catalogue(word_of(role), own, SEPARATOR, renamed)

    def _named(self, role: str, name: str) -> Offer[Any]:
        catalogue = self.catalogue(role)
        name = name or self.default(role)
        shown = catalogue.find(self.revisions.present(name) if role == "strategy" else name)
        if shown is None and role == "reference":  # whose names are those of the operators
            shown = self.catalogue("operator").find(name)
        if shown is None or shown not in catalogue.offers:
            another = role_of_name(name, self)
            raise unknown_name(role, name, catalogue.offers, self._plugins, another)
        return catalogue.offers[shown]
