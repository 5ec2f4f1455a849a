"""Batches under way at the same time, each built, run and waited for on a thread of its own."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from tilewright_pipeline.measuring.asked import Asked, begun, built

if TYPE_CHECKING:
    from tilewright.plugins.blamed import Blamed
    from tilewright.vocabulary.measure import MeasureInput, Trial

# Threads that only wait: two batches on each of a thousand devices.
_MOST_THREADS = 2048
_MANY_OBJECTS = 20_000


@dataclass(slots=True, eq=False)
class Flight:
    """A batch under way.

    number         what it is known by
    trials         by place in `inputs`, as they came back
    again          whether those that came back spoiled are measured once more
    asked          candidates whose results are to be taken, once their last turn has begun
    build_seconds  until they were built
    error          what ended it: a bug in the builder or the runner
    start          by the clock `time.monotonic`
    """

    number: int
    inputs: Sequence[MeasureInput]
    trials: dict[int, Trial] = field(default_factory=dict)
    again: bool = False
    asked: Sequence[Asked] = ()
    build_seconds: float = 0.0
    error: BaseException | None = None
    start: float = field(default_factory=time.monotonic)

    @property
    def due(self) -> list[int]:
        """Places of what is measured now: all, then what came back spoiled."""
        if not self.again:
            return list(range(len(self.inputs)))
        return [place for place, trial in sorted(self.trials.items()) if trial.result.spoiled]

    @property
    def in_order(self) -> list[Trial]:
        """One trial an input, once it is over."""
        return [trial for _, trial in sorted(self.trials.items())]


class Flights:
    """Builds, runs and waits for batches.

    >>> flights.begin(flight)
    >>> over = flights.came(seconds=0.2)  # those that are over, in the order of their ends

    Its threads touch only their own flight: store and tuners are the caller's.
    """

    def __init__(self, builder: Blamed, runner: Blamed, names: tuple[str, str]) -> None:
        self._builder, self._runner, self._names = builder, runner, names
        self._came: SimpleQueue[Flight] = SimpleQueue()
        self._closed = False
        # Thousands of candidates are under way, none of them garbage: by its usual thresholds the
        # collector would look at all of them every other second.
        self._thresholds = gc.get_threshold()
        gc.set_threshold(_MANY_OBJECTS, *self._thresholds[1:])
        self._threads = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="tilewright-batch")

    def begin(self, flight: Flight) -> None:
        """Let a batch begin; returns at once."""
        flight.asked = ()
        self._threads.submit(self._fly, flight)

    def came(self, seconds: float) -> list[Flight]:
        """The batches that are over, once one is; none where none is after so many seconds."""
        found = []
        with suppress(Empty):
            found.append(self._came.get(timeout=seconds))
            while True:
                found.append(self._came.get_nowait())
        return found

    def stop(self) -> None:
        """What is still being built is not run any more."""
        self._closed = True

    def close(self) -> None:
        """Wait for the threads; to be called once builder and runner are closed."""
        self._threads.shutdown()
        gc.set_threshold(*self._thresholds)

    def _fly(self, flight: Flight) -> None:
        try:
            self._measure(flight)
        except BaseException as error:  # noqa: BLE001  raised again by whoever takes the flight
            flight.error = error
        self._came.put(flight)

    def _measure(self, flight: Flight) -> None:
        inputs, start = [flight.inputs[place] for place in flight.due], time.perf_counter()
        builds = built(self._builder, self._names[0], inputs)
        flight.build_seconds = time.perf_counter() - start
        if self._closed:
            return
        flight.asked = begun(self._runner, self._names[1], inputs, builds)
        # The last one first: where they come back in order, this thread wakes once.
        for each in reversed(flight.asked):
            each.wait()
