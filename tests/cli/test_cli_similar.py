"""`tilewright similar`: how alike tasks and devices are, and what of one is of use for the other."""

from __future__ import annotations

import json

import pytest

from tilewright import Pipeline
from tilewright.vocabulary.device import Device
from tilewright_records.similarity import LIKE, device_similarity

EPYC = {"model": "AMD EPYC", "isa": "avx512", "cores": 2, "llvm": "22.1.0", "l2_bytes": 1 << 20}


def test_of_two_tasks_it_says_what_the_best_of_one_becomes_on_the_other(call, toy):
    toys = (f"--{role}=toy" for role in ("tuner", "scheduler", "runner", "builder"))
    assert call("tune", "toyadd(64)", "--target=toynative", "--budget=20", *toys)[0] == 0
    asked = ("similar", "toyadd(64)", "toyadd(96)", "--target=toynative")
    told = json.loads(call(*asked, "--json")[1])
    assert 0 < told["similarity"] < 1
    assert told["strategies"] == ["toy.loop"]
    (config,) = told["transfers"]
    code, out, _ = call(*asked)
    assert (code, f"the best of the first: toy.loop {config['values']}" in out) == (0, True)
    nothing = call("similar", "toyadd(96)", "toyadd(64)", "--target=toynative")[1]
    assert "nothing to propose: no record of the first" in nothing


def test_a_best_that_the_other_task_cannot_have_is_named(call, toy, monkeypatch):
    toys = (f"--{role}=toy" for role in ("tuner", "scheduler", "runner", "builder"))
    assert call("tune", "toyadd(64)", "--target=toynative", "--budget=20", *toys)[0] == 0
    monkeypatch.setattr("tilewright.space.nearest.nearest_config", lambda *_: None)
    told = call("similar", "toyadd(64)", "toyadd(96)", "--target=toynative")[1]
    assert "nothing to propose: the best of the first is by toy.loop, which the second" in told


@pytest.mark.parametrize(
    ("device", "said"),
    [("toy0", "records of one count on the other"), ("other", "are first proposals on the other")],
)
def test_of_two_devices_it_says_whether_records_count_or_are_proposed(
    pipeline_file, call, monkeypatch, device, said
):
    Pipeline.load(pipeline_file()).run()
    monkeypatch.setenv("TOY_DEVICE", device)
    code, out, _ = call("similar", "runs/toyrun", device)
    assert (code, said in out) == (0, True)
    assert ("model: toy0 and other" in out) == (device == "other")
    told = json.loads(call("similar", "runs/toyrun/records.jsonl", device, "--json")[1])
    assert told["similarity"] == (1.0 if device == "toy0" else 0.5)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ("toyadd(8)", "toy0", "a task and a device have nothing to compare"),
        ("toy0", "toy9", "no device, pack or run is called that"),
        ("toy0", ".", "no run.json there tells what it was measured on"),
    ],
)
def test_what_cannot_be_compared_is_refused(call, a, b, said):
    code, _, err = call("similar", a, b)
    assert (code, said in err) == (2, True)


def test_devices_are_alike_by_numbers_most_and_versions_of_software_least():
    one = Device("cpu", EPYC)

    def alike(**changes):
        return device_similarity(one, Device("cpu", {**EPYC, **changes}))

    assert device_similarity(one, one) == 1
    assert 1 > alike(llvm="21.0.0") > alike(cores=4) > alike(cores=64) > 0
    assert alike(model="Intel Xeon") == 0.5
    assert alike(model="Intel Xeon", isa="avx2", cores=64) < LIKE
    assert device_similarity(one, Device("gpu0", {"model": "AMD EPYC"})) == 0
    assert 0 < alike(cores=10**400) < 1e-3
