"""Models in packs: asked on the machines that they have learned from, and whatever is wrong with one."""

from __future__ import annotations

import logging

import pytest
from model_files import machine
from toy_tasks import entry

from tilewright import PluginHost, hookimpl
from tilewright.vocabulary.device import Device
from tilewright_models import installed
from tilewright_models.cost_model import CostModel
from tilewright_pipeline.dispatch.unmeasured import advice
from tilewright_records.packs.package import PackText, package_files
from tilewright_records.packs.record_pack import MODEL, offered

OWN = Device("toy0", {"model": "toy0"})
TASK = entry(48).task


@pytest.fixture
def pack(model, packed, tmp_path, samples):
    """A function that gives a pack's folder, with a model of this machine unless it is said otherwise."""

    def made(name="theirs", **change):
        data = packed({**model, "machines": [machine("toy0")], **change})
        text, folder = PackText(name, "CC0-1.0", "1.0", {}), tmp_path / name
        for path, content in package_files([samples.record(1)], [], text, data).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        return folder / f"src/tilewright_records_{name}"

    return made


@pytest.fixture
def told(toy, model, packed, monkeypatch):
    """A function that gives what a choice rests on, where packs of these folders are installed.

    The packaged model knows this machine and the toy's operator.
    """
    ours = CostModel.read(packed({**model, "machines": [machine("toy0")], "told": "ours"}), "ours")
    monkeypatch.setattr(installed, "packaged_model", lambda: ours)
    installed._warn_once.cache_clear()
    installed._read.cache_clear()

    def found(*folders):
        class Packs:
            @hookimpl
            def tilewright_record_packs(self):
                return [offered(each.parents[1].name, "a pack", each) for each in folders]

        host = PluginHost.load([toy], [Packs()])
        return advice(TASK, host.space(TASK), host, OWN).choice.source

    return found


def test_the_model_of_a_pack_is_asked_on_a_machine_that_it_has_learned_from(pack, told):
    assert told(pack()).endswith("9 trials of 1 workloads; of the pack 'theirs'")
    assert told(pack("b"), pack("a")).endswith("of the pack 'a'")


def test_a_pack_of_another_machine_is_not_asked(pack, told):
    assert told(pack(machines=[machine("toy1")])).endswith("ours")


def test_ours_answers_for_what_the_model_of_a_pack_knows_nothing_of(pack, told, model):
    (example,) = model["examples"]
    other = {**example, "workload": {**example["workload"], "operator": "toymul"}}
    assert told(pack(examples=[other])).endswith("ours")


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"format": 77}, "a cost model of another version"),
        ({"members": []}, "no cost model"),
        ({"examples": [{"workload": {"operator": "toyadd"}, "machine": 0}]}, "no cost model"),
    ],
    ids=["version", "members", "example"],
)
def test_a_model_that_makes_no_sense_is_passed_over(pack, told, caplog, change, wrong):
    folder = pack(**change)
    with caplog.at_level(logging.WARNING):
        assert told(folder).endswith("ours")
        assert told(folder).endswith("ours")
    assert caplog.text.count("the cost model of the pack 'theirs' is passed over: ") == 1
    assert wrong in caplog.text


def test_a_model_that_is_not_the_manifests_is_passed_over(pack, told, caplog):
    folder = pack()
    (folder / MODEL).write_bytes(b"another")
    with caplog.at_level(logging.WARNING):
        assert told(folder).endswith("ours")
    assert "the cost model is not that of the manifest: SHA-256" in caplog.text
