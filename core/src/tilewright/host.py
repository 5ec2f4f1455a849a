"""The plugin host: the only way from core to a plugin."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

from tilewright import hookspecs
from tilewright.elsewhere import role_of_name, with_article
from tilewright.errors import UsageError, did_you_mean
from tilewright.extras import how_to_install, how_to_install_any
from tilewright.fallback import infeasible
from tilewright.plugin import Component, no_options
from tilewright.plugin_loading import Owner, Plugin, load_plugins
from tilewright.strategy import Declined, Schedule, Strategy, own_words, selects, strategy_of
from tilewright.target import Target

if TYPE_CHECKING:
    from tilewright.config import ConfigEntity
    from tilewright.layouts import Layouts
    from tilewright.options import Choice, Options
    from tilewright.roles import Reference, TargetBackend
    from tilewright.space.config_space import ConfigSpace
    from tilewright.task import Task

# A role's hook is `tilewright_<role>s`; library plugins add roles without core knowing them.
_LONG_NAMES = {"scheduler": "task_scheduler"}


class PluginHost:
    """Loads, isolates and blocks plugins, and knows the owner of every contribution.

    >>> host = PluginHost.load()
    >>> host.components("tuner")["xgb"].summary
    >>> tuner = host.make("tuner", "xgb", {"batch": 16}, tuner_context)

    Built once, then read only; a worker process builds an equal one from `files`.
    """

    def __init__(self, files: Sequence[Path] = (), extra: Sequence[object] = ()) -> None:
        from tilewright import builtin

        # A file may be named twice: in a pipeline and by --plugin.
        self.files = tuple(dict.fromkeys(Path(path).resolve() for path in files))
        self._manager = pluggy.PluginManager("tilewright")
        self._plugins = load_plugins(self._manager, builtin, self.files, extra)
        self._by_module = {id(plugin.module): plugin for plugin in self._plugins}
        self._trace = os.environ.get("TILEWRIGHT_TRACE_PLUGINS", "") not in ("", "0")
        # Caches live as long as the host and are filled by the thread that owns it.
        self._owned = cache(self._collect_owned)
        self._backends: dict[str, TargetBackend] = {}
        self._schedules: dict[str, Schedule] = {}
        self._spaces: dict[tuple[Task, str], ConfigSpace] = {}

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
        """All of a kind that a collect hook gives, flat; a plugin that misbehaves is left out."""
        values = []
        for value, plugin in self._collect(hook, arguments):
            if isinstance(value, kind):
                values.append(value)
            else:
                plugin.fail(f"{hook}: a {type(value).__name__} is no {kind.__name__}")
        return values

    def decide(self, hook: str, **arguments: Any) -> Any:
        """The first answer that is not None of a decide hook, or None."""
        return next((answer for answer, _ in self._answers(hook, arguments)), None)

    def notify(self, hook: str, **arguments: Any) -> None:
        """Tell every implementation; one that raises is listed and the others still hear it."""
        for plugin, function in self._implementations(hook):
            self._call(plugin, hook, function, arguments)

    # --- components ------------------------------------------------------------------------------

    def components(self, role: str) -> Mapping[str, Component[Any]]:
        """What is installed for a role, by sorted name. Raises UsageError where two clash."""
        return {name: value for name, (value, _) in self._owned(role).items()}

    def roles(self) -> tuple[str, ...]:
        """Every role that the installed plugins know of, sorted."""
        short = {long: name for name, long in _LONG_NAMES.items()}
        found = []
        for hook, caller in vars(self._manager.hook).items():
            spec = getattr(caller, "spec", None)
            plural = hook.removeprefix("tilewright_")
            if spec is None or spec.opts["firstresult"] or set(spec.argnames) - {"host"}:
                continue
            if not plural.endswith("s") or plural == "hookspecs":
                continue
            role = _singular(plural)
            found.append(short.get(role, role))
        return tuple(sorted(found))

    def owners(self, role: str) -> Mapping[str, Owner]:
        """Who contributed each component, strategy or reference of a role."""
        return {name: owner for name, (_, owner) in self._owned(role).items()}

    def component(self, role: str, name: str) -> Component[Any]:
        """One component. Raises UsageError with the nearest name."""
        component: Component[Any] = self._named(role, name, role.replace("_", " "))
        return component

    def make(self, role: str, name: str, options: Mapping[str, Any], context: Any) -> Any:
        """A component's instance; `None` is the options of a component that declares none.

        Raises UsageError for an unknown name or bad options.
        """
        component = self.component(role, name)
        checked = None
        if options or component.options is not no_options:
            # Late, because pydantic takes 50 ms that a worker process should not spend.
            from tilewright.options import check_options

            checked = check_options(component.options(), options, where=f"{role} '{name}'")
        try:
            return component.load()(checked, context)
        except UsageError:
            raise
        except Exception as error:
            error.add_note(f"while the {role} '{name}' of {self._owned(role)[name][1]} was made")
            raise

    def check(self, role: str, choice: Choice) -> Options:
        """The checked options of a choice; choices among them are checked as well.

        Raises UsageError as `make` does, and makes nothing.
        """
        from tilewright.options import check_options, choices

        model = self.component(role, choice.name).options()
        where = f"{role} '{choice.name}'"
        options: Options = check_options(model, choice.options, where=where)
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

    def resolve_target(self, text: str) -> Target:
        """The target a text means. Raises UsageError where no plugin offers its kind."""
        target: Target = self.decide("tilewright_resolve_target", text=text)
        self.component("target", target.kind)
        return target

    def reference(self, operator: str) -> Reference:
        """What is known of an operator. Raises UsageError where nobody knows it."""
        reference: Reference = self._named("reference", operator, "operator")
        return reference

    def references(self) -> Mapping[str, Reference]:
        """All references by operator."""
        return {name: value for name, (value, _) in self._owned("reference").items()}

    def strategy(self, name: str) -> Strategy:
        """A strategy by its name or the name of one of its alternatives."""
        strategy: Strategy = self._named("strategy", strategy_of(name), "strategy")
        return strategy

    def schedule(self, name: str) -> Schedule:
        """The working half of a strategy, made once; by its name or that of an alternative."""
        strategy = self.strategy(name)
        if strategy.name not in self._schedules:
            self._schedules[strategy.name] = strategy.load(self)
        return self._schedules[strategy.name]

    @property
    def revisions(self) -> Mapping[str, int]:
        """Installed revision of every strategy by name; what the store's queries ask for."""
        return {name: value.revision for name, (value, _) in self._owned("strategy").items()}

    def strategies(self, task: Task, pattern: str = "*") -> tuple[Strategy, ...]:
        """Applicable strategies, sorted by name, of which the pattern leaves anything."""
        found = self._serving(task, pattern)
        return tuple(s for s in found if self.schedule(s.name).applies(task))

    def declined(self, task: Task, pattern: str = "*") -> tuple[Declined, ...]:
        """Those for the operator and kind of target that do not take the task, as above."""
        halves = {s.name: self.schedule(s.name) for s in self._serving(task, pattern)}
        return tuple(
            Declined(name, own_words(half.applies))
            for name, half in halves.items()
            if not half.applies(task)
        )

    def check_strategies(self, pattern: str, target: Target, where: str) -> None:
        """Raise UsageError where no strategy for this kind of target has a name that matches."""
        owned = self._owned("strategy").values()
        known = [strategy.name for strategy, _ in owned if target.kind in strategy.target_kinds]
        wanted = strategy_of(pattern)
        if known and not any(fnmatchcase(name, wanted) for name in known):
            message = f"no strategy for {target} matches '{pattern}'"
            raise UsageError(message, where=where, remedy=did_you_mean(wanted, known))

    def space(self, task: Task, pattern: str = "*") -> ConfigSpace:
        """All alternatives of the applicable strategies whose names match the glob.

        Raises UsageError where nothing is left.
        """
        from tilewright.space.config_space import ConfigSpace

        if (task, pattern) not in self._spaces:
            strategies = self.strategies(task, pattern)
            alternatives = [
                alternative
                for strategy in strategies
                for alternative in self.schedule(strategy.name).alternatives(task)
                if selects(pattern, alternative.name)
            ]
            if not alternatives:
                every = [] if pattern == "*" else self.space(task).alternatives
                known = [alternative.name for alternative in every]
                near = did_you_mean(pattern, known) if known else None
                narrowed = f" matches '{pattern}'" if every else ""
                raise UsageError(
                    f"no strategy for '{task.workload.operator}' on {task.target}{narrowed}",
                    remedy="; ".join(map(str, self.declined(task, pattern)))
                    or near
                    or "`tilewright new plugin NAME --kind strategy` writes one",
                )
            alternatives.sort(key=lambda alternative: alternative.name)
            self._spaces[task, pattern] = ConfigSpace(alternatives)
        return self._spaces[task, pattern]

    def lower(self, task: Task, config: ConfigEntity) -> Any:
        """The program of a config, as its target's backend builds it."""
        return self.schedule(config.strategy).lower(task, config)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """What operands and outputs look like under a config."""
        return self.schedule(config.strategy).layouts(task, config)

    def fallback_config(self, task: Task, space: ConfigSpace) -> ConfigEntity:
        """A config without any measurement: a plugin's opinion, else the best strategy's own.

        Raises UsageError, naming task and constraints, where no point is feasible.
        """
        hook, arguments = "tilewright_fallback_config", {"task": task, "space": space, "host": self}
        for config, plugin in self._answers(hook, arguments):
            if config in space:
                answer: ConfigEntity = config
                return answer
            plugin.fail(f"{hook}: {getattr(config, 'text', config)!r} is no point of the space")
        raise infeasible(task, space, self)

    # --- inside ----------------------------------------------------------------------------------

    def _serving(self, task: Task, pattern: str) -> Iterator[Strategy]:
        wanted = strategy_of(pattern)
        for strategy, _ in self._owned("strategy").values():
            if fnmatchcase(strategy.name, wanted) and strategy.serves(task):
                yield strategy

    def _implementations(self, hook: str) -> Iterator[tuple[Plugin, Any]]:
        caller = getattr(self._manager.hook, hook, None)
        for found in reversed(caller.get_hookimpls() if caller is not None else []):
            yield self._by_module[id(found.plugin)], found

    def _answers(self, hook: str, arguments: Mapping[str, Any]) -> Iterator[tuple[Any, Plugin]]:
        for plugin, function in self._implementations(hook):
            answer = self._call(plugin, hook, function, arguments)
            if answer is not None:
                yield answer, plugin

    def _call(self, plugin: Plugin, hook: str, found: Any, arguments: Mapping[str, Any]) -> Any:
        start = time.perf_counter()
        try:
            return found.function(*(arguments[name] for name in found.argnames))
        except UsageError:
            # The user's mistake, told by the plugin that knows: not the plugin's.
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001  one plugin must not stop the others
            plugin.fail(f"{hook} raised {type(error).__name__}: {error}")
            return None
        finally:
            if self._trace:
                spent = (time.perf_counter() - start) * 1e3
                sys.stderr.write(f"tilewright: {hook} <- {plugin.name} ({spent:.2f} ms)\n")

    def _collect(self, hook: str, arguments: Mapping[str, Any]) -> Iterator[tuple[Any, Plugin]]:
        for plugin, function in self._implementations(hook):
            values = self._call(plugin, hook, function, arguments)
            if isinstance(values, list | tuple):
                yield from ((value, plugin) for value in values)
            elif values is not None:
                got = type(values).__name__
                plugin.fail(f"{hook}: expected a list or tuple, got {got}")

    def _collect_owned(self, role: str) -> dict[str, tuple[Any, Owner]]:
        found: dict[str, tuple[Any, Owner]] = {}
        hook, word = _hook_of(role), role.replace("_", " ")
        for value, plugin in self._collect(hook, {"host": self}):
            name = _name_of(role, value)
            if name is None:
                plugin.fail(f"{hook}: a {type(value).__name__} is no {word}")
                continue
            if name in found:
                first, second = sorted((found[name][1], plugin.owner), key=str)
                core = self._plugins[0].owner  # which, like files, nobody can block
                blockable = [o for o in (first, second) if o.installed and o is not core]
                named = " or ".join(owner.distribution for owner in blockable)
                block = f", or block it: TILEWRIGHT_BLOCK_PLUGINS={named}" if named else ""
                raise UsageError(
                    f"two plugins offer the {word} '{name}': {first} and {second}",
                    remedy=f"rename or remove one{block}",
                )
            found[name] = value, plugin.owner
        return dict(sorted(found.items()))

    def _named(self, role: str, name: str, word: str) -> Any:
        known = self._owned(role)
        if name not in known:
            another = role_of_name(name, self)
            message = f"no {word} named '{name}'"
            if another is not None:
                message = f"'{name}' is {another}, not {with_article(word)}"
            raise UsageError(message, remedy=self._installed(role, name))
        return known[name][0]

    def _installed(self, role: str, name: str) -> str:
        owned = self._owned(role)
        text = did_you_mean(name, list(owned))
        sources = sorted({owner.source for _, owner in owned.values()})
        if sources:
            text += f" (from {', '.join(sources)})"
        install = how_to_install(name) or ("" if owned else how_to_install_any())
        return f"{text}; {install}" if install else text


def _hook_of(role: str) -> str:
    name = _LONG_NAMES.get(role, role)
    if name.endswith("y"):
        return f"tilewright_{name[:-1]}ies"
    return f"tilewright_{name}es" if name.endswith("s") else f"tilewright_{name}s"


def _singular(plural: str) -> str:
    if plural.endswith("ies"):
        return f"{plural[:-3]}y"
    return plural[:-2] if plural.endswith("sses") else plural[:-1]


def _name_of(role: str, value: Any) -> str | None:
    """What a contribution is called, None for a value that no implementation of the role gives."""
    kind: type = object  # a library plugin's role may hold values of its own type
    if role == "strategy":
        kind = Strategy
    elif role != "reference" and hasattr(hookspecs, _hook_of(role)):
        kind = Component
    name = getattr(value, "operator" if role == "reference" else "name", None)
    return name if isinstance(value, kind) and isinstance(name, str) else None
