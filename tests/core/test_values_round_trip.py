"""Core's values: JSON and text both ways, hashes that agree with equality, mistakes refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.canonical import canonical_json, content_key, freeze, thaw
from tilewright.errors import UsageError
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import (
    Conditions,
    Failure,
    FailureKind,
    MeasureInput,
    MeasureResult,
)
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import EpilogueOp, TensorSpec, Workload

names = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
json_values = st.recursive(
    scalars, lambda part: st.lists(part) | st.dictionaries(st.text(), part), max_leaves=6
)
mappings = st.dictionaries(st.text(), json_values, max_size=3)
specs = st.builds(
    TensorSpec,
    st.lists(st.integers(1, 99), max_size=4).map(tuple),
    st.sampled_from(["float32", "int8"]),
    st.sampled_from(["activation", "constant"]),
)
workloads = st.builds(
    Workload,
    names,
    st.lists(specs, min_size=1, max_size=3).map(tuple),
    mappings,
    st.lists(
        st.builds(
            EpilogueOp, names, mappings, st.lists(st.integers(1, 2)).map(tuple), st.integers(0, 1)
        ),
        max_size=2,
    ).map(tuple),
)
targets = st.builds(
    Target, names, st.dictionaries(names, st.from_regex(r"[A-Za-z0-9_.+-]{1,8}", fullmatch=True))
)
conditions = st.builds(
    Conditions,
    st.sampled_from(["cold", "warm", "network"]),
    st.integers(1, 9),
    st.integers(1, 9),
    st.floats(0, 10),
    st.floats(0, 10),
)
devices = st.builds(
    Device, names, mappings, st.dictionaries(st.integers(1, 9), st.floats(1, 1e12), max_size=2)
)
configs = st.builds(ConfigEntity, names, mappings)
failures = st.builds(Failure, st.sampled_from(FailureKind), st.text(), st.text())


@pytest.mark.parametrize(
    ("values", "read"),
    [
        (st.builds(Task, workloads, targets), Task.from_json),
        (conditions, Conditions.from_json),
        (devices, Device.from_json),
        (configs, ConfigEntity.from_json),
        (failures, Failure.from_json),
        (
            st.builds(MeasureInput, st.builds(Task, workloads, targets), configs, conditions),
            MeasureInput.from_json,
        ),
    ],
)
def test_json_comes_back_equal_with_equal_hash(values, read):
    @given(values)
    def check(value):
        again = read(json.loads(json.dumps(value.to_json())))
        assert again == value
        assert hash(again) == hash(value)

    check()


@pytest.mark.parametrize(
    "result",
    [
        MeasureResult((1e-3, 2e-3), timings={"time": 0.1}, device="cpu@tcp://10.0.0.7:4001"),
        MeasureResult(failure=Failure(FailureKind.CRASH, "why", "SIGSEGV")),
    ],
)
def test_a_result_comes_back_from_json_equal(result):
    said = result.to_json()
    assert MeasureResult.from_json(json.loads(json.dumps(said))) == result
    assert ("device" in said) == bool(result.device)


@given(targets)
def test_a_targets_text_comes_back(target):
    assert Target.parse(str(target)) == target
    assert hash(Target.parse(str(target))) == hash(target)


@pytest.mark.parametrize(
    "text", ["", "X", "toy:", "toy:a", "toy:a=b c", "toy:A=1", "a b", "toy:a=;"]
)
def test_a_target_that_cannot_be_written_back_is_refused(text):
    if text == "toy:":
        assert str(Target.parse(text)) == "toy"
        return
    with pytest.raises(UsageError, match="target"):
        Target.parse(text)


@given(json_values)
def test_freezing_and_thawing_changes_nothing_that_json_sees(value):
    assert thaw(freeze(value)) == value
    assert canonical_json(freeze(value)) == canonical_json(value)


@given(st.dictionaries(st.text(), st.integers()))
def test_a_content_key_ignores_the_order_of_members_only(value):
    backwards = dict(reversed(value.items()))
    assert content_key(backwards) == content_key(value)
    assert content_key({**value, "one more": 1}) != content_key(value)


def test_canonical_json_refuses_what_json_has_not():
    for value in (float("nan"), float("inf"), object()):
        with pytest.raises((ValueError, TypeError)):
            canonical_json([value])


def test_values_cannot_be_changed_through_what_they_were_made_of():
    inner = [1, 2]
    config = ConfigEntity("s", {"tile": inner})
    inner.append(3)
    assert config["tile"] == (1, 2)
    with pytest.raises(TypeError):
        config.values["tile"] = 1


def test_configs_differ_where_python_takes_true_for_one():
    assert ConfigEntity("s", {"k": 1}) != ConfigEntity("s", {"k": True})
    assert ConfigEntity("s", {"a": 1, "b": 2}) == ConfigEntity("s", {"b": 2, "a": 1})
    assert len({ConfigEntity("s", {"k": value}) for value in (1, 1.0, 1)}) == 2


def test_an_anchor_leaves_out_the_epilogue_and_its_operands():
    data, weight, bias = TensorSpec((1, 7)), TensorSpec((5, 7), role="constant"), TensorSpec((1, 5))
    fused = Workload(
        "dense", (data, weight, bias), {}, (EpilogueOp("add", {}, (2,)), EpilogueOp("relu"))
    )
    plain = Workload("dense", (data, weight))
    assert fused.anchor == plain
    assert fused.anchor_key == plain.key != fused.key
    assert hash(fused.epilogue[0]) == hash(EpilogueOp("add", {}, [2]))


def test_conditions_are_warm_for_a_workload_without_constants():
    data, weight = TensorSpec((1, 7)), TensorSpec((5, 7), role="constant")
    asked = Conditions(repeat=9)
    dense, add = Workload("dense", (data, weight)), Workload("add", (data, data))
    assert asked.for_task(Task(dense, Target("any"))) == asked
    assert asked.for_task(Task(add, Target("any"))) == Conditions("warm", repeat=9)


def test_cold_is_as_in_a_network_on_several_threads():
    data, two = TensorSpec((1, 7)), Target("any", {"threads": "2"})
    task = Task(Workload("add", (data, data)), two)
    assert Conditions(repeat=9).for_task(task) == Conditions("network", repeat=9)
    assert Conditions("warm").for_task(task) == Conditions("warm")


@pytest.mark.parametrize(
    "wrong",
    [
        {"constants": "hot"},
        {"number": 0},
        {"repeat": 0},
        {"turns": 0},
        {"min_repeat_ms": -1},
        {"cooldown_interval": -1},
    ],
)
def test_conditions_that_cannot_be_measured_are_refused(wrong):
    with pytest.raises(ValueError):
        Conditions(**wrong)
    with pytest.raises(ValueError, match="activation or a constant"):
        TensorSpec((1,), role="weight")


def test_a_result_has_costs_or_a_failure_and_its_seconds_are_the_median():
    assert MeasureResult((3.0, 1.0, 2.0)).seconds == 2.0
    assert MeasureResult(failure=Failure(FailureKind.CRASH)).seconds is None
    for wrong in ({}, {"costs": (1.0,), "failure": Failure(FailureKind.CRASH)}):
        with pytest.raises(ValueError, match="either costs or a failure"):
            MeasureResult(**wrong)
    assert [kind for kind in FailureKind if kind.retried] == [
        "device_lost",
        "cancelled",
        "internal",
    ]


def test_of_a_compiler_s_whole_output_a_failure_keeps_what_a_record_can_hold():
    assert Failure(FailureKind.BUILD_ERROR, "error: " * 10**6).text == ("error: " * 586)[:4096]


def test_a_fingerprint_ignores_measured_peaks():
    device = Device("cpu", {"cores": 2})
    assert Device("cpu", {"cores": 2}, {1: 1e9}).fingerprint == device.fingerprint
    assert Device("cpu", {"cores": 4}).fingerprint != device.fingerprint
    assert Device("gpu0", {"cores": 2}).fingerprint != device.fingerprint


def test_a_layout_signature_leaves_packed_constants_out():
    layouts = Layouts(("NC8c", "OI8i"), ("NC8c",), frozenset({1}))
    assert layouts.signature == (("NC8c", None), ("NC8c",))


def test_an_attribute_of_a_device_may_be_found_out_when_it_is_asked_for():
    calls = []

    def version():
        calls.append(1)
        return [22, 1]

    late, plain = (Device("cpu", {"model": "m", "version": v}) for v in (version, [22, 1]))
    assert late.attributes.get("model") == "m"
    assert late.attributes.get("emulated") is None
    assert calls == []
    assert late.fingerprint == plain.fingerprint
    assert late == plain
    assert late.attributes["version"] == (22, 1)
    assert json.dumps(late.to_json()) == json.dumps(plain.to_json())
    assert len(calls) == 1
