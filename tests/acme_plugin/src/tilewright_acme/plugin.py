"""Registers what tilewright-acme offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.plugin import Component, hookimpl


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


def _climber() -> Any:
    from tilewright_acme.climber import Climber

    return Climber


def _climber_options() -> Any:
    from tilewright_acme.climber import ClimberOptions

    return ClimberOptions


def _costliest() -> Any:
    from tilewright_acme.costliest import CostliestFirst

    return CostliestFirst
