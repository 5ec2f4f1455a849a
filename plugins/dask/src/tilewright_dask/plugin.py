"""Registers what tilewright-dask offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.plugins.plugin import Component, hookimpl, late

_OPTIONS = "tilewright_dask.driver.options"


@hookimpl
def tilewright_builders() -> Sequence[Component[Any]]:
    """`dask`."""
    return [
        Component(
            "dask",
            "compiles on the builders of a fleet, or on its devices before they measure",
            late("tilewright_dask.driver.dask_builder", "DaskBuilder"),
            late(_OPTIONS, "DaskBuilderOptions"),
        )
    ]


@hookimpl
def tilewright_runners() -> Sequence[Component[Any]]:
    """`dask`."""
    return [
        Component(
            "dask",
            "checks and times on the devices of a fleet, all at once",
            late("tilewright_dask.driver.dask_runner", "DaskRunner"),
            late(_OPTIONS, "DaskRunnerOptions"),
        )
    ]
