"""Defects of plugins that load, such as hooks that are never called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from tilewright.plugins.offers import USUAL_NAME, lack_of, word_of
from tilewright.plugins.plugin import Component
from tilewright.strategies.strategy import Strategy
from tilewright.vocabulary.task import Task

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.plugins.loading.plugin_loading import Plugin

_PREFIX = "tilewright_"
# Operands that some operator or other takes, to see what strategies offer for it.
_OPERANDS = (
    "(8)",
    "(8x8)",
    "(8x8, 8x8)",
    "(1x8x8x8)",
    "(1x8x8x8, 8x8x3x3)",
    "(1x8x8x8, 8x1x3x3)",
    "(1x8x8x8, 1x8x8x8)",
    "(4x8x8, 4x8x8)",
    "(8x8, 8x8, 8)",
)


def plugin_faults(host: PluginHost) -> Iterator[str]:
    """One line for each defect, with its owner; imports what the plugins offer."""
    for plugin in host.plugins:
        if plugin.module is not None:
            yield from (f"{plugin.owner}: {fault}" for fault in _hook_faults(plugin))
    for role in host.roles():
        for name, offer in host.catalogue(role).offers.items():
            named = f"{offer.owner}: {word_of(role)} '{name}'"
            chosen = role == "reference" or isinstance(offer.value, Component | Strategy)
            if chosen and not USUAL_NAME.fullmatch(offer.name):
                yield f"{named}: names are small letters and digits, with - _ or . between"
            if isinstance(offer.value, Component):
                yield from (f"{named}: {fault}" for fault in _component_faults(host, role, name))
    for name, offer in host.catalogue("strategy").offers.items():
        named = f"{offer.owner}: strategy '{name}'"
        yield from (f"{named}: {fault}" for fault in _strategy_faults(host, offer.value))


def _hook_faults(plugin: Plugin) -> Iterator[str]:
    module = plugin.module
    named = [(name, getattr(module, name)) for name in dir(module) if name.startswith(_PREFIX)]
    functions = [(name, value) for name, value in named if callable(value)]
    for name, function in functions:
        if not hasattr(function, "tilewright_impl") and not hasattr(function, "tilewright_spec"):
            yield f"{name} is never called: it lacks @hookimpl"
    if not functions:
        yield "it implements no hook"


def _component_faults(host: PluginHost, role: str, name: str) -> Iterator[str]:
    component = host.component(role, name)
    asked: dict[str, Callable[[], Any]] = {
        "options()": partial(host.options_of, role, name),
        "load()": component.load,
        "lacks()": partial(lack_of, component),
    }
    if role == "target":
        asked["probe()"] = partial(_devices, host, name)
    for what, ask in asked.items():
        _, problem = host.tried(role, name, what, ask)
        if problem:
            yield problem


def _devices(host: PluginHost, kind: str) -> list[dict[str, Any]]:
    return [device.to_json() for device in host.backend(kind).probe()]


def _strategy_faults(host: PluginHost, strategy: Strategy) -> Iterator[str]:
    known = host.references()
    for operator in strategy.operators:
        if operator not in known:
            yield f"nobody defines its operator '{operator}'"
    for operator in set(strategy.operators) & set(known):
        for task in _tasks(host, operator, strategy):
            ask = partial(host.alternatives, strategy, task)
            _, problem = host.tried("strategy", strategy.name, "alternatives()", ask)
            if problem:
                yield problem
                break


def _tasks(host: PluginHost, operator: str, strategy: Strategy) -> Iterator[Task]:
    for kind in strategy.target_kinds:
        for operands in _OPERANDS:
            try:
                target = host.resolve_target(kind)
                yield Task(host.reference(operator).parse(operands, operator), target)
            except Exception:  # noqa: BLE001, S112  not of these operands, or not on this machine
                continue
