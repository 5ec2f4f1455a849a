"""Registers what tilewright-measure offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.plugins.plugin import Component, hookimpl, late

_OPTIONS = "tilewright_measure.local.options"


@hookimpl
def tilewright_builders() -> Sequence[Component[Any]]:
    """Builders of candidates."""
    return [
        Component(
            "local",
            "compiles in isolated processes, on every core of this machine",
            late("tilewright_measure.local.local_builder", "LocalBuilder"),
            late(_OPTIONS, "LocalBuilderOptions"),
            default=True,
        ),
        Component(
            "replay",
            "builds nothing, for the runner of the same name",
            late("tilewright_measure.replay", "ReplayBuilder"),
        ),
    ]


@hookimpl
def tilewright_runners() -> Sequence[Component[Any]]:
    """Runners of what was built."""
    return [
        Component(
            "local",
            "checks and times in an isolated process on this machine",
            late("tilewright_measure.local.local_runner", "LocalRunner"),
            late(_OPTIONS, "LocalRunnerOptions"),
            default=True,
        ),
        Component(
            "replay",
            "plays recorded measurements",
            late("tilewright_measure.replay", "ReplayRunner"),
            late(_OPTIONS, "ReplayOptions"),
        ),
    ]
