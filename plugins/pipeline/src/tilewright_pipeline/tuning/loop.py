"""The one tuning loop: incumbents; propose, build, run, store, observe; finalists; a budget."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from math import ceil
from typing import Any

from tilewright.errors import UsageError
from tilewright.host.contexts import TunerContext
from tilewright.options import Choice, completed
from tilewright.plugins.blamed import Blamed
from tilewright.vocabulary.budget import Budget
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import MeasureInput, Trial
from tilewright.vocabulary.record import BudgetRecord
from tilewright.vocabulary.task_set import ChecksTasks, TaskSet, WeightedTask
from tilewright_pipeline.context.events import EndReason
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.measuring.interrupt import Interrupt
from tilewright_pipeline.measuring.losses import Losses
from tilewright_pipeline.measuring.measurement import Measurement
from tilewright_pipeline.measuring.measurement_spent import MeasurementSpent
from tilewright_pipeline.measuring.noise import noise_told
from tilewright_pipeline.options.budget_text import together
from tilewright_pipeline.options.tune_options import TuneOptions
from tilewright_pipeline.tuning.budget_tracker import BudgetTracker
from tilewright_pipeline.tuning.history import in_columns, known_trials
from tilewright_pipeline.tuning.narrowing import check_narrowing
from tilewright_pipeline.tuning.next_track import next_track
from tilewright_pipeline.tuning.progress import Progress
from tilewright_pipeline.tuning.proposed import batch_of, proposed, shared_things
from tilewright_pipeline.tuning.stage_key import stage_key
from tilewright_pipeline.tuning.task_track import Batch, TaskTrack, by_track
from tilewright_pipeline.tuning.tune_report import TuneReport, TuningFailedError, TuningInterrupted

_BATCH = 16
_FIRST = 4
_PROPOSALS = 64
_TURNS = 3
_FINALIST_TRIALS = (1 + _TURNS) / 2  # half of a trial's time is building, which is done once
_log = logging.getLogger("tilewright")


def tune_tasks(
    tasks: TaskSet,
    context: RunContext,
    options: TuneOptions,
    *,
    more: Budget | None = None,
) -> TuneReport:
    """Measure candidates for all tasks until the budget is spent; every result is in the store.

    A stage that was finished with equal options on this device measures nothing; one that was
    interrupted goes on with what its budget has left. `more` adds to either. Raises
    TuningInterrupted, and before it measures anything UsageError for a choice that cannot be made,
    options that do not suit the tasks, a task that the runner has no memory for, a glob that leaves
    all of them without a strategy, and `more` in another unit than the budget.
    """
    options = completed(options, context.host.default)
    tuner, scheduler, budget = options.tuner, options.scheduler, options.budget
    context.host.check("tuner", tuner)  # made when a task is first searched
    made = context.host.choose("scheduler", scheduler, context.host)
    if isinstance(made, ChecksTasks):
        made.check_tasks(tasks)
    check_narrowing(tasks, context)
    made = Blamed(made, context.host, "scheduler", scheduler.name)
    stage = stage_key(tasks, context, options)
    known = context.store.spent(stage, context.device)
    if known.finished and more is None:
        return TuneReport({}, MeasurementSpent().report(0.0), skipped=True)
    before = (known.seconds, known.trials)
    if more is not None:
        both = together(budget, more)
        budget, before = (more, (0.0, 0)) if known.finished else (both, before)
    with (
        Interrupt() as interrupt,
        Measurement(context, interrupt.shield, stage, tasks) as measurement,
    ):
        history = known_trials(context, tasks)  # may be long: not on the budget's time
        tracker = BudgetTracker.of(budget, measurement, before)
        loop = _Loop(
            tasks, context, history, measurement, tracker, early_stopping=options.early_stopping
        )
        try:
            loop.measure_incumbents()
            loop.search(tuner, made, tracker.whole / 10)
            loop.confirm_finalists()
            # Finalists seldom need all that is kept for them: the search goes on with the rest.
            while loop.search(tuner, made, tracker.left / 10):
                loop.confirm_finalists()
            loop.spend_rest(tuner, made)
        except KeyboardInterrupt:
            measurement.keep_what_came()
            loop.close(stage, finished=False)
            raise TuningInterrupted(loop.report("interrupted")) from None
        except Exception as error:
            with suppress(UsageError):  # what ends it may be a disk that takes nothing
                measurement.keep_what_came()
                if measurement.spent.trials:  # else it is as if nobody had begun
                    loop.close(stage, finished=False)
            if isinstance(error, UsageError):
                raise TuningFailedError(error, loop.report("interrupted")) from error
            raise
        loop.close(stage, finished=not loop.lost)
        return loop.report(loop.ended)


def measure_incumbents(tasks: TaskSet, context: RunContext) -> TuneReport:
    """Measure only each task's incumbents, as far as the store does not know them."""
    return _without_budget(tasks, context, _Loop.measure_incumbents)


