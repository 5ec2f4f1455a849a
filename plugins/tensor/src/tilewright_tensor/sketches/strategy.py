"""A strategy's implementation with schedules derived by rules, within the limits of a target."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache

from tilewright.space.alternative import Alternative
from tilewright.space.config_space import ConfigSpace
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.logs.loop_tiles import loop_tiles
from tilewright_tensor.logs.nearest import nearest
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.rules import Rule, derive
from tilewright_tensor.sketches.sketch import Sketch
from tilewright_tensor.sketches.structure.sketch_input import Limits, SketchInput
from tilewright_tensor.sketches.structure.splits import tile_knob
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    constants,
)

_TASKS_KEPT = 64


class Derived(ScheduledImplementation):
    """Any operator with a definition; one alternative a sketch.

    name     of the strategy
    limits   the sizes of a task's target
    rules    of the target or of a plugin; they are asked before those that all share
    dtypes   that it takes, where all operands of a task have the same
    points   of every sketch, at random, of which the fallback is the most promising
    """

    def __init__(
        self,
        operators: Operators,
        name: str,
        limits: Callable[[Task], Limits],
        rules: Sequence[Rule] = (),
        dtypes: Collection[str] = ("float32",),
        *,
        points: int = 128,
    ) -> None:
        super().__init__(operators)
        self.name = name
        self.limits = limits
        self.rules = rules
        self.dtypes = dtypes
        self.points = points
        self._derived = lru_cache(_TASKS_KEPT)(self._derive)
        self._promising = lru_cache(_TASKS_KEPT)(self._most_promising)

    def applies(self, task: Task) -> bool:
        """float32, or what else the target derives for; no layout transform, no program."""
        workload = task.workload
        used = {spec.dtype for spec in workload.inputs}
        return (
            workload.operator in self.operators
            and workload.operator != "layout_transform"
            and self.operators[workload.operator].program is None
            and len(used) == 1
            and used.issubset(self.dtypes)
        )

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Every sketch with its open choices."""
        _, sketches = self._derived(task)
        return [sketch.alternative(self.name) for sketch in sketches.values()]

    def fallback(self, task: Task) -> ConfigEntity | None:
        """The most promising of some points of every sketch."""
        return self._promising(task)

    def _most_promising(self, task: Task) -> ConfigEntity | None:
        _, sketches = self._derived(task)
        rng, best = random.Random(0), None
        for sketch in sketches.values():
            space = ConfigSpace([sketch.alternative(self.name)])
            for point in space.sample(rng, self.points):
                cost = sketch.cost(point.values)
                if best is None or cost < best[0]:
                    best = cost, point
        return best[1] if best else None

    def adopt_config(self, task: Task, foreign: ConfigEntity) -> ConfigEntity | None:
        """The tiles that a product has there, in the tiled sketch where they cost least."""
        tiles = loop_tiles(foreign, task.workload.anchor, self.operators)
        knobs = {tile_knob(axis): tile for axis, tile in tiles.items()}
        usual = self.fallback(task) if tiles else None
        if usual is None:
            return None
        _, sketches = self._derived(task)
        each = [sketch.alternative(self.name) for sketch in sketches.values()]
        tiled = [one for one in each if any(knob.name in knobs for knob in one.knobs)]
        found = [nearest(one, {**usual.values, **knobs}) for one in tiled]
        return min(
            (one for one in found if one is not None),
            key=lambda one: sketches[one.strategy].cost(one.values),
            default=None,
        )

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """What the sketch wants under these values."""
        problem, sketches = self._derived(task)
        found = sketches[config.strategy].layouts(config.values)
        return Layouts(
            tuple(found[tensor.name].text for tensor in problem.dag.inputs),
            tuple(found[tensor.name].text for tensor in problem.dag.outputs),
            constants(task),
        )

    def variant(self, task: Task, config: ConfigEntity) -> str:
        """The sketch."""
        return config.strategy

    def start(self, task: Task, variant: str) -> Schedule:
        """What the sketch does without open choices."""
        return self._derived(task)[1][variant].schedule

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """The sketch with its choices made."""
        return self._derived(task)[1][config.strategy].chosen(schedule, config.values)

    def _derive(self, task: Task) -> tuple[SketchInput, dict[str, Sketch]]:
        workload = task.workload
        dag = self.operators.compute_dag(workload)
        anchor = self.operators.find(workload.operator)
        count = len(workload.anchor.inputs)
        letters = {}
        for number in constants(task):
            rank = Layout.logical(len(workload.inputs[number].shape)).letters
            own = anchor.operand(number).letters if number < count else ""
            letters[dag.inputs[number].name] = own or rank
        problem = SketchInput(dag, letters, self.limits(task))
        return problem, {f"{self.name}/{one.name}": one for one in derive(problem, self.rules)}
