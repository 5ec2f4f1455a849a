"""Models in packs: asked on the machines that they have learned from, and whatever is wrong with one."""

from __future__ import annotations

import logging

import pytest
from model_files import machine

from tilewright import PluginHost, hookimpl
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.target import Target
from tilewright_models.cost_model import Machine
from tilewright_models.installed import model_for
from tilewright_records.packs.package import PackText, package_files
from tilewright_records.packs.record_pack import MODEL, offered

OWN = Machine.of(Device("toy0", {"model": "toy0"}), Target.parse("toy:threads=1"))


@pytest.fixture
def pack(model, packed, tmp_path, samples):
    """A function that gives a pack's folder, with a model of the machines of this name."""

    def made(**change):
        data = packed({**model, "machines": [machine("toy0")], **change})
        text = PackText("theirs", "CC0-1.0", "1.0", {})
        for path, content in package_files([samples.record(1)], [], text, data).items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(content)
        return tmp_path / "src/tilewright_records_theirs"

    return made


@pytest.fixture
def host_with():
    """A function that gives a host in which the pack of a folder is installed."""

    def made(folder):
        class Pack:
            @hookimpl
            def tilewright_record_packs(self):
                return [offered("theirs", "a pack", folder)]

        return PluginHost.load([], [Pack()])

    return made


def test_the_model_of_a_pack_is_asked_on_a_machine_that_it_has_learned_from(pack, host_with):
    found = model_for(OWN, host_with(pack()))
    assert found.told == "9 trials of 1 workloads; of the pack 'theirs'"


def test_a_pack_of_another_machine_is_not_asked(pack, host_with):
    found = model_for(OWN, host_with(pack(machines=[machine("toy1")])))
    assert found is model_for(OWN, PluginHost.load())
    assert "of the pack" not in found.told


@pytest.mark.parametrize(
    ("change", "told"),
    [({"format": 77}, "a cost model of another version"), ({"members": []}, "no cost model")],
)
def test_a_model_that_makes_no_sense_is_passed_over(pack, host_with, caplog, change, told):
    with caplog.at_level(logging.WARNING):
        found = model_for(OWN, host_with(pack(**change)))
    assert "of the pack" not in found.told
    assert "the cost model of the pack 'theirs' is passed over: " in caplog.text
    assert told in caplog.text


def test_a_model_that_is_not_the_manifests_is_passed_over(pack, host_with, caplog):
    folder = pack()
    (folder / MODEL).write_bytes(b"another")
    with caplog.at_level(logging.WARNING):
        found = model_for(OWN, host_with(folder))
    assert "of the pack" not in found.told
    assert "the cost model is not that of the manifest: SHA-256" in caplog.text