def measure_configs(
    asked: Sequence[tuple[WeightedTask, ConfigEntity]], context: RunContext
) -> TuneReport:
    """Measure exactly these configs, of any strategy, as far as the store does not know them."""
    every = replace(context, strategies="*")
    tasks = TaskSet(tuple({entry.task: entry for entry, _ in asked}.values()))
    try:
        return _without_budget(tasks, every, lambda loop: loop.measure_configs(asked))
    except TuningInterrupted as interrupted:
        # The sum of just these tasks is no total of the network.
        raise TuningInterrupted(replace(interrupted.report, curve=())) from None


def _without_budget(
    tasks: TaskSet, context: RunContext, act: Callable[[_Loop], None]
) -> TuneReport:
    with Interrupt() as interrupt, Measurement(context, interrupt.shield) as measurement:
        tracker = BudgetTracker.of(Budget(seconds=float("inf")), measurement)
        loop = _Loop(tasks, context, known_trials(context, tasks), measurement, tracker)
        try:
            act(loop)
        except BaseException as error:
            with suppress(UsageError):  # what ends it may be a disk that takes nothing
                measurement.keep_what_came()
            if isinstance(error, KeyboardInterrupt):
                raise TuningInterrupted(loop.report("interrupted")) from None
            raise
        return loop.report("finished")


