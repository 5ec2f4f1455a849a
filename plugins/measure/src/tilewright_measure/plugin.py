"""Registers what tilewright-measure offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.plugin import Component, hookimpl


@hookimpl
def tilewright_builders() -> Sequence[Component[Any]]:
    """Builders of candidates."""
    return [
        Component(
            "local",
            "compiles in isolated processes, on every core of this machine",
            _local_builder,
            _local_builder_options,
        ),
        Component("replay", "builds nothing, for the runner of the same name", _replay_builder),
    ]


@hookimpl
def tilewright_runners() -> Sequence[Component[Any]]:
    """Runners of what was built."""
    return [
        Component(
            "local",
            "checks and times in an isolated process on this machine",
            _local_runner,
            _local_runner_options,
        ),
        Component("replay", "plays recorded measurements", _replay_runner, _replay_options),
    ]


def _local_builder() -> Any:
    from tilewright_measure.local_builder import LocalBuilder

    return LocalBuilder


def _local_builder_options() -> Any:
    from tilewright_measure.options import LocalBuilderOptions

    return LocalBuilderOptions


def _local_runner() -> Any:
    from tilewright_measure.local_runner import LocalRunner

    return LocalRunner


def _local_runner_options() -> Any:
    from tilewright_measure.options import LocalRunnerOptions

    return LocalRunnerOptions


def _replay_builder() -> Any:
    from tilewright_measure.replay import ReplayBuilder

    return ReplayBuilder


def _replay_runner() -> Any:
    from tilewright_measure.replay import ReplayRunner

    return ReplayRunner


def _replay_options() -> Any:
    from tilewright_measure.options import ReplayOptions

    return ReplayOptions
