"""A run as its folder tells it: run.json, the records, the drawing of its layouts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.reading import read_file
from tilewright_report.data.fields import Fields
from tilewright_report.data.kernels import Kernel, kernels_of
from tilewright_report.data.records import TunedTasks, tuned_tasks

_PICTURE = "layouts.svg"
_MOST_BYTES = 600_000  # of a drawing that goes into a page
_ENOUGH_NETWORKS = 24


@dataclass(frozen=True)
class Run:
    """One run.

    report    the content of run.json
    folder    None where there is none to look into
    tuned     what the records say; None where they cannot be read
    lacks     sentences on what could not be read, or is not shown
    networks  of a run of several, the run of each
    """

    report: Fields
    folder: Path | None = None
    tuned: TunedTasks | None = None
    lacks: tuple[str, ...] = ()
    networks: tuple[Run, ...] = ()

    @property
    def name(self) -> str:
        return self.report.text("name") or (self.folder.name if self.folder else "a run")

    @property
    def models(self) -> list[str]:
        """Where its models are from, or what they are called."""
        known = self.report.objects("models")
        return [one.text("origin") or one.text("name") for one in known]

    def is_of_other_models(self, other: Run) -> bool:
        """Whether both say which models they are of, and these differ."""
        own, others = (
            [one.text("content") for one in run.report.objects("models")] for run in (self, other)
        )
        return bool(own and others) and own != others

    @cached_property
    def kernels(self) -> list[Kernel]:
        """Of its compiled network, those that take longest first."""
        return kernels_of(self.report)

    @cached_property
    def picture(self) -> str | None:
        """The drawing of the network's layouts, as graph-tune left it; None without, or too big."""
        if self.folder is None:
            return None
        with suppress(OSError, UnicodeDecodeError):
            drawn = read_file(self.folder / _PICTURE).decode("utf-8")
            return drawn if len(drawn) <= _MOST_BYTES else None
        return None


def read_run(folder: Path, host: PluginHost, records: Path | None = None) -> Run:
    """The run of a folder, with those of its networks.

    Raises UsageError where there is no run.json that can be read. Records that are not there, or
    none, leave parts of it out.
    """
    report = report_in(folder)
    told = run_of(report, folder, host, records)
    names, networks = networks_in(folder), []
    for name in names[:_ENOUGH_NETWORKS]:
        with suppress(UsageError):
            networks.append(run_of(report_in(folder / name), folder / name, host, records))
    more = len(names) - _ENOUGH_NETWORKS
    lacks = (f"{more} more networks are not shown",) if more > 0 else ()
    return replace(told, networks=tuple(networks), lacks=told.lacks + lacks)


def run_of(
    report: Mapping[str, Any], folder: Path | None, host: PluginHost, records: Path | None = None
) -> Run:
    """The run of a report; its records are looked for from the folder."""
    fields = Fields(report)
    try:
        tuned = tuned_tasks(fields, folder, host, records)
    except UsageError as error:
        return Run(fields, folder, None, (f"Without its records: {error}",))
    return Run(fields, folder, tuned)


def report_in(folder: Path) -> Mapping[str, Any]:
    """The content of its run.json. Raises UsageError where there is none that can be read."""
    file = folder / "run.json"
    remedy = "name the folder of a run, which `tilewright run` leaves in runs/NAME"
    try:
        report = json.loads(read_file(file))
    except OSError as error:
        raise UsageError(f"{error.strerror}", where=str(file), remedy=remedy) from None
    except (ValueError, RecursionError):
        raise UsageError("no JSON in it", where=str(file), remedy=remedy) from None
    if not isinstance(report, dict):
        raise UsageError("no report of a run", where=str(file), remedy=remedy)
    return report


def networks_in(folder: Path) -> list[str]:
    """The folders below that are runs, too: of several networks each has one."""
    with suppress(OSError):
        return sorted(file.parent.name for file in folder.glob("*/run.json"))
    return []
