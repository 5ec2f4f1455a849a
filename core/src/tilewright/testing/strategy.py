"""What every strategy keeps to. Subclass and give a target and the tasks to try."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice

import pytest

from tilewright.config import ConfigEntity
from tilewright.host import PluginHost
from tilewright.space.config_space import ConfigSpace
from tilewright.strategy import Strategy
from tilewright.target import Target
from tilewright.task import Task
from tilewright.task_text import find_task


class StrategyContract:
    """Every strategy of some tasks: its points can be lowered, its layouts fit the operands.

    target    text of the target
    tasks     text forms of the tasks
    samples   points tried of each alternative, beside the first
    """

    target: str
    tasks: Sequence[str]
    samples = 3

    @pytest.fixture
    def host(self) -> PluginHost:
        """Override to load plugin files."""
        return PluginHost.load()

    def _cases(self, host: PluginHost) -> Iterator[tuple[Task, Strategy, ConfigSpace]]:
        target: Target = host.resolve_target(self.target)
        for text in self.tasks:
            task = find_task(text, target, host, None)
            strategies = host.strategies(task)
            assert strategies, f"no strategy for {text}"
            for strategy in strategies:
                yield task, strategy, ConfigSpace(host.schedule(strategy.name).alternatives(task))

    def _points(self, host: PluginHost) -> Iterator[tuple[Task, Strategy, ConfigEntity]]:
        for task, strategy, space in self._cases(host):
            for alternative in space.alternatives:
                own = ConfigSpace([alternative])
                first = islice(own.points(), 1)
                for config in [*first, *own.sample(random.Random(0), self.samples)]:
                    yield task, strategy, config

    def test_alternatives_bear_the_name_of_their_strategy(self, host: PluginHost) -> None:
        for task, strategy, space in self._cases(host):
            for alternative in space.alternatives:
                assert alternative.name.partition("/")[0] == strategy.name, task

    def test_every_alternative_has_a_feasible_point(self, host: PluginHost) -> None:
        for task, _, space in self._cases(host):
            for alternative in space.alternatives:
                assert ConfigSpace([alternative]).first() is not None, (task, alternative.name)

    def test_the_space_is_the_same_each_time(self, host: PluginHost) -> None:
        for task, strategy, space in self._cases(host):
            again = ConfigSpace(host.schedule(strategy.name).alternatives(task))
            assert space.hash == again.hash, strategy.name

    def test_the_first_and_sampled_points_can_be_lowered(self, host: PluginHost) -> None:
        for task, _, config in self._points(host):
            assert host.lower(task, config) is not None, config.text

    def test_layouts_name_every_operand_and_output(self, host: PluginHost) -> None:
        for task, _, config in self._points(host):
            layouts = host.layouts(task, config)
            reference = host.reference(task.workload.operator)
            assert len(layouts.inputs) == len(task.workload.inputs), config.text
            assert len(layouts.outputs) == len(reference.output_shapes(task.workload)), config.text
            assert layouts == host.layouts(task, config)

    def test_only_constants_are_packed(self, host: PluginHost) -> None:
        for task, _, config in self._points(host):
            for place in host.layouts(task, config).packed:
                assert task.workload.inputs[place].role == "constant", config.text

    def test_inputs_survive_packing_and_unpacking(self, host: PluginHost) -> None:
        for task, _, config in self._points(host):
            reference = host.reference(task.workload.operator)
            arrays = reference.inputs(task.workload, seed=1)
            layouts = host.layouts(task, config)
            for place, (array, layout) in enumerate(zip(arrays, layouts.inputs, strict=True)):
                packed = reference.pack(array, layout)
                back = reference.unpack(packed, layout, tuple(array.shape))
                # constants may be transformed, not only rearranged: then to rounding
                exact = (back == array).all()
                near = (
                    place in layouts.packed and abs(back - array).max() <= 1e-5 * abs(array).max()
                )
                assert exact or near, (config.text, layout)

    def test_the_fallback_is_a_point_of_the_space(self, host: PluginHost) -> None:
        for task, strategy, space in self._cases(host):
            config = host.schedule(strategy.name).fallback(task)
            assert config is None or space.is_valid(config), (strategy.name, config)
