"""D-34: a GPU whose context a candidate spoils, that is lost, or whose driver is of no use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import FailureKind
from tilewright_cli.terminal.group import run
from tilewright_cuda.compile import build
from tilewright_cuda.device.devices import gpus
from tilewright_pipeline.context import run_setup
from tilewright_records.store.store import JsonlRecordStore

_HAND_WRITTEN = Path(__file__).with_name("hand_written.py")
_GPU = Device(
    "gpu0",
    {
        "model": "Emulated GPU",
        "capability": [9, 0],
        "l2_bytes": 1 << 20,
        "unified_addressing": True,
    },
)


@pytest.fixture
def tune(emulated_libcuda, workers_folder, monkeypatch, capsys):
    """tune(task, ...): exit status, what the command told, and kinds of failure by config."""
    monkeypatch.setattr(run_setup, "find_device", lambda *_: _GPU)
    monkeypatch.setattr(run_setup, "with_peaks", lambda _, device, __, again: device)
    monkeypatch.setenv("EMULATED_GPU", "1")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(emulated_libcuda))
    for replaced in ("compiled", "module_resources"):  # by the plugin file, once it is loaded here
        monkeypatch.setattr(build, replaced, getattr(build, replaced))
    log = workers_folder / "records.jsonl"  # nobody else's runs wait for this GPU

    def act(task, *flags):
        flags += (
            "--target",
            "cuda:arch=sm_90",
            "--plugin",
            str(_HAND_WRITTEN),
            "--records",
            str(log),
        )
        code = run(["tune", task, *flags, "--repeat", "3", "--quiet", "--json"])
        trials = [record.trial for record in JsonlRecordStore(log).records()]
        kinds = [(t.input.config, t.result.failure and t.result.failure.kind) for t in trials]
        return code, json.loads(capsys.readouterr().out), kinds

    return act


def test_d34_after_a_candidate_that_spoils_the_context_the_next_are_measured_rightly(tune):
    code, told, kinds = tune(
        "relu(1x37)", "--strategies", "hand", "--tuner", "grid", "--budget", "8"
    )
    expected = {
        "good": None,
        "wrong": FailureKind.WRONG_ANSWER,
        "overrun": FailureKind.CRASH,
        "misaligned": FailureKind.CRASH,
    }
    assert len(kinds) == 8
    assert all(kind == expected[config["act"]] for config, kind in kinds)
    acts = [config["act"] for config, _ in kinds]
    assert acts.index("overrun") < len(acts) - 1 - acts[::-1].index("good")
    assert (code, told["failures"], told["config"]["values"]["act"]) == (0, 6, "good")


def test_d34_a_gpu_that_is_lost_midway_leaves_what_was_found_and_exit_status_3(
    tune, tmp_path, monkeypatch
):
    monkeypatch.setenv("EMULATED_GPU_LOST", str(tmp_path / "modules"))
    flags = "--strategies", "elementwise.cuda", "--tuner", "random", "--budget", "8"
    code, told, kinds = tune("relu(64x37)", *flags)
    assert (code, told["partial"], told["ended"]) == (3, True, "device_lost")
    assert told["best_seconds"] > 0
    assert {kind for _, kind in kinds} == {None, FailureKind.DEVICE_LOST}
    assert [kind for _, kind in kinds[-3:]] == [FailureKind.DEVICE_LOST] * 3


@pytest.mark.parametrize(
    ("driver", "target", "says"),
    [
        (None, "cuda:auto", "libcuda.so.1: cannot open shared object file"),
        ("nonsense", "cuda:auto", "libcuda.so.1: file too short"),
        ("int cuInit(int flags) { return 34; }", "cuda:auto", "cuInit: error (34)"),
        ("int cuInit(int flags) { return 100; }", "cuda:arch=sm_90", "cuInit: error (100)"),
        ("int cuInit(int flags) { return 999; }", "cuda:auto", "cuInit: error (999)"),
        ("int cuInit(int flags) { return 0; }", "cuda:auto", "has no cuDeviceGetCount"),
    ],
)
def test_d34_a_driver_of_no_use_is_told_in_a_line_with_its_reason(tmp_path, driver, target, says):
    library = tmp_path / "libcuda.so.1"
    if driver == "nonsense":
        library.write_text(driver)
    elif driver:
        make = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", library]
        subprocess.run(make, input=driver, text=True, check=True)
    elif gpus():
        pytest.skip("this machine has a driver")
    command = [sys.executable, "-c", "from tilewright_cli import main; main()", "tune"]
    done = subprocess.run(
        [*command, "relu(1x37)", "--target", target, "--budget", "1"],
        cwd=tmp_path,
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 2
    assert says in done.stderr
    error, remedy = done.stderr.splitlines()
    assert error.startswith("error: ")
    assert "cuda:arch=sm_90" in error + remedy
