"""Registers what tilewright-report offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.plugins.plugin import Component, hookimpl, late


@hookimpl
def tilewright_stages() -> Sequence[Component[Any]]:
    """`report`."""
    stage, options = (
        late("tilewright_report.report_stage", name) for name in ("ReportStage", "ReportOptions")
    )
    return [Component("report", "write the run as a page to look at", stage, options)]
