"""Plugins, hooks and components: what there is, whose it is, and how it is made."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pluggy

from tilewright.errors import UsageError, blame
from tilewright.plugins.catalogue import Catalogue, Offer
from tilewright.plugins.hook_calls import HookCalls
from tilewright.plugins.hook_names import hook_of, role_of_hook
from tilewright.plugins.loading.distributions import missing_distribution
from tilewright.plugins.loading.owner import Owner
from tilewright.plugins.loading.plugin_loading import Plugin, load_plugins
from tilewright.plugins.offers import collected, place_of, word_of
from tilewright.plugins.plugin import Component, no_options
from tilewright.plugins.unknown_name import default_name, unknown_name

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tilewright.options import Choice

T = TypeVar("T")
Wrong = Callable[[Any], str]


class ComponentHost:
    """Loads, isolates and blocks plugins, and knows the owner of every contribution.

    It knows roles by their hooks only; `PluginHost` adds what targets and strategies mean.
    """

    def __init__(self, files: Sequence[Path], extra: Sequence[object]) -> None:
        # A file may be named twice: in a pipeline and by --plugin.
        self.files = tuple(dict.fromkeys(Path(path).resolve() for path in files))
        manager = pluggy.PluginManager("tilewright")
        self._plugins = load_plugins(manager, self.files, extra)
        self._hooks = HookCalls(manager, self._plugins)
        # Caches live as long as the host and are filled by the thread that owns it.
        self.catalogue = cache(self._collect_offers)

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

    # --- inside ----------------------------------------------------------------------------------

    def _collected(self, role: str) -> list[Offer[Any]]:
        values = self._hooks.values(hook_of(role), {"host": self})
        return collected(role, values, self._kind_of(role))

    def _kind_of(self, role: str) -> type:
        """What the values of a role's hook have to be; a library plugin may say `object`."""
        return Component if self._hooks.gives_components(hook_of(role)) else object

    def _collect_offers(self, role: str) -> Catalogue[Any]:
        return Catalogue(word_of(role), self._collected(role))

    def _find(self, role: str, name: str) -> str | None:
        """The name under which a role has what is asked for, None where it has not."""
        return self.catalogue(role).find(name)

    def _role_of(self, name: str) -> str | None:
        """As what a component of this name is known, None where there is none."""
        return next((role for role in self.roles() if name in self.components(role)), None)

    def _named(self, role: str, name: str) -> Offer[Any]:
        offers = self.catalogue(role).offers
        name = name or self.default(role)
        shown = self._find(role, name)
        if shown is None or shown not in offers:
            raise unknown_name(role, name, offers, self._plugins, self._role_of(name))
        return offers[shown]
