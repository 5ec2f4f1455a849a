"""PyCUDA's and ctypes' runtimes: launches, events, graphs, errors; on a GPU, and always over an
emulated driver.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tilewright_cuda.compile.compiler import find_compiler
from tilewright_cuda.device.devices import gpus

_SESSION = Path(__file__).with_name("driver_session.py")


@pytest.fixture(
    params=[
        ("ctypes", "emulated"),
        ("pycuda", "emulated"),
        pytest.param(("ctypes", "gpu"), marks=pytest.mark.gpu),
        pytest.param(("pycuda", "gpu"), marks=pytest.mark.gpu),
    ],
    ids="-".join,
)
def session(request):
    """session(case, given): what a process of its own answers."""
    runtime, driver = request.param
    environment = dict(os.environ)
    if runtime == "pycuda" and importlib.util.find_spec("pycuda") is None:
        pytest.skip("PyCUDA is not installed: python -m tilewright_cuda.install_pycuda")
    if driver == "emulated":
        folder = request.getfixturevalue("emulated_libcuda")
        environment["LD_LIBRARY_PATH"] = str(folder)
    elif not gpus() or find_compiler() is None:
        pytest.skip("no GPU, or nothing to compile for it with")

    def ask(case, given=None):
        done = subprocess.run(
            [sys.executable, str(_SESSION), runtime, case],
            input=json.dumps(given),
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return ask


def _given(example):
    program = example.program()
    return {
        "texts": list(program.modules),
        "program": program.to_json(),
        "inputs": [array.tolist() for array in example.inputs()],
        "expected": example.expected().tolist(),
    }


@pytest.mark.parametrize("name", ["gemm", "softmax"])
def test_launches_in_turn_over_copies_give_right_answers_and_times(session, examples, name):
    got = session("answers", _given(examples[name]))
    assert max(got["errors"]) < 1e-4
    assert 0 < got["seconds"] < 10
    assert got["read"] == 0


def test_a_thread_that_did_not_open_the_device_may_use_a_kernel(session, examples):
    assert max(session("elsewhere", _given(examples["gemm"]))["errors"]) < 1e-4


def test_one_thread_may_use_two_gpus_in_turn(session, examples, request):
    if "-gpu" in request.node.name and len(gpus()) < 2:
        pytest.skip("one GPU")
    assert max(session("beside", _given(examples["gemm"]))) < 1e-4


def test_cold_is_another_copy_each_launch_behind_a_flush_that_no_event_times(session, examples):
    got = session("conditions", _given(examples["softmax"]))
    assert got["warm"] == ["launch 0", "record", "launch 0", "launch 0", "record"]
    flush = f"fill {2 * got['cache_bytes']}"
    assert got["cold"] == ["launch 0", flush, "record", "launch 0", "launch 1", "record"]


def test_what_takes_less_than_a_call_of_the_host_is_timed_as_one_graph(session, examples):
    got = session("conditions", _given(examples["softmax"]))
    assert got["warm replayed"] == ["launch 0", "record", "record"]
    flush = f"fill {2 * got['cache_bytes']}"
    assert got["cold replayed"] == ["launch 2", flush, "record", "record"]


def test_a_list_of_launches_is_replayed_as_one_graph(session):
    got = session("graph")
    assert got["first"] == [float(i + 8) for i in range(32)]
    assert got["second"] == [8.0] * 32
    assert got["replayed"] == "_Graph"
    assert got["seconds"] > 0


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("*(volatile float *)64 = 1;", "an illegal memory access was encountered (700)"),
        ("*(float2 *)(out + 1) = make_float2(1, 1);", "misaligned address (716)"),
    ],
)
def test_d34_a_fault_is_told_of_by_the_next_call_and_stays(session, body, says):
    launched, *after = session("faults", body)
    assert launched == ["fine"]
    for kind, blamed, text in after:
        assert (kind, blamed) == ("DeviceFaultError", "crash")
        assert text.endswith(says)


def test_what_a_driver_refuses_leaves_the_context_alive(session):
    got = session("refusals")
    assert got.pop("memory")[0] == "MemoryError"
    assert got.pop("good") == got.pop("static too") == got.pop("after") == ["fine"]
    assert {name: told[0] for name, told in got.items()} == dict.fromkeys(got, "DriverError")
