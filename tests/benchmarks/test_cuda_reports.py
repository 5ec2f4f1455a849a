"""What the reports of benchmarks/cuda/run_all.sh become as data."""

from __future__ import annotations

import argparse

import pytest

from .conftest import FOLDER

ENVIRONMENT = {"device": {"attributes": {"model": "NVIDIA X1"}}}
LAYER = {
    "task": "conv2d(1x3x8x8, 4x3x3x3)",
    "seconds": {"tilewright": 2e-6, "cudnn-nchw": 5e-6, "cudnn-nhwc": 3e-6},
    "gflops": 10.0,
    "tuning": {"trials_per_second": 7.0},
}
NETWORK = {
    "measurement": {},
    "milliseconds": {
        "tilewright": {"device_ms": 1.0, "wall_ms": 1.1},
        "eager": {"device_ms": 3.0, "wall_ms": 3.1},
        "graph": {"device_ms": 1.5, "wall_ms": 1.6},
    },
}


@pytest.fixture
def saved(module, monkeypatch):
    """`saved(report)`: (machine, case, ours, peer) of what is written down of it."""
    monkeypatch.syspath_prepend(str(FOLDER / "cuda"))
    summary, found = module("summary"), []

    def save(options, question, rows, *, machine):
        found.extend((question, machine.name, row.case, row.ours, row.peer) for row in rows)

    def run(report):
        monkeypatch.setattr(summary, "save", save)
        summary.save_report(argparse.Namespace(save=True), report)
        return found

    return run


def test_layers_stand_beside_the_fastest_of_the_peers_and_networks_beside_each(saved):
    report = {"rehearsal": False, "environment": ENVIRONMENT, "a": LAYER, "resnet18": NETWORK}
    assert saved(report) == [
        ("cuda_layers", "nvidia-x1", LAYER["task"], pytest.approx(2), pytest.approx(3)),
        ("cuda_networks", "nvidia-x1", "resnet18, eager", 1.0, 3.0),
        ("cuda_networks", "nvidia-x1", "resnet18, graph", 1.0, 1.5),
    ]


def test_a_rehearsal_is_no_result(saved):
    assert saved({"rehearsal": True, "environment": ENVIRONMENT, "a": LAYER}) == []
