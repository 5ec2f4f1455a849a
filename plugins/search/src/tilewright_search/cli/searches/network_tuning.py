"""Recorded spaces tuned together, as the tasks of a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from tilewright.options import Choice
from tilewright.plugins.blamed import Blamed
from tilewright.roles import TaskState
from tilewright_pipeline.tuning.proposed import batch_of, shared_things
from tilewright_search.cli.searches.tuner_search import make_tuner

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.roles import Tuner
    from tilewright.vocabulary.measure import Trial
    from tilewright_records.spaces.recorded_space import RecordedSpace


def tune_network(
    host: PluginHost,
    scheduler: Choice,
    tuner: Choice,
    tasks: Sequence[tuple[RecordedSpace, float]],
    *,
    seed: int,
    trials: int,
) -> list[float]:
    """After each trial: the weighted sum of the tasks' best times over that of the best there are.

    Infinite until every task has a time. Tuners of all tasks learn from each other, as in a run;
    there are no incumbents and no finalists. It ends early where no task has anything left.

    tasks   spaces with how often each occurs
    """
    shared = shared_things()
    chosen = host.choose("scheduler", scheduler, host)
    chooser = Blamed(chosen, host, "scheduler", scheduler.name)
    tuners: dict[int, Tuner] = {}
    states = [
        TaskState(space.task, weight, 0, 0, None, networks={"bench": weight})
        for space, weight in tasks
    ]
    least = sum(weight * space.best_seconds for space, weight in tasks)
    totals: list[float] = []
    batch = batch_of(host, tuner)
    while len(totals) < trials:
        place = chooser.next_task(states)
        if place is None:
            break
        space = tasks[place][0]
        if place not in tuners:
            tuners[place] = make_tuner(host, tuner, space, seed, shared)
        configs = tuners[place].propose(batch)
        if not configs:
            states[place] = replace(states[place], exhausted=True)
            continue
        measured = space.measure_all(configs)
        tuners[place].observe(measured)
        for trial in measured:
            states[place] = _after(states[place], trial)
            totals.append(_total(states) / least)
    return totals[:trials]


def _after(state: TaskState, trial: Trial) -> TaskState:
    seconds, best = trial.result.seconds, state.best_seconds
    better = seconds is not None and (best is None or seconds < best)
    best = seconds if better else best
    return replace(
        state,
        trials=state.trials + 1,
        failures=state.failures + (seconds is None),
        best_seconds=best,
        curve=(*state.curve, best),
        strategy=trial.input.config.strategy if better else state.strategy,
    )


def _total(states: Sequence[TaskState]) -> float:
    return sum(inf if s.best_seconds is None else s.weight * s.best_seconds for s in states)
