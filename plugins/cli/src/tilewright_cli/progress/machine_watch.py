"""What this machine does beside measuring."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_EVERY_SECONDS = 4.0
# A core whose clock follows its load says nothing while it idles.
_BUSY_CORES = 0.5
_NOTABLE_STEAL, _NOTABLE_CORES, _NOTABLE_CLOCK = 0.01, 0.1, 0.9


@dataclass(frozen=True, slots=True)
class MachineState:
    """What keeps times from being those of a calm machine, over some seconds.

    Members are None where the system does not tell.

    cores        those that this process may run on
    steal        share of their time that the hypervisor gave to other guests
    other_cores  how many of them processes kept busy that are not this one's
    clock_hz     of the fastest of them, while they are busy
    highest_hz   the highest of those seen
    """

    cores: int
    steal: float | None = None
    other_cores: float | None = None
    clock_hz: float | None = None
    highest_hz: float | None = None

    def problems(self) -> Iterator[str]:
        """What is wrong, for people; nothing on a calm machine."""
        if self.steal is not None and self.steal >= _NOTABLE_STEAL:
            yield f"steal {self.steal:.0%}"
        if self.other_cores is not None and self.other_cores >= _NOTABLE_CORES:
            yield f"others use {self.other_cores:.1f} cores"
        if self.clock_hz and self.highest_hz and self.clock_hz < _NOTABLE_CLOCK * self.highest_hz:
            yield f"clock {self.clock_hz / 1e9:.1f} GHz, was {self.highest_hz / 1e9:.1f}"

    def to_json(self) -> dict[str, Any]:
        """The members as they are called."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class _Reading:
    """Ticks since the machine started, of all the cores together."""

    at: float
    whole: int
    busy: int
    stolen: int
    own: int | None


class MachineWatch:
    """Reads what Linux tells of the cores; elsewhere it knows nothing.

    >>> watch = MachineWatch()
    >>> watch.state()           # None; four seconds later what was between
    """

    def __init__(self, root: Path = Path("/"), cores: Collection[int] | None = None) -> None:
        self._proc, self._sys = root / "proc", root / "sys/devices/system/cpu"
        self._cores = _allowed() if cores is None else frozenset(cores)
        self._state: MachineState | None = None
        self._highest = 0.0
        self._last = self._read()

    def state(self) -> MachineState | None:
        """The latest, read at most every four seconds; None until then, and where none is told."""
        if self._last is None or time.monotonic() - self._last.at < _EVERY_SECONDS:
            return self._state
        before, self._last = self._last, self._read()
        if self._last is not None and self._last.whole > before.whole:
            self._state = self._between(before, self._last)
        return self._state

    def _between(self, before: _Reading, after: _Reading) -> MachineState:
        ticks = (after.whole - before.whole) / len(self._cores)
        busy, other = (after.busy - before.busy) / ticks, None
        if before.own is not None and after.own is not None:
            other = max(0.0, busy - max(0, after.own - before.own) / ticks)
        clock = self._clock() if busy >= _BUSY_CORES else None
        self._highest = max(self._highest, clock or 0.0)
        steal = (after.stolen - before.stolen) / (after.whole - before.whole)
        return MachineState(len(self._cores), steal, other, clock, self._highest or None)

    def _read(self) -> _Reading | None:
        names = {f"cpu{number}" for number in self._cores}
        whole = busy = stolen = 0
        with suppress(OSError, ValueError):
            for line in (self._proc / "stat").read_text().splitlines():
                name, *fields = line.split()
                if name in names:
                    # Time of guests is part of user's.
                    user, nice, system, idle, wait, irq, soft, steal = map(int, fields[:8])
                    working = user + nice + system + irq + soft
                    whole += working + idle + wait + steal
                    busy, stolen = busy + working, stolen + steal
        return _Reading(time.monotonic(), whole, busy, stolen, self._own()) if whole else None

    def _own(self) -> int | None:
        """Ticks of this process, of those below it, and of those that they waited for.

        None where the system does not tell which those are.
        """
        found, waiting = 0, [os.getpid()]
        if not next(self._children(waiting[0]), None):
            return None
        while waiting:
            number = waiting.pop()
            with suppress(OSError, ValueError):  # it has just ended
                # Behind the name, which may have blanks: utime, stime, cutime and cstime.
                stat = (self._proc / str(number) / "stat").read_text()
                found += sum(map(int, stat.rpartition(")")[2].split()[11:15]))
            for children in self._children(number):
                with suppress(OSError):
                    waiting += map(int, children.read_text().split())
        return found

    def _children(self, number: int) -> Iterator[Path]:
        """The files that list the children of a process, one a thread."""
        return (self._proc / str(number) / "task").glob("*/children")

    def _clock(self) -> float | None:
        """Hertz of the fastest core."""
        found = []
        for number in self._cores:
            with suppress(OSError, ValueError):
                file = self._sys / f"cpu{number}/cpufreq/scaling_cur_freq"
                found.append(1e3 * int(file.read_text()))
        return max(found, default=None)


def _allowed() -> frozenset[int]:
    """The cores that this process may run on, where the system tells."""
    return frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()
