"""Calls hooks one implementation at a time, so that a failure affects its plugin alone."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pluggy

from tilewright.errors import UsageError
from tilewright.plugins.loading.owner import Owner
from tilewright.plugins.loading.plugin_loading import Plugin


class HookCalls:
    """The hooks of the loaded plugins; an error in one is noted as its plugin's."""

    def __init__(self, manager: pluggy.PluginManager, plugins: Sequence[Plugin]) -> None:
        self._manager = manager
        self._by_module = {id(plugin.module): plugin for plugin in plugins}
        self._trace = os.environ.get("TILEWRIGHT_TRACE_PLUGINS", "") not in ("", "0")

    def specified(self) -> Iterator[tuple[str, Mapping[str, Any], Sequence[str]]]:
        """(name, pluggy's options, arguments) of every hook that has a specification."""
        for name, caller in vars(self._manager.hook).items():
            spec = getattr(caller, "spec", None)
            if spec is not None:
                yield name, spec.opts, spec.argnames

    def gives_components(self, hook: str) -> bool:
        """Whether its specification, if its plugin is here, says a hook gives a `Component`."""
        spec = getattr(getattr(self._manager.hook, hook, None), "spec", None)
        return spec is not None and "Component[" in str(spec.function.__annotations__.get("return"))

    def values(self, hook: str, arguments: Mapping[str, Any]) -> Iterator[tuple[Any, Plugin]]:
        """All values of a collect hook, flat, each with its owner."""
        for values, plugin in self.answers(hook, arguments):
            if isinstance(values, list | tuple):
                yield from ((value, plugin) for value in values)
            else:
                got = type(values).__name__
                plugin.fail(f"{hook}: expected a list or tuple, got {got}")

    def answers(
        self, hook: str, arguments: Mapping[str, Any], owner: Owner | None = None
    ) -> Iterator[tuple[Any, Plugin]]:
        """Every answer that is not None, each with its owner; only those of `owner`, if given."""
        for plugin, function in self._implementations(hook):
            if owner is not None and plugin.owner != owner:
                continue
            answer = self._call(plugin, hook, function, arguments)
            if answer is not None:
                yield answer, plugin

    def _implementations(self, hook: str) -> Iterator[tuple[Plugin, Any]]:
        caller = getattr(self._manager.hook, hook, None)
        for found in reversed(caller.get_hookimpls() if caller is not None else []):
            yield self._by_module[id(found.plugin)], found

    def _call(self, plugin: Plugin, hook: str, found: Any, arguments: Mapping[str, Any]) -> Any:
        start = time.perf_counter()
        try:
            return found.function(*(arguments[name] for name in found.argnames))
        except UsageError:
            # The user's mistake, told by the plugin that knows: not the plugin's.
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001  one plugin must not stop the others
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{last.filename}:{last.lineno}"
            plugin.fail(f"{hook} raised {type(error).__name__}: {error} ({place})")
            return None
        finally:
            if self._trace:
                spent = (time.perf_counter() - start) * 1e3
                sys.stderr.write(f"tilewright: {hook} <- {plugin.name} ({spent:.2f} ms)\n")
