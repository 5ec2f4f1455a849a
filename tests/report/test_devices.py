"""What a fleet did: when each device worked, and whether it kept its pace."""

from __future__ import annotations

from page_reader import Page

from tilewright_report.data.fields import Fields
from tilewright_report.data.run_folder import Run
from tilewright_report.pages.run_page import MOST_BYTES, run_page


def page_of(devices):
    return Page(page_text(devices))


def page_text(devices):
    report = {"name": "fleet", "measurement": {"trials": 1, "devices": devices}}
    return run_page(Run(Fields(report)))


def device(trials, use, **faults):
    return {"trials": trials, "faults": faults, "use": use}


STEADY = device(30, [[0.0, 10.0, 10.0, 1.0], [10.0, 20.0, 10.0, 1.01]])
SLOWED = device(10, [[0.0, 4.0, 4.0, 1.0], [16.0, 20.0, 1.0, 1.5]], drift=1)


def test_the_work_of_each_device_is_drawn_over_time_with_its_pace():
    page = page_of({"cpu@a": STEADY, "cpu@b": SLOWED})
    assert "together, 62 % of the time" in page.text  # (20 + 5) of 2 x 20
    assert "cpu@b 16.0 to 20.0 s: busy 25 %" in page.text
    assert "75.0 % 100 % 1 % none" in page.text
    assert "25.0 % 25 % 50 % 1 drift" in page.text
    charts = [one["aria-label"] for one in page.tags("svg")]
    assert charts == ["work of the devices over time", "pace of the devices"]


def test_a_run_that_does_not_tell_of_use_has_its_table_alone():
    page = page_of({"cpu@a": {"trials": 30, "faults": {}}})
    assert page.sections == ["fleet"]
    assert page.tags("svg") == []


def test_of_many_devices_those_that_worked_least_are_drawn_and_it_says_so():
    uses = [[float(n), n + 1.0, 0.5, 1.0 + n / 60] for n in range(60)]
    devices = {f"cpu@{n}": device(1, uses[: 60 - n % 50]) for n in range(512)}
    text = page_text(devices)
    assert len(text.encode()) < MOST_BYTES
    page = Page(text)
    assert "The 32 of 512 that worked least are drawn." in page.text
    assert "The 7 of 512 devices that differed most." in page.text


def test_strange_uses_are_passed_over():
    strange = [None, [], [1], ["a", 2, 3, 4], [5.0, 1.0, 1.0, 1.0], [-1, 2, 3, 4], [0, 1, 1, "x"]]
    page = page_of({"<b>": device(1, strange), "b": device(1, {}), "c": device(1, SLOWED["use"])})
    assert page.handlers() == []
    assert "<b>" in page.text
