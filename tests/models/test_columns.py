"""Rows in a model's columns."""

from __future__ import annotations

import random

import numpy as np

from tilewright.vocabulary.device import Device
from tilewright_models.columns import ModelRows, aligned, features
from tilewright_testing.support.landscape import Landscape

DEVICE = Device("some", {"l1_bytes": 32768, "l2_bytes": 1 << 20})


def test_rows_for_many_calls_are_those_of_one():
    landscape = Landscape(96)
    configs = landscape.space.sample(random.Random(0), 40)
    told = features(landscape.task, configs, DEVICE)
    names = [*reversed(told.names[::2]), "unknown", *told.names[1::4]]
    table = ModelRows(names, DEVICE, landscape.task.target)
    expected = aligned(told, names)
    assert expected.any(axis=1).all()
    for some in (slice(0, 7), slice(7, 40), slice(0, 40)):
        assert np.array_equal(table.rows(landscape.task, configs[some]), expected[some])
