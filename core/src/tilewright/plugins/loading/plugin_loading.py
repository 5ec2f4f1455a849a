"""Finds, imports and registers plugins one by one, so that a bad one affects only itself."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import importlib.util
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Literal

import pluggy

from tilewright.errors import UsageError, did_you_mean
from tilewright.plugins.loading.distributions import CORE, how_to_get, who_brings
from tilewright.plugins.loading.owner import PLUGIN_GROUP, Owner, blocked_words, owner_of
from tilewright.terminal_text import printable

API = 1
_PLUGIN_FILE = "`--plugin` and `plugins:` take paths of .py files"
State = Literal["ok", "blocked", "failed", "conflict"]


@dataclass(slots=True)
class Plugin:
    """One plugin and how its loading went; `failed` also when a hook of it raised later."""

    name: str
    owner: Owner
    state: State = "ok"
    reasons: list[str] = field(default_factory=list)
    seconds: float = 0.0
    module: object | None = None

    def fail(self, reason: str, state: State = "failed") -> None:
        """Note a reason, say it on stderr once; raise it where TILEWRIGHT_STRICT_PLUGINS=1."""
        self.state = state
        if reason in self.reasons:
            return
        self.reasons.append(reason)
        if strict():
            raise RuntimeError(f"plugin {self.name}, {self.owner}: {reason}")
        said = printable(" ".join(reason.split()))
        sys.stderr.write(f"tilewright: plugin {self.name}, {self.owner}: {said}\n")


def strict() -> bool:
    """Whether a bad plugin is fatal, as in continuous integration."""
    return os.environ.get("TILEWRIGHT_STRICT_PLUGINS", "") == "1"


def load_plugins(
    manager: pluggy.PluginManager,
    files: Sequence[Path],
    extra: Sequence[object],
) -> list[Plugin]:
    """Every plugin found, in the state that loading left it in; the good ones are registered.

    Raises UsageError for a plugin file that is missing or does not import: the user named it.
    """
    plugins = [*_installed(), *(_from_file(path) for path in files)]
    plugins += [_given(value) for value in extra]
    for plugin in plugins:
        for module in _spec_modules(plugin):
            try:
                manager.add_hookspecs(module)
            except ValueError as error:
                plugin.fail(f"tilewright_hookspecs: {error}")
    for plugin in plugins:
        _register(manager, plugin)
    manager.check_pending()
    return plugins


def _given(value: object) -> Plugin:
    name = type(value).__name__
    return Plugin(
        name, Owner("caller", "-", f"{type(value).__module__}.{name}", name), module=value
    )


def _installed() -> Iterator[Plugin]:
    blocked = blocked_words()
    seen: dict[str, Owner] = {}
    found: list[Plugin] = []
    points = [(one, owner_of(one)) for one in importlib.metadata.entry_points(group=PLUGIN_GROUP)]
    points.sort(key=lambda p: (p[1].distribution != CORE, p[0].name, p[1].distribution))
    for point, owner in points:  # core first, which cannot be blocked
        plugin = Plugin(point.name, owner)
        if owner.distribution != CORE and {point.name, owner.distribution} & blocked:
            plugin.state = "blocked"
            plugin.reasons.append("named in TILEWRIGHT_BLOCK_PLUGINS")
        elif point.name in seen:
            plugin.fail(f"the name '{point.name}' belongs to {seen[point.name]}", "conflict")
        else:
            seen[point.name] = plugin.owner
            with _timed(plugin):
                plugin.module = _import(plugin, point)
        found.append(plugin)
        yield plugin
    known = {word for plugin in found for word in plugin.owner.words}
    for word in sorted(blocked - known):
        sys.stderr.write(
            f"tilewright: TILEWRIGHT_BLOCK_PLUGINS: no plugin '{printable(word)}'; "
            f"{did_you_mean(word, sorted(known))}\n"
        )


def _import(plugin: Plugin, point: importlib.metadata.EntryPoint) -> ModuleType | None:
    try:
        # Whatever a plugin prints belongs to stderr: stdout may be one JSON object.
        with contextlib.redirect_stdout(sys.stderr):
            module: ModuleType = point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001  any failure costs this plugin only
        plugin.fail(f"does not import: {type(error).__name__}: {error}")
        return None
    if getattr(module, "TILEWRIGHT_API", API) != API:
        plugin.fail(f"made for API {module.TILEWRIGHT_API}, this is API {API}; update it")
        return None
    return module


def _from_file(path: Path) -> Plugin:
    path = Path(path).resolve()
    if not path.is_file():
        raise UsageError(f"no plugin file {path}", remedy=_PLUGIN_FILE)
    plugin = Plugin(path.stem, Owner("file", "-", str(path), path.stem))
    name = f"tilewright_plugin_file_{path.stem.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no Python file", remedy=_PLUGIN_FILE)
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pydantic look their module up by name.
    sys.modules[name] = module
    try:
        with _timed(plugin), contextlib.redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"plugin file does not import: {type(error).__name__}: {error}", where=str(path)
        ) from error
    plugin.module = module
    return plugin


def _spec_modules(plugin: Plugin) -> Sequence[ModuleType]:
    hook = getattr(plugin.module, "tilewright_hookspecs", None)
    if hook is None:
        return ()
    try:
        modules = hook()
    except (Exception, SystemExit) as error:  # noqa: BLE001  any failure costs this plugin only
        plugin.fail(f"tilewright_hookspecs raised {type(error).__name__}: {error}")
        return ()
    if not isinstance(modules, list | tuple) or not all(
        isinstance(module, ModuleType) for module in modules
    ):
        plugin.fail("tilewright_hookspecs: expected a sequence of modules")
        return ()
    return tuple(modules)


def _register(manager: pluggy.PluginManager, plugin: Plugin) -> None:
    if plugin.module is None or plugin.state != "ok":
        return
    # Unique even where a file is called like an installed plugin.
    registered = f"{plugin.name}:{id(plugin.module)}"
    try:
        manager.register(plugin.module, registered)
    except Exception as error:  # noqa: BLE001  any failure costs this plugin only
        # pluggy before 1.7 keeps what it had registered until the error.
        if manager.is_registered(plugin.module):
            manager.unregister(plugin.module)
        plugin.fail(f"does not register: {error}")
        return
    for caller in manager.get_hookcallers(plugin.module) or []:
        for hook in caller.get_hookimpls():
            if hook.plugin is not plugin.module:
                continue
            if not caller.has_spec() and not hook.optionalhook:
                known = [n for n in vars(manager.hook) if getattr(manager.hook, n).has_spec()]
                install = how_to_get(who_brings("hooks", caller.name))
                near = did_you_mean(caller.name, known)
                plugin.fail(f"unknown hook '{caller.name}'; {install or near}")
            elif hook.wrapper or hook.hookwrapper:
                plugin.fail(f"{caller.name}: wrappers are not allowed")
    if plugin.state != "ok":
        manager.unregister(plugin.module)


@contextlib.contextmanager
def _timed(plugin: Plugin) -> Iterator[None]:
    start = time.perf_counter()
    try:
        yield
    finally:
        plugin.seconds = time.perf_counter() - start
