"""What the parts of run_all.sh share: the device, the clock, and a report that is never lost."""

from __future__ import annotations

import json
import platform
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.context.run_setup import make_context

RESERVE_SECONDS = 20.0
"""What is kept free at the end of a part, for a step that takes longer than it was given."""


@dataclass
class Session:
    """One part: where it runs, how long it may take, and what it found so far.

    device   name of the device, None for the first GPU
    seconds  of the whole part
    """

    part: str
    out: Path
    device: str | None
    seconds: float
    host: PluginHost = field(default_factory=PluginHost.load)
    report: dict[str, Any] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    begin: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.target = "cuda:auto" if self.device is None else "cuda:arch=sm_90"
        self.report = {"part": self.part, "finished": False, "environment": self._environment()}

    @property
    def rehearsal(self) -> bool:
        """On the emulated device: shapes are small, and times mean nothing."""
        return self.device is not None

    @property
    def limit(self) -> dict[str, Any]:
        """For builders and runners: large answers take long to check, g++ to emulate."""
        return {"local": {"timeout_seconds": 100 if self.rehearsal else 30}}

    @property
    def left(self) -> float:
        """Seconds until this part should end."""
        return self.seconds - RESERVE_SECONDS - (time.monotonic() - self.begin)

    @property
    def records(self) -> Path:
        """One file a part: each measures under conditions of its own."""
        return self.out / self.part / "records.jsonl"

    def context(self, name: str, precision: str = "float32") -> RunContext:
        """A run of that name on the session's device, and of that precision."""
        return make_context(
            self.host.at_precision(precision),
            name=name,
            folder=self.out / name,
            target=self.target,
            device=self.device,
            records=self.records,
            builder=Choice.parse(self.limit),
            runner=Choice.parse(self.limit),
        )

    def note(self, name: str, value: Any) -> None:
        """Put something into the report, and the report into its file."""
        self.report[name] = value
        self.report["seconds"] = round(time.monotonic() - self.begin, 1)
        path = self.out / f"{self.part}.json"
        fresh = path.with_suffix(".tmp")
        text = json.dumps(self.report, indent=1, default=str)
        fresh.write_text(text + "\n", encoding="utf-8")
        fresh.replace(path)
        print(f"{self.report['seconds']:6.1f} s  {self.part}: {name}", flush=True)

    def attempt(self, name: str, step: Iterator[dict[str, Any]]) -> None:
        """Note what a step finds, as it finds it, and the `error` that ends it; the next goes on.

        A step that finds an `error` by itself has failed as well.
        """
        row: dict[str, Any] = {}
        try:
            for found in step:
                row |= found
                self.note(name, row)
        except Exception:
            self.note(name, row | {"error": traceback.format_exc()[-2000:]})
        if error := self.report.get(name, {}).get("error"):
            self.failed.append(name)
            print(f"{self.part}: {name} failed: {error}", file=sys.stderr, flush=True)

    def _environment(self) -> dict[str, Any]:
        from tilewright_cuda.compile.compiler import find_compiler

        compiler, backend = find_compiler(), self.host.backend("cuda")
        found: dict[str, Any] = {
            "python": platform.python_version(),
            "compiler": compiler.version if compiler else None,
            "found": dict(backend.found_parts()),
            "missing": dict(backend.missing_parts()),
            "packages": {name: _version(name) for name in ("pycuda", "numpy", "torch", "triton")},
        }
        try:
            found["device"] = self.context(self.part).device.to_json()
        except UsageError as error:
            found["no_device"] = str(error)
        except Exception:  # nobody is there to look: the report has to say it
            found["no_device"] = traceback.format_exc()[-2000:]
        return found


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
