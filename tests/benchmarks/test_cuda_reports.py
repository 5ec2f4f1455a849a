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
    """`saved(*reports)`: (question, machine, case, ours, peer) of what is written down of them."""
    monkeypatch.syspath_prepend(str(FOLDER / "cuda"))
    summary, found = module("summary"), []

    def save(options, question, rows, *, machine):
        assert question not in {row[0] for row in found}, "an entry for each part"
        found.extend((question, machine.name, row.case, row.ours, row.peer) for row in rows)

    def run(*reports):
        monkeypatch.setattr(summary, "save", save)
        summary.save_reports(argparse.Namespace(save=True), reports)
        return found

    return run


def test_layers_and_networks_stand_beside_the_fastest_of_their_peers(saved):
    part = {"rehearsal": False, "environment": ENVIRONMENT, "part": "layers"}
    layers, batches = {**part, "a": LAYER, "resnet18": NETWORK}, {**part, "resnet50": NETWORK}
    assert saved(layers, batches, {**part, "part": "tensor_cores", "b": LAYER}) == [
        ("cuda_layers", "nvidia-x1", LAYER["task"], pytest.approx(2), pytest.approx(3)),
        ("cuda_tensor_cores", "nvidia-x1", LAYER["task"], pytest.approx(2), pytest.approx(3)),
        ("cuda_networks", "nvidia-x1", "resnet18", 1.0, 1.5),
        ("cuda_networks", "nvidia-x1", "resnet50", 1.0, 1.5),
    ]


def test_a_rehearsal_is_no_result(saved):
    assert saved({"rehearsal": True, "environment": ENVIRONMENT, "a": LAYER}) == []
