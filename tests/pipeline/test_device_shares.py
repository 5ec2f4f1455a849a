"""A run's report says what each of several devices did, and which of them failed it."""

from __future__ import annotations

import json
from itertools import pairwise

import jsonschema
import pytest
from toy_fleet import WORKERS, ToyFleet, lost
from toy_tasks import entry

from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright.roles import DeviceUse
from tilewright.vocabulary.budget import Budget
from tilewright.vocabulary.task_set import TaskSet
from tilewright_pipeline.context.run_setup import make_context
from tilewright_pipeline.measuring.device_shares import faults_told, shares, trials_told
from tilewright_pipeline.measuring.measurement_spent import MeasurementSpent, summed
from tilewright_pipeline.options.tune_options import TuneOptions
from tilewright_pipeline.run.run_report import SCHEMA_FILE, sections
from tilewright_pipeline.tuning.loop import tune_tasks

FIRST, SECOND = WORKERS


@pytest.fixture
def measured(tmp_path, toy):
    """measured(fleet, runner): the member `measurement` of a tuning of 30 trials."""

    def tune(fleet, runner="fleet"):
        context = make_context(
            PluginHost.load([toy], [fleet]),
            name="t",
            folder=tmp_path,
            target="toynative",
            runner=Choice(runner),
            builder=Choice("toy"),
        )
        options = TuneOptions(
            tuner=Choice("toy"), scheduler=Choice("toy"), budget=Budget(trials=30)
        )
        return tune_tasks(TaskSet((entry(8), entry(16))), context, options).measurement

    return tune


def valid(measurement):
    schema = json.loads(SCHEMA_FILE.read_text())
    jsonschema.validate(
        measurement, schema["properties"]["measurement"] | {"$defs": schema["$defs"]}
    )
    return measurement


def test_trials_are_counted_by_device(measured):
    fleet = ToyFleet()
    devices = valid(measured(fleet))["devices"]
    assert set(devices) == set(WORKERS)
    assert sum(share["trials"] for share in devices.values()) >= 30
    assert all(share["faults"] == {} for share in devices.values())


def test_the_faults_that_the_runner_tells_are_in_the_report(measured):
    fleet = ToyFleet()
    fleet.faults = {FIRST: {"device_lost": 2}, "toy9@gone": {"drift": 1}}
    devices = valid(measured(fleet))["devices"]
    assert devices[FIRST]["faults"] == {"device_lost": 2}
    assert devices[SECOND]["faults"] == {}
    assert devices["toy9@gone"] == {"trials": 0, "faults": {"drift": 1}}


def test_what_devices_did_over_time_is_in_the_report(measured):
    fleet = ToyFleet()
    fleet.uses = {FIRST: [DeviceUse(0.0, 1.0, 1.0), DeviceUse(1.5, 2.0, 0.5, 1.25)]}
    report = valid(measured(fleet))
    assert report["devices"][FIRST]["use"] == [[0.0, 1.0, 1.0, None], [1.5, 2.0, 0.5, 1.25]]
    assert "use" not in report["devices"][SECOND]
    report["seconds"] = 10.0
    both = valid(summed(report, report))["devices"][FIRST]["use"]
    assert both[2:] == [[10.0, 11.0, 1.0, None], [11.5, 12.0, 0.5, 1.25]]


def test_use_of_a_long_run_is_told_in_fewer_steps_of_the_same_sum_and_the_slowest_pace():
    uses = [DeviceUse(n, n + 0.5, 0.5, 3.0 if n == 77 else 1.0) for n in range(5001)]
    told = shares({}, {}, {f"device {n}": uses for n in range(100)})["device 9"]["use"]
    assert len(told) <= 60
    assert (told[0][0], told[-1][1]) == (0, 5000.5)
    assert sum(row[2] for row in told) == pytest.approx(2500.5)
    assert [row[3] for row in told if row[0] <= 77 <= row[1]] == [3.0]
    assert all(one[1] <= other[0] for one, other in pairwise(told))


def test_builders_that_failed_are_in_the_report(measured):
    fleet = ToyFleet()
    fleet.builder_faults = {"builder@c": {"builder_lost": 2}, "builder@d": {}}
    report = valid(measured(fleet))
    assert report["builders"] == {"builder@c": {"faults": {"builder_lost": 2}}}
    both = valid(summed(report, report))
    assert both["builders"] == {"builder@c": {"faults": {"builder_lost": 4}}}
    (cells,) = sections({"tasks": [], "measurement": both})[0].rows
    assert cells[2] == "4 batches (builder_lost: builder@c)"


def test_what_no_device_measured_is_counted_for_none(measured):
    fleet = ToyFleet(answer=lost)
    fleet.batches = 1
    assert "devices" not in valid(measured(fleet))


def test_a_runner_of_one_device_has_no_such_table(measured):
    assert "devices" not in valid(measured(ToyFleet(), runner="toy"))


def test_stages_add_up():
    first, second = MeasurementSpent(trials=3), MeasurementSpent(trials=4)
    first.add_device("a", 3, {"drift": 1})
    second.add_device("a", 1, {"drift": 2, "device_lost": 1})
    second.add_device("b", 3)
    both = valid(summed(first.report(1.0), second.report(1.0)))
    assert both["devices"] == {
        "a": {"trials": 4, "faults": {"drift": 3, "device_lost": 1}},
        "b": {"trials": 3, "faults": {}},
    }
    assert "devices" not in summed(MeasurementSpent().report(1.0), MeasurementSpent().report(1.0))


def test_people_are_told_in_a_line():
    devices = {
        "cpu@a": {"trials": 30, "faults": {"device_lost": 1}},
        "cpu@b": {"trials": 34, "faults": {"drift": 2}},
    }
    assert trials_told(devices) == "2, 30 to 34 trials each"
    assert faults_told(devices) == "1 batch (device_lost: cpu@a), 2 batches (drift: cpu@b)"
    table = sections({"tasks": [], "measurement": {"devices": devices}})[0]
    assert table.rows == ((trials_told(devices), faults_told(devices)),)


def test_a_line_about_a_large_fleet_stays_short():
    devices = {f"cpu@{n}": {"trials": 16, "faults": {"drift": 1}} for n in range(1, 8)}
    assert trials_told(devices) == "7, 16 trials each"
    assert faults_told(devices) == "7 batches (drift: cpu@1, cpu@2, cpu@3 and 4 more)"
    assert faults_told({"cpu@1": {"trials": 16, "faults": {}}}) == ""
