"""Peaks by precision: measured once, kept beside those of before, and read by shares of peak."""

from __future__ import annotations

import json

import pytest

from tilewright.vocabulary.device import Device
from tilewright.vocabulary.target import Target
from tilewright_pipeline.context.device_peaks import measure_peaks, with_peaks

TARGET = Target.parse("pebble:threads=2")
DEVICE = Device("pebble")
DOTS, TILES = "bfloat16/dots", "bfloat16/tiles"


class Plain:
    """What third parties have implemented so far."""

    def __init__(self) -> None:
        self.asked = 0

    def measure_peak(self, device, target):
        self.asked += 1
        return 1e9 * target.threads, 3e9


class Instructed(Plain):
    def measure_instructions(self, device, target):
        return {DOTS: 5e9, TILES: 9e9 - self.asked, "int8/dots": 7e9}


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    file = tmp_path / "tilewright" / "peaks.json"
    file.parent.mkdir()
    return file


def told(device, name):
    return device.peak(name, TARGET.threads)


def test_the_peak_of_a_precision_is_that_of_its_fastest_instruction(kept):
    device = with_peaks(Instructed(), DEVICE, TARGET)
    assert told(device, "float32") == 2e9
    assert told(device, "bfloat16") == told(device, TILES) == 9e9 - 1
    assert told(device, DOTS) == 5e9
    assert told(device, "int8") == 7e9
    assert told(device, "float16") is told(device, "bfloat16/others") is None
    assert device.peak("bfloat16", 1) is None


def test_peaks_of_every_precision_are_measured_once_and_only_rise(kept):
    backend = Instructed()
    first = with_peaks(backend, DEVICE, TARGET)
    asked = backend.asked
    again = with_peaks(backend, DEVICE, TARGET)
    assert backend.asked == asked
    assert again.to_json() == first.to_json()
    assert measure_peaks(backend, DEVICE, TARGET).instructions[TILES] < 9e9 - 1
    assert with_peaks(backend, DEVICE, TARGET).to_json() == first.to_json()


def test_a_long_search_measures_known_peaks_once_more_and_keeps_the_larger(kept):
    backend = Instructed()
    first = with_peaks(backend, DEVICE, TARGET)
    (entry,) = json.loads(kept.read_text()).values()
    busy = [1e9, 4e9, {DOTS: 6e9, TILES: 1e9}]
    kept.write_text(json.dumps({DEVICE.fingerprint: {**entry, str(TARGET): busy}}))
    asked = backend.asked
    device = with_peaks(backend, DEVICE, TARGET, again=True)
    assert backend.asked == asked + 1
    assert (told(device, "float32"), told(device, DOTS)) == (told(first, "float32"), 6e9)
    assert device.bandwidth[TARGET.threads] == 4e9
    assert with_peaks(backend, DEVICE, TARGET).to_json() == device.to_json()


def test_a_backend_that_measures_float32_alone_keeps_working(kept):
    backend = Plain()
    device = with_peaks(backend, DEVICE, TARGET)
    assert (told(device, "float32"), dict(device.peaks)) == (2e9, {})
    assert json.loads(kept.read_text()) == {DEVICE.fingerprint: {str(TARGET): [2e9, 3e9]}}
    asked = backend.asked
    with_peaks(backend, DEVICE, TARGET)
    assert backend.asked == asked


def test_what_a_version_before_kept_is_a_lower_limit_of_float32(kept):
    kept.write_text(json.dumps({DEVICE.fingerprint: {str(TARGET): [4e9, 1e9], "other": [1, 1]}}))
    device = with_peaks(Plain(), DEVICE, TARGET)
    assert (told(device, "float32"), told(device, "bfloat16")) == (4e9, None)
    backend = Instructed()
    assert told(with_peaks(backend, DEVICE, TARGET), "bfloat16") == 9e9 - 1
    (entry,) = json.loads(kept.read_text()).values()
    assert entry["other"] == [1, 1]
    assert entry[str(TARGET)][:2] == [4e9, 3e9]


@pytest.mark.parametrize("damaged", [[1e9, 1e9, 5], [1e9, 1e9, {DOTS: None}], [1e9], [1, 2, {}, 4]])
def test_what_is_damaged_is_measured_anew(kept, damaged):
    kept.write_text(json.dumps({DEVICE.fingerprint: {str(TARGET): damaged}}))
    assert told(with_peaks(Instructed(), DEVICE, TARGET), DOTS) == 5e9


def test_an_emulated_device_has_no_peaks(kept):
    emulated = Device("pebble", {"emulated": True})
    assert with_peaks(Instructed(), emulated, TARGET) == emulated
    assert not measure_peaks(Instructed(), emulated, TARGET).instructions
    assert not kept.exists()
