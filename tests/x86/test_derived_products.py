"""Schedules derived around products of bfloat16: right answers, and which tasks have any."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from isa_levels import ROUNDING

from tilewright.host.plugin_host import PluginHost
from tilewright.space.config_space import ConfigSpace
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright_pipeline.api.task_text import find_task
from tilewright_tensor.ir.loop_ir import Tensorized, walk
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_testing.strategy import StrategyAnswersContract, StrategyContract
from tilewright_testing.support.bound_kernel import bound_kernel
from tilewright_x86.instructions import INSTRUCTIONS

OWN = "own_products.py"
TASKS = """
matmul(7x13, 13x17) + relu()
matmul(64x48, 48x80)
matmul(33x1, 1x31)
matmul(3x129, 129x1)
matmul(1x40, 40x2)
matmul(3x17x19, 3x19x23)
matmul(2x1x5x7, 3x7x18) + add(2x3x5x18)
dense(7x64, 100x64) + add(1x100:const) + tanh()
dense(5x13, 17x13:activation)
dense(1x37, 10x37)
conv2d(1x17x9x9, 13x17x3x3, padding=1) + add(1x13x1x1:const) + tanh()
conv2d(1x32x7x7, 48x32x3x3, padding=1) + add(1x48x1x1:const) + add(1x48x7x7) + relu()
conv2d(3x3x11x11, 32x3x5x5, strides=2, padding=2)
conv2d(2x16x6x6, 16x16x3x3, padding=[1,0,2,1], dilation=2)
conv2d(1x34x7x7, 40x34x1x1, strides=2)
conv2d(3x1x7x7, 5x1x3x3)
conv2d(1x1x5x1, 3x1x1x2, padding=[0,0,0,1])
conv1d(1x7x17, 13x7x3, padding=1)
conv1d(2x8x20, 16x8x5, strides=2, padding=2, dilation=2) + relu()
conv3d(1x7x5x9x6, 13x7x3x3x2, strides=[1, 2, 1], padding=1) + relu()
similarity(17x33, 29x33)
chain(9x17, 17x22, 22x13)
perceptron(9x17, 17x22, 22x13)
prepared(9x18, 18x22)
turned(33x17, 19x33)
""".strip().splitlines()
WITHOUT = """
conv2d(1x8x9x9, 12x2x3x3, padding=1, groups=4)
conv2d(1x16x9x9, 16x1x3x3, padding=1, groups=16)
matmul(1x64, 64x1)
matmul(8x8:float64, 8x8:float64)
max_pool2d(1x16x7x7, pool_size=3)
softmax(3x17)
gram(17x33)
prepared(9x17, 17x22)
""".strip().splitlines()


class TestEmulated(StrategyContract, StrategyAnswersContract):
    """The instruction as plain loops: on every machine."""

    target = "x86:emulated=yes,isa=avx512_bf16,threads=1"
    device_name = "emulated"
    precision = "bfloat16"
    strategies = "derived_bf16.x86"
    plugin_files = (OWN,)
    tasks = TASKS


@pytest.mark.skipif(not ROUNDING, reason="needs AVX-512 BF16")
class TestReal(StrategyAnswersContract):
    target = "x86:isa=avx512_bf16,threads=1"
    precision = "bfloat16"
    strategies = "derived_bf16.x86"
    plugin_files = (OWN,)
    tasks = TASKS


@pytest.mark.skipif(not ROUNDING, reason="needs AVX-512 BF16")
class TestRealOnTwoThreads(StrategyAnswersContract):
    target = "x86:isa=avx512_bf16,threads=2"
    precision = "bfloat16"
    strategies = "derived_bf16.x86"
    plugin_files = (OWN,)
    tasks = TASKS[:4] + TASKS[10:13] + TASKS[-4:]


@pytest.fixture(scope="module")
def host() -> PluginHost:
    return PluginHost.load([Path(__file__).with_name(OWN)]).at_precision("bfloat16")


def _task(host: PluginHost, text: str, isa: str = "avx512_bf16") -> Task:
    return find_task(text, Target.parse(f"x86:isa={isa},threads=1"), host, None)


def _firsts(host: PluginHost, task: Task) -> list[ConfigEntity]:
    """Of every alternative one."""
    found = host.space(task, "derived_bf16.x86/*").alternatives
    return [config for one in found if (config := ConfigSpace([one]).first())]


@pytest.mark.parametrize("text", TASKS)
def test_every_alternative_has_the_instruction_and_its_steps_replay(
    text: str, host: PluginHost
) -> None:
    task = _task(host, text)
    implementation = host.implementation("derived_bf16.x86")
    instructions = {one.name: one for one in INSTRUCTIONS}
    for config in _firsts(host, task):
        program = host.lower(task, config)
        assert any(isinstance(one, Tensorized) for one in walk(program.body))
        assert "vdpbf16ps." in str(program)
        schedule = implementation.schedule(task, config)
        again = Schedule.replay(schedule.dag, schedule.steps, instructions)
        assert again.steps == schedule.steps
        assert list(map(str, again.stages.values())) == list(map(str, schedule.stages.values()))


@pytest.mark.parametrize("text", TASKS)
def test_points_of_every_alternative_give_the_answer(text: str, host: PluginHost) -> None:
    target = "x86:emulated=yes,isa=avx512_bf16,threads=1"
    task = find_task(text, Target.parse(target), host, None)
    (device,) = (one for one in host.backend("x86").probe() if one.name == "emulated")
    for alternative in host.space(task, "derived_bf16.x86/*").alternatives:
        for config in ConfigSpace([alternative]).sample(random.Random(text), 2):
            with bound_kernel(host, device, task, config) as bound:
                bound.kernel.launch()
                bound.check()


@pytest.mark.parametrize("text", WITHOUT)
def test_a_task_without_a_product_of_two_operands_is_declined_with_what_is_taken(
    text: str, host: PluginHost
) -> None:
    task = _task(host, text)
    assert "derived_bf16.x86" not in {one.name for one in host.strategies(task)}
    (declined,) = (one for one in host.declined(task) if one.name == "derived_bf16.x86")
    assert "products" in str(declined)


def test_processors_without_the_instruction_are_declined(host: PluginHost) -> None:
    names = {one.name for one in host.strategies(_task(host, TASKS[0], "avx512_vnni"))}
    assert "derived.x86" in names
    assert "derived_bf16.x86" not in names


@pytest.mark.parametrize("text", TASKS)
def test_search_has_no_more_alternatives_to_try_than_in_float32(
    text: str, host: PluginHost
) -> None:
    task = _task(host, text)
    rounded, exact = (host.space(task, f"{name}.x86/*") for name in ("derived_bf16", "derived"))
    assert len(rounded.alternatives) < len(exact.alternatives)
