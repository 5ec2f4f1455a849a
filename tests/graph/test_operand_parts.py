"""Operands that are written from their beginnings, of kernels that take whole arrays only."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright_graph.compiled.operand_parts import OperandParts


class WholeKernel:
    def __init__(self) -> None:
        self.array = np.zeros((3, 4))

    def write(self, operand, array):
        assert array.shape == self.array.shape
        self.array = array.copy()

    def read(self, operand):
        return self.array


class KernelOfParts(WholeKernel):
    def __init__(self) -> None:
        super().__init__()
        self.rows = None

    def write_part(self, operand, array):
        self.array[tuple(map(slice, array.shape))] = array

    def read_part(self, operand, shape):
        return self.array[tuple(map(slice, shape))].copy()

    def take_rows(self, rows):
        self.rows = rows


@pytest.mark.parametrize("kind", [WholeKernel, KernelOfParts])
def test_what_lies_behind_a_part_is_of_arrays_before_and_first_its_last_rows(kind):
    kernel = kind()
    parts = OperandParts(kernel)
    parts.write(0, np.array([[1.0, 2.0]]), (3, 4))
    assert kernel.array.tolist() == [[1, 2, 2, 2]] * 3
    parts.write(0, np.array([[5.0], [6.0]]), (3, 4))
    assert kernel.array.tolist() == [[5, 2, 2, 2], [6, 2, 2, 2], [1, 2, 2, 2]]
    answer = parts.read(0, (2, 2))
    assert answer.tolist() == [[5, 2], [6, 2]]
    assert answer.flags.c_contiguous


@pytest.mark.parametrize("kind", [WholeKernel, KernelOfParts])
def test_an_operand_without_axes_is_written_whole(kind):
    kernel = kind()
    kernel.array = np.zeros(())
    parts = OperandParts(kernel)
    for number in (2.0, 3.0):
        parts.write(0, np.array(number), ())
        assert parts.read(0, ()) == number


def test_rows_are_asked_for_while_it_runs_only():
    kernel = KernelOfParts()
    parts = OperandParts(kernel)
    assert parts.with_rows((2,), lambda: kernel.rows) == (2,)
    assert kernel.rows is None
    with pytest.raises(ZeroDivisionError):
        parts.with_rows((2,), lambda: 1 // 0)
    assert kernel.rows is None
