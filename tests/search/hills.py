"""Recorded spaces that are landscapes: small, and made in no time."""

from __future__ import annotations

from dataclasses import replace

from tilewright.vocabulary.device import Device
from tilewright.vocabulary.record import Record
from tilewright_records.spaces.recorded_space import RecordedSpace
from tilewright_records.spaces.space_files import write_space
from tilewright_testing.support.landscape import Landscape

DEVICE = Device("cpu", {"model": "a hill"})


def hill(size=16, name="hill", timings=True):
    """The recorded space of a landscape; each trial took 10 ms where `timings`."""
    landscape = Landscape(size)
    trials = landscape.measure_all(landscape.space.points())
    spent = {"time": 0.01} if timings else {}
    results = {t.input.config: replace(t.result, timings=spent) for t in trials}
    conditions = trials[0].input.conditions
    return RecordedSpace(name, landscape.task, landscape.space, conditions, results, "a hill")


def write_hill(folder, size=16, name="hill", timings=True):
    """The same as files in a folder."""
    space = hill(size, name, timings)
    trials = space.measure_all(space.space.points())
    write_space(folder, name, space.space, [Record.of(t, DEVICE, 1) for t in trials], DEVICE)
