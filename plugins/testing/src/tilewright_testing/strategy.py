"""What every strategy keeps to. Subclass and give a target and the tasks to try.

>>> class TestMine(StrategyContract, StrategyAnswersContract):
...     target, tasks = "TARGET", ("OPERATOR(...)", "OPERATOR(...) + OPERATOR(...)")
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice

from tilewright.host.plugin_host import PluginHost
from tilewright.space.config_space import ConfigSpace
from tilewright.strategies.strategy import Strategy, strategy_of
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright_pipeline.api.task_text import find_task
from tilewright_testing.support.bound_kernel import bound_kernel
from tilewright_testing.support.on_target import OnTarget
from tilewright_testing.support.spaces import space_hashes


class StrategyBasics(OnTarget):
    """Every strategy of some tasks, and some of its points.

    strategies   glob over their names, for one's own alone
    samples      points tried of each alternative, besides the first
    """

    strategies = "*"
    samples = 3

    def cases(
        self, host: PluginHost, target: Target
    ) -> Iterator[tuple[Task, Strategy, ConfigSpace]]:
        """Each task with each strategy that applies, and the space of that strategy alone."""
        for text in self.tasks:
            task = find_task(text, target, host, None)
            strategies = host.strategies(task, self.strategies)
            assert strategies, f"no strategy for {text}"
            for strategy in strategies:
                yield task, strategy, _space(host, task, strategy)

    def sampled(self, space: ConfigSpace) -> list[ConfigEntity]:
        """The same points each time."""
        return space.sample(random.Random(0), self.samples)

    def points(
        self, host: PluginHost, target: Target
    ) -> Iterator[tuple[Task, ConfigSpace, ConfigEntity]]:
        """The first and some more of each alternative."""
        for task, _, space in self.cases(host, target):
            for alternative in space.alternatives:
                own = ConfigSpace([alternative])
                for config in [*islice(own.points(), 1), *self.sampled(own)]:
                    yield task, space, config


class StrategyContract(StrategyBasics):
    """Points that can be found again and lowered, and layouts that fit the operands."""

    def test_alternatives_bear_the_name_of_their_strategy(
        self, host: PluginHost, resolved: Target
    ) -> None:
        for task, strategy, space in self.cases(host, resolved):
            for alternative in space.alternatives:
                assert strategy_of(alternative.name) == strategy.name, task

    def test_every_alternative_has_a_feasible_point(
        self, host: PluginHost, resolved: Target
    ) -> None:
        for task, _, space in self.cases(host, resolved):
            for alternative in space.alternatives:
                assert ConfigSpace([alternative]).first() is not None, (task, alternative.name)

    def test_a_config_has_the_same_index_each_time(
        self, host: PluginHost, resolved: Target
    ) -> None:
        fresh = PluginHost.load(host.files)
        for task, strategy, space in self.cases(host, resolved):
            for again in (_space(host, task, strategy), _space(fresh, task, strategy)):
                assert space.hash == again.hash, strategy.name
        for _, space, config in self.points(host, resolved):
            assert space.get(space.index(config)) == config

    def test_the_fallback_is_a_point_of_the_space(self, host: PluginHost, resolved: Target) -> None:
        for task, strategy, space in self.cases(host, resolved):
            config = host.implementation(strategy.name).fallback(task)
            assert config is None or space.is_valid(config), (strategy.name, config)

    def test_the_first_and_sampled_points_can_be_lowered(
        self, host: PluginHost, resolved: Target
    ) -> None:
        for task, _, config in self.points(host, resolved):
            assert host.lower(task, config) is not None, config.text

    def test_layouts_name_every_operand_and_output(
        self, host: PluginHost, resolved: Target
    ) -> None:
        for task, _, config in self.points(host, resolved):
            layouts = host.layouts(task, config)
            reference = host.reference(task.workload.operator)
            assert len(layouts.inputs) == len(task.workload.inputs), config.text
            assert len(layouts.outputs) == len(reference.output_shapes(task.workload)), config.text
            assert layouts == host.layouts(task, config)

    def test_only_constants_are_packed(self, host: PluginHost, resolved: Target) -> None:
        for task, _, config in self.points(host, resolved):
            for place in host.layouts(task, config).packed:
                assert task.workload.inputs[place].role == "constant", config.text

    def test_inputs_survive_packing_and_unpacking(self, host: PluginHost, resolved: Target) -> None:
        for task, _, config in self.points(host, resolved):
            reference = host.reference(task.workload.operator)
            precision = host.strategy(config.strategy).precision
            arrays = reference.inputs(task.workload, 1, precision)
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


class ReproducibleStrategyContract(StrategyBasics):
    """Equal spaces in every process."""

    def test_a_config_has_the_same_index_in_other_processes(
        self, host: PluginHost, resolved: Target
    ) -> None:
        module, tasks = "tilewright_testing.support.spaces", json.dumps(list(self.tasks))
        answer = subprocess.run(
            [sys.executable, "-m", module, str(resolved), tasks, *map(str, host.files)],
            env={**os.environ, "PYTHONHASHSEED": "4"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert answer.split() == [*space_hashes(host, resolved, self.tasks)]


class StrategyAnswersContract(StrategyBasics):
    """Strategies whose kernels can be run here: told layouts are what kernels read and write."""

    def test_kernels_of_each_strategy_give_the_answer(
        self, host: PluginHost, resolved: Target, device: Device
    ) -> None:
        """The fallback's, and one more."""
        for task, strategy, space in self.cases(host, resolved):
            advice = host.implementation(strategy.name).fallback(task)
            points = [*self.sampled(space), *islice(space.points(), 1)]
            others = (
                config for config in points if config != advice and _builds(host, task, config)
            )
            chosen = [config for config in (advice, next(others, None)) if config is not None]
            assert chosen, f"{strategy.name}: none of {len(points)} points builds"
            for config in chosen:
                with bound_kernel(host, device, task, config) as bound:
                    bound.kernel.launch()
                    bound.check()


def _builds(host: PluginHost, task: Task, config: ConfigEntity) -> bool:
    """Some points turn out to ask for too much only when they are compiled."""
    try:
        host.backend(task.target.kind).build(host.lower(task, config), task.target)
    except ValueError:
        return False
    return True


def _space(host: PluginHost, task: Task, strategy: Strategy) -> ConfigSpace:
    """What a strategy answers now: the host's own spaces are asked for once."""
    return ConfigSpace(host.implementation(strategy.name).alternatives(task))
