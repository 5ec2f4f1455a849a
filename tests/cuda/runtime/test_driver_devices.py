"""What is told of the devices of a machine, and of those that are not there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache

import pytest

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import FailureKind
from tilewright.vocabulary.target import Target
from tilewright_cuda.device import devices
from tilewright_cuda.device.loading import load_kernel
from tilewright_cuda.device.peak import measure_peak
from tilewright_cuda.driver import ctypes_driver
from tilewright_cuda.driver.driver_errors import DriverError, error_of
from tilewright_cuda.emulation import compile as emulation_compile
from tilewright_cuda.program.artifact import artifact_of
from tilewright_pipeline.context.find_device import find_device

_HOPPER = Target("cuda", {"arch": "sm_90"})
_ADA = Device("gpu0", {"model": "L4", "capability": [8, 9], "l2_bytes": 48 << 20})


def _told(folder, expression):
    """What a process says whose libraries are looked for in the folder."""
    script = (
        f"import json; from tilewright_cuda.device import devices; print(json.dumps({expression}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "LD_LIBRARY_PATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return json.loads(done.stdout)


def test_a_gpu_is_told_by_the_driver_and_the_management_library(emulated_libcuda):
    gpu, emulated = _told(emulated_libcuda, "[d.to_json() for d in devices.probe()]")
    assert (gpu["name"], emulated["name"]) == ("gpu0", "emulated")
    facts = gpu["attributes"]
    assert facts["model"] == "Emulated GPU"
    assert facts["capability"] == [9, 0]
    assert facts["cuda_driver"] == "13.0"
    assert (facts["l2_bytes"], facts["memory_bytes"]) == (1 << 20, 1 << 30)
    assert facts["unified_addressing"] is True
    assert (facts["driver"], facts["power_limit_watts"], facts["max_sm_mhz"]) == (
        "1.2.3",
        700,
        1980,
    )
    assert gpu["fingerprint"] != emulated["fingerprint"]


def test_peaks_are_measured_by_kernels_on_the_device_itself():
    flops, bandwidth = measure_peak(devices.probe()[-1])
    assert flops > 1e6
    assert bandwidth > 1e6


def test_a_machine_without_a_driver_says_so_and_offers_the_emulation(tmp_path):
    if devices.gpus():
        pytest.skip("this machine has a GPU")
    assert "libcuda.so.1" in devices.missing()["gpu"]
    with pytest.raises(UsageError, match="no device for the target") as raised:
        find_device(PluginHost.load(), _HOPPER, None)
    assert "--device emulated" in str(raised.value)


def test_the_emulation_asked_for_without_a_compiler_says_what_to_install(monkeypatch):
    monkeypatch.setattr(emulation_compile, "compiler_version", lambda: None)
    with pytest.raises(UsageError, match=r"install g\+\+"):
        find_device(PluginHost.load(), _HOPPER, "emulated")


def test_code_for_another_architecture_is_refused():
    with pytest.raises(UsageError, match=r"gpu0 \(L4\) has compute capability 8.9"):
        devices.check_target(_HOPPER, _ADA)
    devices.check_target(Target("cuda", {"arch": "sm_80"}), _ADA)


def test_an_artefact_without_machine_code_is_refused_by_a_gpu_with_a_remedy(example):
    target = Target("cuda", {"arch": "sm_89"})
    artifact = artifact_of(target, example.program(), [None], {})
    with pytest.raises(UsageError, match="holds no machine code") as raised:
        load_kernel(artifact, _ADA)
    assert "emulated" in str(raised.value)


def test_a_gpu_is_opened_once_whether_its_peaks_are_known_or_not(monkeypatch):
    monkeypatch.setattr(devices, "find_spec", lambda _: None)
    monkeypatch.setattr(ctypes_driver, "CtypesRuntime", lambda ordinal: [ordinal])
    monkeypatch.setattr(devices, "_runtime", cache(devices._runtime.__wrapped__))  # no stub stays
    with_peaks = Device("gpu7", {}, {1: 6e13})
    opened = devices.open_runtime(Device("gpu7", {}))
    assert opened == [7]
    assert devices.open_runtime(with_peaks) is opened


@pytest.mark.parametrize("name", ["cpu", "gpu", "gpux"])
def test_a_device_of_another_name_is_refused(name):
    with pytest.raises(UsageError, match="CUDA code runs on gpu0"):
        devices.open_runtime(Device(name, {}))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (700, FailureKind.CRASH),
        (716, FailureKind.CRASH),
        (719, FailureKind.CRASH),
        (702, FailureKind.RUN_TIMEOUT),
        (214, FailureKind.DEVICE_LOST),
        (999, FailureKind.DEVICE_LOST),
    ],
)
def test_errors_that_stay_lose_the_device_each_as_its_own_failure(code, kind):
    assert error_of(code, "cuCtxSynchronize", "").kind is kind


def test_errors_that_pass_leave_it():
    assert isinstance(error_of(2, "cuMemAlloc", "out of memory"), MemoryError)
    for code in (1, 701, 400):
        assert isinstance(error_of(code, "cuLaunchKernel", ""), DriverError)
