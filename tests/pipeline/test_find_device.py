"""Which of a target's devices is used, and what is said where there is none."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tilewright.errors import UsageError
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.target import Target
from tilewright_pipeline.context.find_device import find_device

_TARGET = Target("toy")
_REAL, _SECOND = Device("real"), Device("second")
_EMULATED = Device("emulated", {"emulated": True})


class _Backend:
    def __init__(self, devices, missing=None):
        self.devices = devices
        if missing is not None:
            self.found_parts, self.missing_parts = dict, lambda: missing

    def probe(self):
        return self.devices


def _find(name, devices, missing=None):
    backend = _Backend(devices, missing)
    return find_device(SimpleNamespace(backend=lambda _: backend), _TARGET, name).name


def test_the_first_device_is_taken_where_none_is_named():
    assert _find(None, [_REAL, _SECOND]) == "real"
    assert _find("second", [_REAL, _SECOND]) == "second"


def test_an_emulated_device_is_taken_only_by_its_name():
    assert _find(None, [_EMULATED, _REAL]) == "real"
    assert _find("emulated", [_EMULATED, _REAL]) == "emulated"
    with pytest.raises(UsageError, match="no device for the target toy") as raised:
        _find(None, [_EMULATED])
    assert "--device emulated" in str(raised.value)


def test_what_a_target_misses_is_said_where_its_device_is_not_there():
    missing = {"real": "no driver is installed", "emulated": "install a compiler"}
    with pytest.raises(UsageError, match="install a compiler"):
        _find("emulated", [_REAL], missing)
    with pytest.raises(UsageError, match="no driver is installed"):
        _find(None, [], missing)
    with pytest.raises(UsageError, match="did you mean 'second'"):
        _find("secnd", [_REAL, _SECOND], missing)
