"""Builds, runs and stores candidates: the part of tuning that touches the device."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from tilewright.errors import UsageError
from tilewright.host.contexts import MeasureContext
from tilewright.plugins.blamed import Blamed
from tilewright.roles import TakesBatches, TellsDevices
from tilewright.vocabulary.measure import MeasureInput, Trial
from tilewright.vocabulary.record import Charge, Record
from tilewright.vocabulary.task_set import ChecksTasks
from tilewright_pipeline.measuring.asked import Asked, begun, built
from tilewright_pipeline.measuring.flights import Flight, Flights
from tilewright_pipeline.measuring.measurement_spent import MeasurementSpent
from tilewright_pipeline.measuring.noise import is_disturbed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.vocabulary.task_set import TaskSet
    from tilewright_pipeline.context.run_context import RunContext

# How long it may go unnoticed that a runner takes more batches.
_LOOK_SECONDS = 0.2
# How long batches that are over may wait for others, to be stored with them, while there is room.
_STALE_SECONDS = 1.0


class Measurement:
    """A builder and a runner, started with the first batch.

    >>> with Measurement(context) as measurement:
    ...     trials = measurement.measure(inputs)  # in order, each in the store when it returns
    ...     measurement.spent.trials

    Of a runner that `TakesBatches`, several are under way at a time:

    >>> number = measurement.start(inputs)
    >>> for number, trials in measurement.landed():  # batches that were started and are over

    `shield()` gives a section that Ctrl-C does not cut, so that a record is written whole.
    `stage` is the hash of the stage whose budget pays: every record says what it took of it, so
    that a run that is killed goes on with what is left. `tasks` are to come: a runner that can tell
    refuses what it cannot run before it runs anything. Raises UsageError in a frozen run.
    """

    def __init__(
        self,
        context: RunContext,
        shield: Callable[[], AbstractContextManager[None]] = nullcontext,
        stage: str | None = None,
        tasks: TaskSet | None = None,
    ) -> None:
        if context.frozen:
            raise UsageError("a stage measures, and the run is frozen", remedy="leave one out")
        self.spent = MeasurementSpent()
        self._tasks = tasks
        self._stage = stage
        self._charged_until = self._looked = time.monotonic()
        self._context = context
        self._shield = shield
        self._builder: Blamed | None = None
        self._runner: Blamed | None = None
        self._taker: TakesBatches | None = None
        self._made_runner: Any = None  # itself, whom `_runner` blames
        self._flights: Flights | None = None
        self._flying: dict[int, Flight] = {}
        self._begun, self._pending = 0, 0
        self._landed, self._flown_seconds = 0, 0.0  # trials, and of their batches

    def __enter__(self) -> Measurement:
        return self

    def __exit__(self, *_: object) -> None:
        if self._flights is not None:
            self._flights.stop()
        for closed in (self._runner, self._builder):
            if closed is not None:
                closed.close()
        if self._flights is not None:
            self._flights.close()

    def measure(self, inputs: Sequence[MeasureInput]) -> list[Trial]:
        """One trial an input, in order; a spoiled one is measured once more."""
        trials = self._once(inputs)
        spoiled = [place for place, trial in enumerate(trials) if trial.result.spoiled]
        if spoiled:
            again = self._once([inputs[place] for place in spoiled], again=True)
            for place, trial in zip(spoiled, again, strict=True):
                trials[place] = trial
        return trials

    def report(self, seconds: float) -> dict[str, Any]:
        """The `measurement` member of run.json, of measuring that took so long."""
        if self._runner is not None and isinstance(self._made_runner, TellsDevices):
            with self._runner.blaming():
                self.spent.faults = self._made_runner.device_faults()
                self.spent.uses = self._made_runner.device_uses()
                self.spent.builder_faults = self._made_runner.builder_faults()
        return self.spent.report(seconds)

    # --- several batches -------------------------------------------------------------------------

    @property
    def has_devices(self) -> bool:
        """Whether the runner takes batches of its own accord, and has a device for them."""
        return self._batches > 0

    @property
    def has_room(self) -> bool:
        """Whether another batch may start now. One may always, where none is under way."""
        return len(self._flying) < max(1, self._batches)

    @property
    def is_due(self) -> bool:
        """Whether nobody has looked for a while which batches are over, though there is room."""
        return time.monotonic() - self._looked > _STALE_SECONDS

    @property
    def pending(self) -> int:
        """Trials under way that are not counted in `spent` yet."""
        return self._pending

    @property
    def rate(self) -> float | None:
        """Trials a second of as many batches as may be under way, by those that are over.

        None before the first is, and where they are measured one after the other.
        """
        return self._batches * self._landed / self._flown_seconds if self._landed else None

    def start(self, inputs: Sequence[MeasureInput]) -> int:
        """Begin a batch; the number by which `landed` tells that it is over."""
        self._begun += 1
        self._pending += len(inputs)
        flight = self._flying[self._begun] = Flight(self._begun, inputs)
        self._started()
        if self._flights is not None:
            self._begin(flight)
        return flight.number

    def landed(self, *, or_room: bool = False) -> list[tuple[int, list[Trial]]]:
        """Wait for a batch, and keep it, with all others that are over by then.

        Of each its number and one trial an input, in order.

        or_room   return none once there is room for another batch
        """
        if self._flights is None:
            flight = self._flying.pop(next(iter(self._flying)))
            self._pending -= len(flight.inputs)
            return [(flight.number, self.measure(flight.inputs))]
        while True:
            came = self._flights.came(0 if or_room and self.has_room else _LOOK_SECONDS)
            self._looked = time.monotonic()
            if came and (over := self._over(came)):
                return [(flight.number, flight.in_order) for flight in over]
            if not came and or_room and self.has_room:
                return []

    def keep_what_came(self) -> None:
        """After Ctrl-C: store what came back of the batches under way, and await none of them."""
        flying, self._flying, self._pending = self._flying, {}, 0
        self._keep(
            (each, flight.again)
            for flight in flying.values()
            for each in flight.asked
            if each.came_back()
        )

    def _over(self, came: Sequence[Flight]) -> list[Flight]:
        """Store what came back, at once; what is spoiled flies once more. Those that are over."""
        fine = [flight for flight in came if flight.error is None]
        with self._shield():
            asked = [(each, flight.again) for flight in fine for each in flight.asked]
            trials = iter(self._keep(asked))
            for flight in fine:
                self.spent.add({"build": flight.build_seconds})
                self._pending -= 0 if flight.again else len(flight.inputs)
                own = islice(trials, len(flight.asked))
                flight.trials |= zip(flight.due, own, strict=True)
                flight.asked = ()
        for flight in came:
            if flight.error is not None:
                raise flight.error
        return [flight for flight in fine if self._ends(flight)]

    def _ends(self, flight: Flight) -> bool:
        """Whether a batch is over; one that has spoiled trials begins once more."""
        if not flight.again and any(trial.result.spoiled for trial in flight.trials.values()):
            flight.again = True
            self._begin(flight)
            return False
        del self._flying[flight.number]
        self._landed += len(flight.inputs)
        self._flown_seconds += time.monotonic() - flight.start
        return True

    def _begin(self, flight: Flight) -> None:
        assert self._flights is not None
        with self._shield():  # Ctrl-C in the start of a thread breaks the locks of `threading`
            self._flights.begin(flight)

    @property
    def _batches(self) -> int:
        """So many at a time; 0 of a runner that measures one after the other."""
        if self._taker is None or self._runner is None:
            return 0
        with self._runner.blaming():
            return self._taker.batches_at_once

    # --- one batch -------------------------------------------------------------------------------

    def _once(self, inputs: Sequence[MeasureInput], *, again: bool = False) -> list[Trial]:
        builder, runner = self._started()
        names = self._names
        with self.spent.on("build"):
            builds = built(builder, names[0], inputs)
        asked = begun(runner, names[1], inputs, builds)
        trials: list[Trial] = []
        try:
            while rest := asked[len(trials) :]:
                rest[0].wait()
                with self._shield():
                    # Together what came while the last were written: the disk takes its time.
                    came = takewhile(Asked.is_done, rest)
                    trials += self._keep((each, again) for each in came)
        except KeyboardInterrupt:
            # What came back is paid for: keep it.
            self._keep((each, again) for each in asked[len(trials) :] if each.came_back())
            raise
        return trials

    def _started(self) -> tuple[Blamed, Blamed]:
        if self._builder is None or self._runner is None:
            # Each is kept as soon as it is made, so that it is closed whatever comes next.
            self._builder = self._made("builder", self._context.builder)[0]
            self._runner, runner = self._made("runner", self._context.runner)
            self._made_runner = runner
            if isinstance(runner, TakesBatches):
                self._taker = runner
                self._flights = Flights(self._builder, self._runner, self._names)
            if self._tasks is not None and isinstance(runner, ChecksTasks):
                with self._runner.blaming():
                    runner.check_tasks(self._tasks)
        return self._builder, self._runner

    @property
    def _names(self) -> tuple[str, str]:
        """Of the builder and the runner."""
        return self._context.builder[0], self._context.runner[0]

    def _made(self, role: str, chosen: tuple[str, Mapping[str, Any]]) -> tuple[Blamed, Any]:
        """A component to measure with, and itself."""
        context, host = self._context, self._context.host
        made = host.make(role, *chosen, MeasureContext(host, context.device, context.seed))
        return Blamed(made, host, role, chosen[0]), made

    def uncharged_seconds(self) -> float:
        """Seconds that no record holds yet; from now on they count as recorded."""
        now = time.monotonic()
        seconds, self._charged_until = now - self._charged_until, now
        return seconds

    def _charge(self, trials: int) -> Charge | None:
        if self._stage is None:
            return None
        return Charge(self._stage, self.uncharged_seconds(), trials)

    def _keep(self, came: Iterable[tuple[Asked, bool]]) -> list[Trial]:
        """Store what came back, with whether it was measured once more, in one append."""
        host, device, came = self._context.host, self._context.device, list(came)
        if not came:  # a file is made by what is put into it
            return []
        trials = [each.trial() for each, _ in came]
        with self.spent.on("store"):
            self._context.store.append(
                Record.of(
                    trial,
                    device,
                    host.strategy(trial.input.config.strategy).revision,
                    self._charge(0 if again else 1),
                )
                for trial, (_, again) in zip(trials, came, strict=True)
            )
        for trial, (each, again) in zip(trials, came, strict=True):
            # What is measured again has been counted, as a failure.
            self.spent.trials += not again
            self.spent.failures += (trial.result.failure is not None) - again
            self.spent.disturbed += is_disturbed(trial.result.costs)
            if trial.result.device and not trial.result.spoiled:
                self.spent.add_device(trial.result.device, 1)
            artifact = each.build.artifact
            counts = artifact.metadata.get("counts", {}) if artifact is not None else {}
            self.spent.add(trial.result.timings, counts)
        return trials
