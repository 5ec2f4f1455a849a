"""A runner whose devices are elsewhere: target, device and peaks are what it says, and nothing here is probed."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from toy_fleet import WORKERS, ToyFleet

from tilewright import Pipeline
from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright_cli.terminal.group import run
from tilewright_pipeline.api.functions import tune
from tilewright_pipeline.context.run_setup import make_context
from tilewright_pipeline.run.run_report import SCHEMA_FILE

FILE = """\
version: 1
name: far
target: toynative
measure: {{runner: {runner}, builder: toy}}
stages:
  - source: {{sizes: [8, 16]}}
  - tune: {{tuner: toy, scheduler: toy, budget: 30}}
"""


@pytest.fixture(autouse=True)
def no_device_here(monkeypatch, tmp_path):
    monkeypatch.setenv("TOY_DEVICE", "none")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def load(tmp_path, toy):
    """A function that loads a pipeline with the runner of a fleet."""

    def loaded(fleet, runner="reaching", **options):
        path = tmp_path / "far.yaml"
        path.write_text(FILE.format(runner=runner))
        return Pipeline.load(path, plugins=[Path(toy)], observers=[fleet], **options)

    return loaded


def test_a_machine_without_the_device_drives_a_run(load, toy):
    fleet = ToyFleet()
    result = load(fleet).run(device="toy9*")
    assert result.exit_code == 0
    report = json.loads((result.folder / "run.json").read_text())
    jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text()))
    assert report["target"] == "toy:threads=3"
    assert report["device"]["name"] == "toy9"
    assert report["device"]["peak_flops"] == {"3": 5e9}
    assert report["devices"] == list(WORKERS)
    assert report["setup"]["device"] == "toy9*"
    (plugin,) = report["setup"]["plugins"]
    assert (result.folder / plugin).samefile(toy)
    assert report["measurement"]["trials"] == 30
    assert all(task["peak_share"] for task in report["tasks"])


def test_the_pattern_of_devices_is_the_runners_to_read(load):
    fleet = ToyFleet()
    context = load(fleet).context(device="*@b")
    assert context.devices == ("toy9@b",)
    assert fleet.reached[-1][1] == "*@b"
    with pytest.raises(UsageError, match="no device of the fleet matches 'gpu"):
        load(fleet).context(device="gpu*")


def test_no_device_is_reached_for_what_only_looks(load):
    fleet = ToyFleet()
    context = load(fleet).context(measures=False)
    assert (str(context.target), context.device.name) == ("toy:threads=3", "none")
    assert fleet.reached == []


def test_a_target_that_the_fleet_does_not_know_is_a_mistake_of_the_file(load):
    with pytest.raises(UsageError) as error:
        load(ToyFleet(), target="toy:threads=2")
    assert "no target 'toy:threads=2' in the fleet" in str(error.value)


def test_wrong_options_of_the_runner_are_told_and_nothing_is_reached(load):
    fleet = ToyFleet()
    with pytest.raises(UsageError, match=r"far\.yaml:4.*speed"):
        load(fleet, runner="{reaching: {speed: 3}}")
    assert fleet.reached == []


def test_tune_asks_the_fleet_what_a_target_means(toy, tmp_path):
    fleet = ToyFleet()
    host = PluginHost.load([toy], [fleet])
    result = tune(
        "toyadd(8)", target="toynative", tuner="toy", scheduler="toy", budget=10,
        runner="reaching", builder="toy", records=tmp_path / "records.jsonl", host=host,
    )  # fmt: skip
    assert str(result.task.target) == "toy:threads=3"
    assert result.summary["trials"] == 10
    assert result.seconds


def test_the_command_line_chooses_runner_and_builder_in_place_of_the_files(
    pipeline_file, monkeypatch, capsys
):
    monkeypatch.setenv("TOY_DEVICE", "toy0")
    path = str(pipeline_file(tune="tuner: toy, budget: 6", runner="fails: all"))
    assert run(["run", path, "--quiet", "--runner", "toy:seconds=0.001", "--builder", "toy"]) == 0
    assert run(["run", path, "--runner", "tyo"]) == 2
    assert "did you mean 'toy'" in capsys.readouterr().err


def test_a_run_on_this_machine_names_no_devices(toy, tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_DEVICE", "toy0")
    context = make_context(
        PluginHost.load([toy], [ToyFleet()]), name="t", folder=tmp_path, target="toynative",
        runner=Choice("toy"), builder=Choice("toy"),
    )  # fmt: skip
    assert context.devices == ()
    assert (context.device.name, str(context.target)) == ("toy0", "toy:threads=1")
