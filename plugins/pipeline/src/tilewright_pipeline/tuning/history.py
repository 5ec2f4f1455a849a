"""What a tuning stage begins with: the records that count, and the incumbents."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import zip_longest
from typing import TYPE_CHECKING

from tilewright.errors import UsageError
from tilewright.json_object import BadLineError, sensible
from tilewright.strategies.strategy import Adopts, strategy_of
from tilewright.vocabulary.task import Task
from tilewright_pipeline.dispatch.history import equal_tasks
from tilewright_pipeline.tuning.neighbours import neighbour_configs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tilewright.host.plugin_host import PluginHost
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.measure import Trial
    from tilewright.vocabulary.record import Record
    from tilewright.vocabulary.task_set import TaskSet
    from tilewright.vocabulary.workload import Workload
    from tilewright_pipeline.context.run_context import RunContext
    from tilewright_pipeline.tuning.task_track import TaskTrack

_MOST_OF_A_DEVICE = 4
"""First proposals from the log of another system."""


def known_trials(context: RunContext, tasks: TaskSet) -> list[Trial]:
    """Trials of this device, the installed strategies and the run's conditions, oldest first.

    Only those of the tasks' operators say anything of them. Trials that failed through no fault of
    their config are left out, and those of operators whose definition has changed. Before all
    others, as trials of the run's target, come those of equal targets.
    """
    current = cache(partial(_is_current, host=context.host))
    operators = {entry.task.workload.operator for entry in tasks}
    found = context.store.trials(context.device.fingerprint, context.host.revisions, operators)
    counted = [
        trial
        for trial in found
        if context.history.counts(trial.input)
        and not trial.result.spoiled
        and (not trial.input.task.workload.definitions or current(trial.input.task.workload))
    ]
    own = cache(partial(_own_task, context=context))
    moved, others = [], []
    for trial in counted:
        task = own(trial.input.task)
        if task is None or not context.history.shares_code(trial.input.config.strategy):
            others.append(trial)
        else:
            moved.append(replace(trial, input=replace(trial.input, task=task)))
    return moved + others


def in_columns(
    tracks: Sequence[TaskTrack], context: RunContext
) -> Iterator[tuple[TaskTrack, ConfigEntity]]:
    """The first incumbent of every task, then the second ones, and so on.

    Those of a task are looked up when its first is due.
    """
    others = []
    for track in tracks:
        found = [(track, config) for config in _incumbents(track, context)]
        yield from found[:1]
        others.append(found[1:])
    for column in zip_longest(*others):
        yield from (found for found in column if found is not None)


def best_of_anchor(context: RunContext, task: Task) -> list[ConfigEntity]:
    """The best config among the other tasks that differ from this one in their epilogue only."""
    best = context.history.kin(task)
    return [best.config] if best is not None else []


def adopted_configs(context: RunContext, task: Task) -> list[ConfigEntity]:
    """The best config of each other device that may propose any.

    These are all where the run allows foreign records, else those of its packs that are like this
    one. And what strategies make of configs that other systems found for the same operator, which
    `records import` brings into the store.
    """
    strange = context.store.of_other_systems(task.workload, context.host.revisions)
    found = [*translated(task, _fastest(strange), context.host)]
    query = context.history.query(task)
    for donor in _donors(context):
        best = context.store.best(replace(query, fingerprint=donor))
        if best is not None and donor != query.fingerprint:
            found.append(best.config)
    return found


def _donors(context: RunContext) -> list[str]:
    """Fingerprints of other devices whose best configs may be proposed."""
    if context.foreign_records:
        return [fingerprint for _, fingerprint in context.store.devices()]
    return [*dict.fromkeys(donor for pack in context.packs for donor in pack.donors)]


def _fastest(records: Iterable[Record]) -> Iterator[Record]:
    """The fastest few of each device: a log may hold thousands of one task."""
    taken: Counter[str] = Counter()
    timed = (record for record in records if record.seconds is not None)
    for record in sorted(timed, key=lambda record: record.seconds or 0.0):
        taken[record.fingerprint] += 1
        if taken[record.fingerprint] <= _MOST_OF_A_DEVICE:
            yield record


def _incumbents(track: TaskTrack, context: RunContext) -> list[ConfigEntity]:
    task, host = track.entry.task, context.host
    advice = track.advice(context)
    found = [] if advice is None or advice.choice is None else [advice.choice.config]
    found.append(host.fallback_config(task, track.space))
    found += best_of_anchor(context, task)
    found += adopted_configs(context, task)
    found += neighbour_configs(context, task, track.space)
    return track.unmeasured(config for config in found if track.space.is_valid(config))


def translated(task: Task, records: Iterable[Record], host: PluginHost) -> Iterator[ConfigEntity]:
    """What strategies adopt of the records of other systems for the task's anchor."""
    schedules = [host.implementation(strategy.name) for strategy in host.strategies(task)]
    adopting = [schedule for schedule in schedules if isinstance(schedule, Adopts)]
    for record in records:
        if (
            strategy_of(record.config.strategy) in host.revisions
            or record.seconds is None
            or record.task.workload.anchor_key != task.workload.anchor_key
        ):
            continue
        for schedule in adopting:
            # Its knobs may be missing, or hold anything: then they have no counterpart.
            with suppress(BadLineError):
                config = sensible(partial(schedule.adopt_config, task), record.config)
                if config is not None:
                    yield config


def _own_task(task: Task, context: RunContext) -> Task | None:
    """The run's own task of an equal target's; None for any other, and for the run's own."""
    target = context.target
    if task.target == target or task.target.kind != target.kind:
        return None
    own = Task(task.workload, target)
    return own if task in equal_tasks(own, context.host) else None


def _is_current(workload: Workload, host: PluginHost) -> bool:
    try:
        return host.reference(workload.operator).checked(workload, "") == workload
    except UsageError:
        return False
