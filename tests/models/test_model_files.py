"""Files of cost models are data of others: what is wrong with one is told in a line."""

from __future__ import annotations

import gzip

import pytest
from model_files import machine
from toy_tasks import entry

from tilewright.errors import UsageError
from tilewright_models import model_file
from tilewright_models.cost_model import CostModel, Machine


def test_a_model_is_read(model, packed):
    read = CostModel.read(packed(model), "file")
    assert read.columns == ("knob.unroll", "alternative=toy.loop")
    assert len(read.members) == 5
    (examples,) = read.examples.values()
    assert list(read.examples) == [Machine(**machine())]
    (example,) = examples.most_similar(entry(48).task.workload, 2)
    assert example.workload == entry(64).task.workload
    assert example.configs[0]["unroll"] == 8


@pytest.mark.parametrize("member", ["format", "features"])
def test_another_version_is_refused_with_its_remedy(model, packed, member):
    with pytest.raises(UsageError) as caught:
        CostModel.read(packed({**model, member: 77}), "file")
    assert "a cost model of another version" in str(caught.value)
    assert "77" in str(caught.value)
    assert "install --upgrade tilewright-models" in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"columns": "x"},
        {"columns": [1]},
        {"columns": ["knob.unroll", "knob.unroll"]},
        {"machines": None},
        {"machines": [{"model": "toy"}]},
        {"machines": []},
        {"machines": [machine(target="toy:threads")]},
        {"machines": [machine(target="toy:threads=x")]},
        {"machines": [machine(target="toy:threads=0")]},
        {"members": []},
        {"members": [None]},
        {"examples": [{"workload": {}, "machine": 0, "configs": []}]},
        {"examples": 3},
        {"members": [{"learner": {}}]},
    ],
    ids=str,
)
def test_a_wrong_member_is_no_model(model, packed, change):
    with pytest.raises(UsageError, match="file: no cost model"):
        CostModel.read(packed({**model, **change}), "file")


@pytest.mark.parametrize("place", [1, -1, True, None, "0"])
def test_an_example_of_no_machine_is_no_model(model, packed, place):
    example = {**model["examples"][0], "machine": place}
    with pytest.raises(UsageError, match="file: no cost model"):
        CostModel.read(packed({**model, "examples": [example]}), "file")


@pytest.mark.parametrize("change", [{"configs": [{"strategy": 3}]}, {"configs": None}], ids=str)
def test_an_example_that_makes_no_sense_is_refused_where_it_is_asked_for(model, packed, change):
    example = {**model["examples"][0], **change}
    (examples,) = CostModel.read(packed({**model, "examples": [example]}), "file").examples.values()
    with pytest.raises(UsageError, match="file: no cost model"):
        examples.most_similar(entry(48).task.workload, 1)


def test_bytes_that_are_no_model_are_refused(model, packed, monkeypatch):
    whole = packed(model)
    for torn in (b"", b"nothing packed", whole[: len(whole) // 2], gzip.compress(b"[1]")):
        with pytest.raises(UsageError, match="no cost model"):
            CostModel.read(torn, "file")
    monkeypatch.setattr(model_file, "MOST_BYTES", 100)  # of what it grows to
    with pytest.raises(UsageError, match="more than 100 bytes"):
        CostModel.read(whole, "file")
