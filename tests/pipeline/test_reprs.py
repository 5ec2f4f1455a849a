"""What values print of themselves fits a screen."""

from __future__ import annotations

import pytest

import tilewright
from tilewright.space.config_space import ConfigSpace
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.task_set import TaskSet, WeightedTask
from tilewright.vocabulary.workload import EpilogueOp, TensorSpec, Workload

SCREEN = 400


@pytest.fixture
def task():
    operands = (TensorSpec((1, 64)), TensorSpec((10, 64), role="constant"))
    epilogue = (EpilogueOp("relu"),) * 2
    return Task(Workload("dense", operands, {}, epilogue), Target.parse("toy:threads=2"))


def test_a_task_tells_operator_operands_and_target(task):
    assert repr(task) == "<Task dense(1x64, 10x64)+relu+relu on toy:threads=2>"
    assert repr(task.workload).endswith(f"key {task.workload.key}>")
    assert len(repr(TaskSet((WeightedTask(task),) * 300))) <= SCREEN


def test_a_long_epilogue_is_cut(task):
    fused = Workload("dense", task.workload.inputs, {}, (EpilogueOp("relu"),) * 1000)
    assert len(repr(Task(fused, task.target))) <= SCREEN


def test_configs_targets_and_specs_print_what_makes_them():
    config, target = ConfigEntity("s", {"tile": [2, 4]}), Target.parse("toy:isa=x,threads=2")
    specs = TensorSpec((1, 2), "int8"), TensorSpec((), role="constant")
    known = {"ConfigEntity": ConfigEntity, "Target": Target, "TensorSpec": TensorSpec}
    for value in (config, target, *specs):
        assert eval(repr(value), known) == value


def test_a_space_tells_its_alternatives_and_how_large_they_are():
    def alternative(name, knobs):
        made = Knobs(name)
        for number in range(knobs):
            made.define_knob(f"k{number}", list(range(10)))
        return made.alternative()

    small = ConfigSpace([alternative("a", 1), alternative("b", 2)])
    assert repr(small) == "<ConfigSpace of 110 configs: a (10), b (100)>"
    vast = ConfigSpace([alternative(f"alternative{i}", 400) for i in range(100)])
    assert "of about 1e402 configs" in repr(vast)
    assert len(repr(vast)) <= SCREEN


def test_a_run_and_its_pipeline_tell_their_stages(pipeline_file):
    pipeline = tilewright.Pipeline.load(pipeline_file())
    assert repr(pipeline) == "<Pipeline toyrun for toy:threads=1: source, tune, check>"
    told = repr(pipeline.run())
    assert told == "<RunResult exit code 0, in runs/toyrun: source ok, tune ok, check ok>"
