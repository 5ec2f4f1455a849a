"""Kernel Tuner's strategies as searches."""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import UsageError, did_you_mean
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import Trial
from tilewright_search.cli.peers.flat_space import flat, parameters
from tilewright_search.cli.searches.curve import NEAREST, Search

if TYPE_CHECKING:
    from tilewright_records.spaces.recorded_space import RecordedSpace

_EVALUATIONS = 2000
_STALE = 2000
"""Questions in a row that were answered before, after which a strategy is stopped: it is stuck."""
_ALTERNATIVE = "alternative"

Point = tuple[int, ...]


def kernel_tuner_search(name: str) -> Search:
    """The search of a strategy, with its own default options, over the list of feasible points.

    A strategy asks for results by itself, so it runs to its end before the first config is told;
    it is stopped within 1 % of the best, after 2000 evaluations, and where it asks for nothing new.
    Parameters of an alternative other than the point's have their first value.

    Raises ModuleNotFoundError without Kernel Tuner, UsageError for another name.
    """
    from kernel_tuner.interface import strategy_map

    if name not in strategy_map:
        remedy = did_you_mean(name, list(strategy_map))
        raise UsageError(f"no strategy '{name}'", where="kernel_tuner", remedy=remedy)

    def search(space: RecordedSpace, seed: int) -> Generator[ConfigEntity, Trial, None]:
        state = random.getstate(), np.random.get_state()  # noqa: NPY002  what strategies draw from
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        try:
            asked = _evaluated(strategy_map[name], space)
        finally:
            random.setstate(state[0])
            np.random.set_state(state[1])  # noqa: NPY002
        for config in asked:  # noqa: UP028  a list would not take the trials that are sent
            yield config

    return search


def _evaluated(strategy: Any, space: RecordedSpace) -> list[ConfigEntity]:
    """The configs that a strategy asks for, in its order, each once."""
    from kernel_tuner.interface import Options
    from kernel_tuner.searchspace import Searchspace
    from kernel_tuner.util import StopCriterionReached, TuningBudget

    values = _tune_params(space)
    points = {_point(config, space, values): config for config in space.results}
    cache = {",".join(map(str, point)): dict(zip(values, point, strict=True)) for point in points}
    searchspace = Searchspace(None, None, None, from_cache={"tune_params": values, "cache": cache})
    runner = _Runner(space, points, list(values))
    options = Options(
        strategy_options=Options({}),
        budget=TuningBudget(None, min(_EVALUATIONS, len(points))),
        objective=["time"],
        objective_higher_is_better=[False],
        tune_params=values,
        restrictions=[],
        metrics=None,
        cache={},
        verbose=False,
    )
    with suppress(StopCriterionReached):  # of strategies that do not catch it themselves
        strategy.tune(searchspace, runner, options)
    return list(runner.asked)


class _Runner:
    """What a strategy calls in place of a device: answers from the recording."""

    dev = SimpleNamespace(max_threads=1024)

    def __init__(
        self, space: RecordedSpace, points: dict[Point, ConfigEntity], names: Sequence[str]
    ) -> None:
        self._space, self._points, self._names = space, points, names
        self.asked: dict[ConfigEntity, None] = {}
        self._stale = 0

    def run(self, parameter_space: Sequence[Point], tuning_options: Any) -> list[Any]:
        return [self._result(tuple(point), tuning_options.budget) for point in parameter_space]

    def add_strategy_time(self, seconds: float) -> None:
        """Nothing is told of it."""

    def _result(self, point: Point, budget: Any) -> dict[str, Any] | None:
        from kernel_tuner.util import RuntimeFailedConfig, StopCriterionReached

        if self._stale > _STALE:
            raise StopCriterionReached("it asks for nothing new")
        if budget.is_done():
            return None
        config = self._points[point]
        seconds = self._space.true_seconds(config)
        self._stale += 1
        if config not in self.asked:
            self._stale = 0
            self.asked[config] = None
            budget.add_evaluations(1)
        if seconds is not None and seconds <= (1 + NEAREST / 100) * self._space.best_seconds:
            budget.max_fevals = budget.num_fevals
        found: dict[str, Any] = dict(zip(self._names, point, strict=True))
        if seconds is None:
            return {**found, "__error__": RuntimeFailedConfig()}
        return {**found, "time": seconds * 1e3}


def _tune_params(space: RecordedSpace) -> dict[str, list[int]]:
    """Every parameter with its values: which alternative, then those of all of them."""
    alternatives = space.space.alternatives
    every = (parameter for each in alternatives for parameter in parameters(each))
    first = {_ALTERNATIVE: list(range(len(alternatives)))}
    return first | {parameter.name: list(parameter.values) for parameter in every}


def _point(config: ConfigEntity, space: RecordedSpace, values: dict[str, list[int]]) -> Point:
    names = [each.name for each in space.space.alternatives]
    place = names.index(config.strategy)
    own = {_ALTERNATIVE: place, **flat(config, space.space.alternatives[place])}
    return tuple(own.get(name, offered[0]) for name, offered in values.items())
