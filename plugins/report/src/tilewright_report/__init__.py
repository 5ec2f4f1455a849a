"""A run as one HTML page: `report.html(result)`, `report.write(result, "run.html")`.

Imported by name or as `tilewright.report`; what draws is imported when it is first used.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

__all__ = ["framed", "html", "write"]


def html(
    value: Any,
    *others: Any,
    records: str | Path | None = None,
    plugins: Sequence[str | Path] = (),
) -> str:
    """One self-contained page of what a run, a tuning, a space or a compiled network is.

    value    the folder of a run, a `RunResult`, `TuneResult`, `TuneReport`, `ConfigSpace` or
             `CompiledNetwork`
    others   more runs: the page sets them side by side
    records  their records file, where it is no longer where the run left it
    plugins  plugin files that their strategies or operators are in

    Raises UsageError for a folder without a readable run.json, and TypeError for other values.
    """
    from tilewright.host.plugin_host import PluginHost
    from tilewright_report.pages.value_page import page_of

    host = PluginHost.load([Path(file) for file in plugins])
    return page_of([value, *others], None if records is None else Path(records), host)


def write(values: Any | Sequence[Any], path: str | Path) -> Path:
    """Write the page of a value, or of several runs in a list, to a file; gives its path."""
    from tilewright_report.pages.saving import save_page

    several = values if isinstance(values, list | tuple) else [values]
    save_page(html(*several), Path(path))
    return Path(path)


def framed(value: Any) -> str | None:
    """The page in a frame of a notebook, which its styles cannot leave; None for other values."""
    from tilewright_report.pages.value_page import height_of

    height = height_of(value)
    if height is None:
        return None
    page = escape(html(value), quote=True)
    return f'<iframe srcdoc="{page}" style="width:100%;height:{height}px;border:0"></iframe>'
