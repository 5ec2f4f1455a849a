from __future__ import annotations

import gzip
import json

import pytest
from model_files import machine, member, stump
from toy_tasks import entry

from tilewright.vocabulary.config import ConfigEntity
from tilewright_models.columns import VERSION
from tilewright_models.cost_model import FORMAT


@pytest.fixture
def model():
    """What a file holds: the toy is taken to be fast where it is unrolled by four or more.

    The toy's own advice is to unroll by one; for 64 elements, 8 and 32 were fast.
    """
    fast = ConfigEntity("toy.loop", {"unroll": 8, "width": 31})
    return {
        "format": FORMAT,
        "features": VERSION,
        "columns": ["knob.unroll", "alternative=toy.loop"],
        "machines": [machine()],
        "told": "9 trials of 1 workloads",
        "examples": [
            {
                "workload": entry(64).task.workload.to_json(),
                "machine": 0,
                "configs": [fast.to_json()],
            }
        ],
        "members": [member(stump(2.0, -1.5, -0.25)) for _ in range(5)],
    }


@pytest.fixture
def packed():
    """The bytes of a model's file."""
    return lambda data: gzip.compress(json.dumps(data).encode())
