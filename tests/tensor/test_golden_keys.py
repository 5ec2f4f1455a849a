"""Keys are promises: records and history packs are found by them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Conditions, MeasureInput, MeasureResult, Trial
from tilewright.vocabulary.record import Query, Record
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import Workload
from tilewright_tensor.ir.dag import compute
from tilewright_tensor.operators.definition.attribute import Attribute, from_front, integer, number
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.operators.text_form import format_workload, parse_workload

# Text form -> key. Change an entry only with a new version of the record format.
GOLDEN = json.loads((Path(__file__).parent / "golden_keys.json").read_text())


def test_keys_never_change(workload: Callable[[str], Workload]) -> None:
    assert {text: workload(text).key for text in GOLDEN} == GOLDEN


def test_anchor_keys_leave_the_epilogue_out(workload: Callable[[str], Workload]) -> None:
    for text in GOLDEN:
        assert workload(text).anchor_key == workload(text.partition(" + ")[0]).key


CONV2D = "conv2d(1x3x7x5, 4x3x3x3, padding=1)"


@pytest.fixture
def grown(operators: Operators) -> Operators:
    """The built-in operators after conv2d and relu were given an attribute each."""

    def scaled(tensors, attributes):
        made = conv2d.compute(tensors, attributes)
        scale = attributes["scale"]
        return made if scale == 1.0 else compute("scaled", made.shape, lambda *i: made[i] * scale)

    conv2d, relu = operators["conv2d"], operators["relu"]
    scale = Attribute("scale", number, 1.0, since="2.0")
    axis = Attribute("axis", integer, -1, from_front, since="2.0")
    changed = {
        "conv2d": replace(
            conv2d, compute=scaled, reference=None, attributes=(*conv2d.attributes, scale)
        ),
        "relu": replace(relu, attributes=(*relu.attributes, axis)),
    }
    return Operators({**operators, **changed}.values())


def test_an_attribute_that_is_added_later_changes_no_key(grown: Operators) -> None:
    assert {text: parse_workload(grown, text).key for text in GOLDEN} == GOLDEN


def test_the_default_is_the_same_layer_whether_it_is_written_or_not(grown: Operators) -> None:
    plain = parse_workload(grown, CONV2D)
    assert parse_workload(grown, CONV2D.replace(")", ", scale=1)")) == plain
    assert grown.workload("relu", plain.inputs[:1], {"axis": 3}).attributes == {}
    assert grown.workload("relu", plain.inputs[:1], {"axis": 2}).attributes == {"axis": 2}
    assert format_workload(grown, plain) == CONV2D


def test_another_value_is_another_layer(grown: Operators) -> None:
    text = CONV2D.replace(")", ", scale=2.0)")
    plain, other = parse_workload(grown, CONV2D), parse_workload(grown, text)
    assert other.key != plain.key
    assert other.attributes["scale"] == 2.0
    assert format_workload(grown, other) == text
    assert Workload.from_json(other.to_json()) == other


def test_the_operator_s_functions_are_given_every_attribute(grown: Operators) -> None:
    plain = parse_workload(grown, CONV2D)
    twice = parse_workload(grown, CONV2D.replace(")", ", scale=2.0)"))
    arrays = [np.ones(spec.shape) for spec in plain.inputs]
    once = grown.evaluate(plain, arrays)
    np.testing.assert_allclose(grown.evaluate(twice, arrays), 2 * once)


@pytest.mark.needs("records")
def test_records_of_before_are_those_of_the_grown_operator(
    grown: Operators, workload: Callable[[str], Workload], tmp_path: Path
) -> None:
    from tilewright_records.store.store import JsonlRecordStore

    store, device = JsonlRecordStore(tmp_path / "records.jsonl"), Device("here")
    before = Task(workload(CONV2D), Target.parse("x86"))
    asked = MeasureInput(before, ConfigEntity("mine"), Conditions())
    store.append([Record.of(Trial(asked, MeasureResult((1e-3,))), device, 1)])
    now = Task(parse_workload(grown, CONV2D), before.target)
    found = JsonlRecordStore(store.path).best(
        Query(now, Conditions(), device.fingerprint, {"mine": 1})
    )
    assert found is not None
    assert found.task == now


def test_what_is_added_later_has_a_default() -> None:
    with pytest.raises(ValueError, match="'scale', added later, needs a default"):
        Attribute("scale", number, since="2.0")
