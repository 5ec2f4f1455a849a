"""Which page a value has."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright_report.data.run_folder import Run, read_run, run_of
from tilewright_report.pages.comparison_page import comparison_page
from tilewright_report.pages.run_page import run_page
from tilewright_report.pages.small_pages import (
    network_page,
    space_page,
    tuned_task_page,
    tuning_page,
)

_HEIGHTS = {
    "tilewright_pipeline.run.running.RunResult": 720,
    "tilewright_pipeline.api.functions.TuneResult": 720,
    "tilewright_pipeline.tuning.tune_report.TuneReport": 480,
    "tilewright.space.config_space.ConfigSpace": 360,
    "tilewright_graph.compiled.compiled_network.CompiledNetwork": 360,
}
"""Pixels of a notebook, by what is shown; classes by their names, as graph need not be there."""


def page_of(
    values: Sequence[Any], records: Path | None = None, host: PluginHost | None = None
) -> str:
    """The page of one value, or of several runs."""
    first = values[0]
    if len(values) == 1 and not _is_run(first):
        return _of_value(first)
    host = host or PluginHost.load()
    runs = [_run(value, host, records) for value in values]
    return run_page(runs[0]) if len(runs) == 1 else comparison_page(runs)


def height_of(value: Any) -> int | None:
    """What a notebook gives to the page of a value; None for one that has none."""
    return next((height for name, height in _HEIGHTS.items() if _is(value, name)), None)


def _is(value: Any, name: str) -> bool:
    """Whether it is of a class, by its name: without importing what nobody has imported."""
    module, _, kind = name.rpartition(".")
    known = getattr(sys.modules.get(module), kind, None)
    return known is not None and isinstance(value, known)


def _is_run(value: Any) -> bool:
    return isinstance(value, str | Path) or _is(value, "tilewright_pipeline.run.running.RunResult")


def _run(value: Any, host: PluginHost, records: Path | None) -> Run:
    if isinstance(value, str | Path):
        return read_run(Path(value), host, records)
    if not _is_run(value):
        raise TypeError(f"expected a run or its folder, got a {type(value).__name__}")
    try:
        return read_run(value.folder, host, records)
    except UsageError:  # a folder that is gone: the result itself has the report
        report: Mapping[str, Any] = value.report
        return run_of(report, value.folder, host, records)


def _of_value(value: Any) -> str:
    if _is(value, "tilewright_pipeline.api.functions.TuneResult"):
        return tuned_task_page(value)
    if _is(value, "tilewright_pipeline.tuning.tune_report.TuneReport"):
        return tuning_page(value)
    if _is(value, "tilewright.space.config_space.ConfigSpace"):
        return space_page(value)
    if _is(value, "tilewright_graph.compiled.compiled_network.CompiledNetwork"):
        return network_page(value)
    raise TypeError(f"a {type(value).__name__} has no page")
