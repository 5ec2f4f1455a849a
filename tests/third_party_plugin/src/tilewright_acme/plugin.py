"""Registers what tilewright-acme offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright import Component, Strategy, hookimpl


@hookimpl
def tilewright_tuners() -> Sequence[Component[Any]]:
    return [
        Component(
            "acme-climber",
            "hill climbing with restarts",
            _climber,
            _climber_options,
            frozenset({"batch"}),
        )
    ]


@hookimpl
def tilewright_task_schedulers() -> Sequence[Component[Any]]:
    return [Component("acme-costliest", "the task that costs the network most", _costliest)]


@hookimpl
def tilewright_targets() -> Sequence[Component[Any]]:
    return [Component("acme-c", "C for the system's compiler, one thread", _backend)]


@hookimpl
def tilewright_strategies() -> Sequence[Strategy]:
    return [
        Strategy("acme-derived", 1, ("acme-c",), (), _derived, priority=5),
        Strategy("acme-default", 1, ("acme-c",), (), _default, priority=0),
    ]


def _climber() -> Any:
    from tilewright_acme.climber import Climber

    return Climber


def _climber_options() -> Any:
    from tilewright_acme.climber import ClimberOptions

    return ClimberOptions


def _costliest() -> Any:
    from tilewright_acme.costliest import CostliestFirst

    return CostliestFirst


def _backend() -> Any:
    from tilewright_acme.c_backend import CBackend

    return CBackend


def _derived(host: Any) -> Any:
    from tilewright_tensor.operators.operators import Operators
    from tilewright_tensor.sketches.strategy import Derived
    from tilewright_tensor.sketches.structure.sketch_input import Limits

    limits = Limits(lanes=4, registers=16, cache_bytes=256 << 10, threads=1)
    return Derived(Operators.of(host), "acme-derived", lambda _task: limits)


def _default(host: Any) -> Any:
    from tilewright_tensor.c_text.dialect import Dialect
    from tilewright_tensor.operators.operators import Operators
    from tilewright_tensor.strategies.default_implementation import DefaultImplementation

    return DefaultImplementation(Operators.of(host), "acme-default", Dialect.types)
