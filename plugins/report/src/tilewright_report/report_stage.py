"""The stage `report`: the run so far as a page in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from tilewright.options import Options
from tilewright.paths import path_of
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.stages.stage import StageResult
from tilewright_report.pages.saving import save_page
from tilewright_report.pages.value_page import page_of

PAGE = "report.html"


class ReportOptions(Options):
    """Options of the stage `report`, which stands behind all that it should tell of."""

    output: str | None = Field(
        default=None,
        min_length=1,
        description="The file, of several networks each FILE-NETWORK.  "
        "By default report.html in the run's folder.",
    )


class ReportStage:
    """Writes the page; of several networks each has its own."""

    consumes: ClassVar[tuple[type, ...]] = ()
    optional: ClassVar[tuple[type, ...]] = ()
    produces: ClassVar[tuple[type, ...]] = ()

    def __init__(self, options: ReportOptions, context: RunContext) -> None:
        self._options = options
        self._context = context

    def run(self, values: Mapping[type, Any]) -> StageResult:
        """Raises UsageError where nothing was left in the folder yet."""
        folder, branch = self._context.folder, self._context.branch
        path = path_of(self._options.output or folder / PAGE)
        if branch and self._options.output:
            path = path.with_name(f"{path.stem}-{branch}{path.suffix}")
        save_page(page_of([folder], host=self._context.host), path)
        return StageResult()
