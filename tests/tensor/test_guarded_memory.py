"""D-19: the memory of kernels on the processor stands between zones that tell who wrote there."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tilewright_tensor.kernels.cold_copies import ColdCopies
from tilewright_tensor.kernels.guarded_memory import GuardedMemory


@pytest.mark.parametrize("size", [1, 3, 37, 148, 4096, 4099])
def test_a_byte_written_within_512_of_either_end_is_counted(size):
    for distance in (1, 2, 63, 64, 512):
        memory = GuardedMemory(size)
        assert memory.bytes.nbytes == size
        assert memory.overrun() == (0, 0)
        start = memory.bytes.ctypes.data
        ctypes.memset(start - distance, 1, 1)
        assert memory.overrun() == (1, 0)
        ctypes.memset(start + size - 1 + distance, 1, 1)
        assert memory.overrun() == (1, 1)


def test_memory_starts_on_a_cache_line_and_may_be_written_everywhere():
    for size in range(1, 200):
        memory = GuardedMemory(size)
        assert memory.bytes.ctypes.data % 64 == 0
        memory.bytes[...] = 0
        assert memory.overrun() == (0, 0)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("word", [0xFFFFFF81, 0xFFFFFFFE, 0xFFFFFFFF])
def test_what_is_read_outside_is_no_number(dtype, word):
    memory = GuardedMemory(64, word)
    around = (ctypes.c_char * 512).from_address(memory.bytes.ctypes.data - 512)
    assert np.isnan(np.frombuffer(around, dtype)).all()


def constant(value=1.0):
    array = np.full((3, 5), value, np.float32)
    array.flags.writeable = False
    return array


def test_copies_start_on_cache_lines_and_hold_the_array():
    copies = ColdCopies().of(constant(), 4, 0xFFFFFFFE)
    copies.have(4)
    assert copies.places.shape == (4, 3, 5)
    assert (copies.places == 1.0).all()
    assert {place.ctypes.data % 64 for place in copies.places} == {0}


def test_places_are_written_when_they_are_asked_for_and_once():
    copies = ColdCopies().of(constant(), 4, 0xFFFFFFFE)
    copies.places[...] = 7.0
    copies.have(3)
    copies.have(2)
    assert [place.min() for place in copies.places] == [7.0, 1.0, 1.0, 7.0]
    copies.write(constant(5.0))
    copies.have(4)
    assert (copies.places == 5.0).all()


def test_an_array_that_may_change_is_copied_at_once():
    array = np.ones((3, 5), np.float32)
    copies = ColdCopies().of(array, 4, 0xFFFFFFFE)
    array[...] = 2.0
    copies.have(4)
    assert (copies.places == 1.0).all()


def test_copies_of_the_same_read_only_array_are_made_once():
    cold, array = ColdCopies(), constant()
    first = cold.of(array, 4, 0xFFFFFFFE)
    assert cold.of(array, 4, 0xFFFFFFFE) is first
    assert cold.of(array, 5, 0xFFFFFFFE) is not first
    assert cold.of(constant(), 4, 0xFFFFFFFE) is not first


def test_an_array_that_may_change_and_an_operand_in_one_place_get_memory_of_their_own():
    cold, array = ColdCopies(), constant()
    assert cold.of(array.copy(), 4, 0xFFFFFFFE) is not cold.of(array.copy(), 4, 0xFFFFFFFE)
    assert cold.of(array, 1, 0xFFFFFFFE) is not cold.of(array, 1, 0xFFFFFFFE)


def test_copies_about_to_change_are_given_to_nobody_else():
    cold, array = ColdCopies(), constant()
    first = cold.of(array, 4, 0xFFFFFFFE)
    cold.forget(first)
    assert cold.of(array, 4, 0xFFFFFFFE) is not first


def test_no_more_than_a_limit_is_kept(monkeypatch):
    monkeypatch.setattr("tilewright_tensor.kernels.cold_copies._KEPT_BYTES", 600)
    cold, arrays = ColdCopies(), [constant(value) for value in range(3)]
    made = [cold.of(array, 4, 0xFFFFFFFE) for array in arrays]  # 240 bytes each
    assert cold.of(arrays[2], 4, 0xFFFFFFFE) is made[2]
    assert cold.of(arrays[0], 4, 0xFFFFFFFE) is not made[0]
