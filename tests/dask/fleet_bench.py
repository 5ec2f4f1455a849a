"""A fleet of processes on loopback: a scheduler and workers, of the target whose kernels do harm."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from fault_bench import FAULTS, Bench

from tilewright.host.contexts import MeasureContext
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.device import Device

PATIENCE_SECONDS = 120  # on a machine that does much else
NO_DRIFT = 1e6  # on such a machine times say nothing


def until(holds, what):
    """What a function gives, once it is something."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := holds()):
        assert time.monotonic() < deadline, f"no {what} after {PATIENCE_SECONDS} s"
        time.sleep(0.05)
    return found


def has_devices(bench, count):
    """Once a run without builders has so many."""
    until(lambda: bench.runner.batches_at_once == 2 * count, f"{count} devices")


def has_builder(bench):
    """Once a run of one device uses one: a batch shows that it builds there, then it takes one more."""
    assert bench.measure().failure is None
    until(lambda: bench.runner.batches_at_once == 3, "builder")


@dataclass
class Started:
    """A process of `tilewright fleet`, and what it printed."""

    process: subprocess.Popen
    log: Path

    def lines(self):
        return self.log.read_text().splitlines()

    def said(self, words):
        """The first line with these words, None where there is none yet."""
        return next((line for line in self.lines() if words in line), None)

    def says(self, words):
        """That line, once there is one."""

        def said():
            assert self.process.poll() is None, self.log.read_text()
            return self.said(words)

        return until(said, f"line with {words!r} in {self.log}")

    def name(self, kind="fake"):
        """What the worker is called."""
        return f"{kind}@" + self.said("serving").partition("://")[2]

    def end(self, number=signal.SIGTERM):
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
        self.process.wait(PATIENCE_SECONDS)


@dataclass
class Fleet:
    """Starts processes, and ends those that are left."""

    folder: Path
    address: str = ""
    tls: Path | None = None
    started: list[Started] = field(default_factory=list)

    def start(self, *words, environment=None, inside=()):
        log = self.folder / f"{len(self.started)}.log"
        temporary = self.folder / f"{len(self.started)}"
        temporary.mkdir()
        with log.open("w") as file:
            process = subprocess.Popen(
                [*inside, sys.executable, "-m", "tilewright", "fleet", *map(str, words)],
                stdout=file,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env={
                    **os.environ,
                    "PYTHONUNBUFFERED": "1",
                    "TILEWRIGHT_BLOCK_PLUGINS": "cuda",
                    "TMPDIR": str(temporary),
                    **(environment or {}),
                },
            )
        self.started.append(Started(process, log))
        return self.started[-1]

    def scheduler(self, *words, port=0):
        secure = ["--tls", self.tls] if self.tls else []
        started = self.start("scheduler", "--port", port, *secure, *words)
        self.address = started.says("://")
        return started

    def worker(self, *words, device="fake", **options):
        return self._worker("--device", device, *words, **options)

    def builder(self, *words, **options):
        return self._worker("--builds", *words, **options)

    def _worker(self, *words, core=0, plugins=(FAULTS,), **options):
        cores = sorted(os.sched_getaffinity(0))
        named = [word for file in plugins for word in ("--plugin", file)]
        secure = ["--tls", self.tls] if self.tls else []
        started = self.start(
            *("worker", self.address, "--cores", cores[core % len(cores)]),
            *(*named, *secure, *words),
            **options,
        )
        started.says("serving")
        return started

    def temporary(self, worker):
        """The folder of a worker's temporary files, by which its processes are found."""
        return worker.log.with_suffix("")

    def close(self):
        for one in reversed(self.started):
            one.end()


class FleetBench(Bench):
    """A builder and a runner `dask` for the fault target."""

    def __init__(self, fleet, files=(FAULTS,), builder=None, **options):
        host = PluginHost.load(files)
        self.device = Device("fake")
        context = MeasureContext(host, self.device, 0)
        where = {"scheduler": fleet.address, **({"tls": str(fleet.tls)} if fleet.tls else {})}
        self.builder = host.make("builder", "dask", {**where, **(builder or {})}, context)
        given = {**where, "drift": NO_DRIFT, "timeout_seconds": 30, **options}
        self.runner = host.make("runner", "dask", given, context)

    def start(self, *launches, **values):
        """Futures of a batch of candidates."""
        asked = [self.ask(launch, **values) for launch in launches]
        return self.runner.run(asked, self.builder.build(asked))
