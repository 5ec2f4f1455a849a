"""A record holds for the definition that was measured, not for whatever has its operator's name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Conditions, MeasureInput, MeasureResult, Trial
from tilewright.vocabulary.record import Query, Record
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.task_set import TaskSet, WeightedTask
from tilewright.vocabulary.workload import Workload
from tilewright_pipeline.api.task_text import find_task
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.tuning.history import known_trials
from tilewright_records.store.store import JsonlRecordStore
from tilewright_tensor.expressions.expr import exp, tanh
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import compute, reduce_axis, reduce_sum
from tilewright_tensor.operators.operator import operator
from tilewright_tensor.operators.operators import Operators, builtin_operators
from tilewright_tensor.operators.reference import OperatorReference

PLUGIN = """
from tilewright import hookimpl
from tilewright_tensor.ir.dag import compute
from tilewright_tensor.expressions.expr import exp, tanh
from tilewright_tensor.operators.operator import operator

@operator(elementwise=True)
def mine(x):
    return compute("mine", x.shape, lambda *i: {body})

@hookimpl
def tilewright_operators():
    return [mine]
"""
TARGET = Target("x86", {"threads": 1})
DEVICE = Device("here")


def _key(body: Callable[..., Any], text: str = "mine(4x3)", revision: int = 0) -> str:
    return _workload(body, text, revision).key


def _workload(body: Callable[..., Any], text: str = "mine(4x3)", revision: int = 0) -> Workload:
    def mine(x: Tensor) -> Tensor:
        return compute("mine", x.shape, lambda *i: body(x, *i))

    made = replace(operator(elementwise="+" in text)(mine), revision=revision)
    every = Operators([*builtin_operators().values(), made])
    name, _, arguments = text.partition("(")
    return OperatorReference(name, every).parse(f"({arguments}", "")


def _row(x: Tensor, i: Any, _j: Any, name: str = "k", step: int = 1) -> Any:
    k = reduce_axis(3, name)
    return reduce_sum(x[i, k * step] if step == 1 else x[i, 2 - k], k)


def test_another_definition_of_the_same_name_has_another_key() -> None:
    bodies: list[Callable[..., Any]] = [
        lambda x, *i: x[i] * 2.0,
        lambda x, *i: x[i] * 3.0,
        lambda x, *i: x[i] + 2.0,
        lambda x, *i: tanh(exp(x[i])),
        lambda x, *i: exp(tanh(x[i])),
        lambda x, i, j: x[i, 2 - j] * 2.0,
        lambda x, *i: (x[i] * 2.0) * 2.0,
        _row,
        lambda x, i, j: _row(x, i, j, step=-1),
    ]
    assert len({_key(body) for body in bodies}) == len(bodies)


def test_equal_definitions_have_one_key_in_every_process() -> None:
    key = _key(lambda x, *i: x[i] * 2.0)
    assert _key(lambda y, *place: y[place] * 2.0) == key
    program = "from test_definition_keys import _key\nprint(_key(lambda x, *i: x[i] * 2.0), end='')"
    for seed in ("1", "2"):
        told = subprocess.run(
            [sys.executable, "-c", program],
            cwd=Path(__file__).parent,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            check=True,
            text=True,
        )
        assert told.stdout == key


def test_an_epilogue_of_ones_own_has_its_definition_in_the_key_and_leaves_the_anchor_its_own() -> (
    None
):
    text = "conv2d(1x3x5x5, 4x3x3x3) + mine()"
    once, other = _workload(lambda x, *i: x[i] * 2.0, text), _workload(lambda x, *i: x[i], text)
    assert once.key != other.key
    assert once.anchor_key == other.anchor_key
    assert Workload.from_json(once.to_json()) == once


def test_an_author_who_says_a_revision_has_keys_by_revision() -> None:
    def twice(x: Tensor, *i: Any) -> Any:
        return x[i] * 2.0

    first, second = (_key(twice, revision=n) for n in (1, 2))
    assert first == _key(lambda x, *i: exp(x[i]), revision=1) != second
    assert Workload.from_json(_workload(twice, revision=2).to_json()).key == second


@pytest.fixture
def host_of(tmp_path: Path) -> Callable[[str], PluginHost]:
    """A host with the operator `mine` that computes this of `x[i]`."""

    def load(body: str) -> PluginHost:
        path = tmp_path / "mine.py"
        path.write_text(PLUGIN.format(body=body))
        return PluginHost.load([path])

    return load


def test_a_time_is_not_found_for_what_the_operator_computes_now(
    host_of: Callable[[str], PluginHost], tmp_path: Path
) -> None:
    store = JsonlRecordStore(tmp_path / "records.jsonl")
    before, after = host_of("x[i] * 2.0"), host_of("tanh(exp(x[i]))")
    task, same = (
        Task(host.reference("mine").parse("(64)", ""), TARGET) for host in (before, after)
    )
    asked = MeasureInput(task, ConfigEntity("plain"), Conditions("warm"))
    store.append([Record.of(Trial(asked, MeasureResult((4.5e-6,))), DEVICE, 1)])
    store = JsonlRecordStore(store.path)
    assert store.bad_lines == 0

    def best(task: Task) -> Record | None:
        return store.best(Query(task, Conditions("warm"), DEVICE.fingerprint, {"plain": 1}))

    assert best(task) is not None
    assert best(same) is None
    assert find_task(task.workload.key, None, before, store) == task
    with pytest.raises(UsageError, match=r"mine\(64\): the definition of an operator has changed"):
        find_task(task.workload.key, None, after, store)


def test_a_tuner_does_not_learn_from_another_definition(
    host_of: Callable[[str], PluginHost], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PluginHost, "revisions", {"plain": 1})
    store = JsonlRecordStore(tmp_path / "records.jsonl")
    before, after = host_of("x[i] * 2.0"), host_of("tanh(exp(x[i]))")
    for host in (before, after):
        task = Task(host.reference("mine").parse("(64)", ""), TARGET)
        asked = MeasureInput(task, ConfigEntity("plain"), Conditions("warm"))
        store.append([Record.of(Trial(asked, MeasureResult((4.5e-6,))), DEVICE, 1)])
    for host in (before, after):
        context = RunContext(
            name="t", folder=tmp_path, target=TARGET, device=DEVICE, host=host, store=store,
            conditions=Conditions(), seed=0, runner=("local", {}), builder=("local", {}),
            strategies="*",
        )  # fmt: skip
        task = Task(host.reference("mine").parse("(64)", ""), TARGET)
        (trial,) = known_trials(context, TaskSet((WeightedTask(task, 1.0, "it"),)))
        assert trial.input.task.workload == host.reference("mine").parse("(64)", "")