class _Loop:
    def __init__(
        self,
        tasks: TaskSet,
        context: RunContext,
        history: list[Trial],
        measurement: Measurement,
        tracker: BudgetTracker,
        *,
        early_stopping: int | None = None,
    ) -> None:
        self._context = context
        self._measurement = measurement
        self._tracker = tracker
        self._early_stopping = early_stopping
        self._history = history
        self._losses = Losses(context.device.name, lambda: measurement.has_devices)
        self._flying: dict[int, Batch] = {}
        self._declined = False  # the scheduler, what budget was left
        self._share = shared_things()
        own: dict[str, list[Trial]] = {}
        for trial in self._history:
            own.setdefault(trial.input.task.key, []).append(trial)
        self._tracks = [self._track(entry, own.get(entry.task.key, ())) for entry in tasks]
        self._progress = Progress(self._tracks, tracker, context)
        self._progress.note_total()

    @property
    def lost(self) -> bool:
        """Whether nothing is left to go on with: no device, or no worker that lives."""
        return self._losses.ends

    @property
    def ended(self) -> EndReason:
        """Why tasks that did not end by themselves get no further batch."""
        if self.lost:
            return self._losses.reason
        return "finished" if self._declined else "budget"

    # --- the acts --------------------------------------------------------------------------------

    def measure_incumbents(self) -> None:
        """First the first incumbent of every task, then the second ones, and so on."""
        self._measure_affordable(in_columns(self._tracks, self._context))

    def measure_configs(self, asked: Iterable[tuple[WeightedTask, ConfigEntity]]) -> None:
        """These, as far as they are not known."""
        tracks = {track.entry.task: track for track in self._tracks}
        self._measure_affordable(
            (tracks[entry.task], config)
            for entry, config in dict.fromkeys(asked)
            if tracks[entry.task].unmeasured([config])
        )

    def spend_rest(self, tuner: Choice, scheduler: Any) -> None:
        """Search with what the finalists left, each trial in turns at once, as they were."""
        if self._tracker.in_trials:
            self.search(tuner, scheduler, 0.0, turns=_TURNS)

    def search(self, tuner: Choice, scheduler: Any, kept: float, turns: int = 1) -> bool:
        """Give batches to tasks as the scheduler says, until budget or tasks are exhausted.

        `kept` is held back for finalists; once there were some, also what it takes to measure in
        turns the configs that overtake them. Returns whether anything was measured.
        """
        for track in self._tracks:
            track.check_end(self._early_stopping)
        limit, before = batch_of(self._context.host, tuner), self._measurement.spent.trials
        while not self.lost and any(track.ended is None for track in self._tracks):
            count = self._payable(limit, kept if turns == 1 else None)
            chosen = next_track(scheduler, self._tracks) if count else None
            if chosen is not None:
                landed = self._search_in(chosen, tuner, count, turns)
            elif self._flying:
                landed = self._land()
            else:
                self._declined = count > 0
                break
            for each in landed:
                each.check_end(self._early_stopping)
        self._land_all()
        return self._measurement.spent.trials > before

    def confirm_finalists(self) -> None:
        """Measure the fastest few of each task in turns, where its best was not yet so measured.

        The least of many short times is often low by chance. So the choice is among configs
        measured in turns, which a slow phase of the machine affects alike. First come tasks whose
        finalists were overtaken, then those that weigh most; none takes more than its share of what
        is left, but two configs at least.
        """
        waiting = [track for track in self._tracks if track.finalists]
        waiting.sort(key=lambda track: (not track.overtaken, -(track.cost or 0.0)))
        for left, track in zip(range(len(waiting), 0, -1), waiting, strict=True):
            finalists = track.finalists
            paid = self._tracker.affordable(left * len(finalists), each=_FINALIST_TRIALS)
            if self.lost or paid < 2:
                break
            self._measure([(track, c) for c in finalists[: max(2, paid // left)]], turns=_TURNS)
        self._land_all()

    def close(self, stage: str, *, finished: bool) -> None:
        """Write the budget line, so that an equal stage is skipped or goes on from here."""
        device, seconds = self._context.device, self._measurement.uncharged_seconds()
        self._context.store.append(
            [BudgetRecord(stage, device.name, device.fingerprint, finished, seconds, trials=0)]
        )

    def report(self, reason: EndReason) -> TuneReport:
        """The report of the stage; notifies the hooks."""
        outcomes = {}
        for track in self._tracks:
            task, outcome = track.entry.task, track.outcome(reason)
            outcomes[task.key] = outcome
            if track.fresh:
                self._context.host.notify("tilewright_task_finished", task=task, outcome=outcome)
        self._progress.note_total(at_the_end=True)
        self._progress.tell(None)
        spent = self._measurement.spent
        if spent.noisy:
            _log.warning("%s", noise_told(spent.disturbed, spent.trials))
        measured = self._measurement.report(self._tracker.seconds)
        return TuneReport(outcomes, measured, tuple(self._progress.curve), partial=self.lost)

    # --- parts -----------------------------------------------------------------------------------

    def _track(self, entry: WeightedTask, known: Iterable[Trial]) -> TaskTrack:
        context = self._context
        conditions = context.conditions.for_task(entry.task)
        make_space = partial(context.host.space, entry.task, context.history.narrowed(entry.task))
        track = TaskTrack(entry, conditions, make_space)
        track.add((t for t in known if track.space.is_valid(t.input.config)), fresh=False)
        return track

    def _confirming(self) -> int:
        """Trials held back: two finalists of each task that may need them after the next batch.

        Tasks under way may need them, too.
        """
        if not any(track.confirmed for track in self._tracks):
            return 0
        tasks = 1 + sum(track.overtaken or track.flights > 0 for track in self._tracks)
        return self._tracker.cost(2 * tasks, each=_FINALIST_TRIALS)

    def _payable(self, limit: int, kept: float | None) -> int:
        """Trials of the next batch of the search, at most `limit`; for `kept` see `search`."""
        keep = 0
        if kept is not None:
            keep = max(int(self._tracker.trials(kept)), self._confirming())
        begun = self._tracker.spent or self._flying
        if not (begun or self._tracker.affordable(1, keep=keep)):
            keep = 0  # a budget of a trial or two is for the search
        return self._tracker.affordable(limit, keep=keep)

    def _search_in(
        self, track: TaskTrack, tuner: Choice, count: int, turns: int
    ) -> list[TaskTrack]:
        """Measure what the task's tuner proposes: the tasks of what came back."""
        with self._measurement.spent.on("search"):
            configs = self._propose(track, tuner, count)
        if configs:
            return self._measure([(track, config) for config in configs], turns)
        track.run_out()
        return []

    def _propose(self, track: TaskTrack, choice: Choice, count: int) -> list[ConfigEntity]:
        before = track.spared
        if track.narrow(self._context) or track.tuner is None:
            if track.spared != before:
                self._measurement.spent.add({}, {"spared": track.spared - before})
            known = TunerContext(
                track.entry.task,
                track.searched,
                self._context.seed,
                tuple(self._history),
                self._context.host,
                self._share,
                batch_of(self._context.host, choice),
                self._context.device,
                track.conditions,
                self._tracker.budget,
                lambda: self._tracker.rest,
                *track.lead(self._context, choice.name),
            )
            made = self._context.host.choose("tuner", choice, known)
            track.tuner = Blamed(made, self._context.host, "tuner", choice.name)
        # A tuner should know the history; one that does not costs nothing but its proposals.
        for _ in range(_PROPOSALS):
            found = proposed(track.tuner, choice.name, count, track.space)
            fresh = track.unmeasured(found)
            if fresh or not found:
                return fresh
        return []

    def _measure_affordable(self, asked: Iterable[tuple[TaskTrack, ConfigEntity]]) -> None:
        """Measure in this order as far as the budget goes."""
        left = iter(asked)
        devices = len(self._context.devices)
        most = min(_BATCH, ceil(len(self._tracks) / devices)) if devices > 1 else _BATCH
        limit = min(_FIRST, most)  # devices wait while a batch is looked up; each is to get some
        while not self.lost and (batch := list(islice(left, self._tracker.affordable(limit)))):
            self._measure(batch)
            limit = min(2 * limit, most)
        self._land_all()

    def _measure(self, batch: Batch, turns: int = 1) -> list[TaskTrack]:
        """Begin a batch, then wait until another may begin: the tasks of what came back."""
        self._progress.tell(batch[0][0])
        for track, configs in by_track(batch).items():
            if not (track.fresh or track.flights):
                task, space = track.entry.task, track.space
                self._context.host.notify("tilewright_task_started", task=task, space=space)
            track.take_off(configs)
        inputs = [
            MeasureInput(t.entry.task, config, replace(t.conditions, turns=turns))
            for t, config in batch
        ]
        self._flying[self._measurement.start(inputs)] = batch
        landed: list[TaskTrack] = []
        while self._flying and (self._measurement.is_due or not self._measurement.has_room):
            landed += self._land(or_room=True)
        return landed

    def _land_all(self) -> None:
        while self._flying:
            self._land()

    def _land(self, *, or_room: bool = False) -> list[TaskTrack]:
        """Wait for batches and learn from them: their tasks; none where there is room before."""
        landed = self._measurement.landed(or_room=or_room)
        tracks = [track for number, trials in landed for track in self._learn(number, trials)]
        if landed:
            self._progress.note_total()
        return tracks

    def _learn(self, number: int, trials: Sequence[Trial]) -> list[TaskTrack]:
        """Take a batch that came back into account: its tasks."""
        batch = self._flying.pop(number)
        self._history += trials
        for trial in trials:
            self._losses.note(trial.result.failure)
        tracks = list(by_track(batch))
        for track in tracks:
            own = [trial for (owner, _), trial in zip(batch, trials, strict=True) if owner is track]
            track.land(own)
            if track.tuner is not None:
                with self._measurement.spent.on("search"):
                    track.tuner.observe(own)
            task = track.entry.task
            self._context.host.notify("tilewright_batch_measured", task=task, trials=own)
        return tracks
