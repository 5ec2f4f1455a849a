"""Inputs of a task and the answers they must give."""

from __future__ import annotations

import math
import os
import shutil
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import ml_dtypes  # noqa: F401  numpy knows bfloat16 by name then
import numpy as np

from tilewright.roles import Reference, RoundsToUnits
from tilewright.vocabulary.measure import FailureKind
from tilewright.vocabulary.workload import Workload
from tilewright_measure.worker.failures import RefusedError

T = TypeVar("T")
_MOST_KEPT_BYTES = 256 << 20  # of a case, beside its inputs and outputs
_POISON_BYTE = 0xFF  # a NaN in every binary floating-point format, -1 in integers


@dataclass
class Case:
    """Seeded inputs of a workload and the expected outputs, in logical layout.

    precision   of the config that is checked: inputs have no more digits
    """

    workload: Workload
    reference: Reference
    inputs: Sequence[np.ndarray]
    outputs: Sequence[np.ndarray]
    precision: str
    _made: OrderedDict[tuple[str, int, str], Any] = field(default_factory=OrderedDict)

    @classmethod
    def of(
        cls, workload: Workload, reference: Reference, seed: int, precision: str, folder: Path
    ) -> Case:
        """Made once and kept in the folder, so that the next worker need not compute it again."""
        place = folder / f"{workload.key}-{seed}-{precision}"
        if place.is_dir():
            arrays = [_loaded(file) for file in sorted(place.iterdir())]
        else:
            inputs = reference.inputs(workload, seed, precision)
            arrays = [
                np.asarray(array) for array in (*inputs, *reference.outputs(workload, inputs))
            ]
            _keep(arrays, place)
        count = len(workload.inputs)
        return cls(workload, reference, arrays[:count], arrays[count:], precision)

    def packed(self, operand: int, layout: str) -> np.ndarray:
        """An input in a layout: read-only, and the same array each time."""
        key = ("input", operand, layout)
        return self._kept(key, lambda: self._pack(self.inputs[operand], layout))

    def poison(self, output: int, layout: str) -> np.ndarray:
        """As `packed`, for an output, filled with wrong values to detect unwritten elements."""
        return self._kept(("poison", output, layout), lambda: self._poisoned(output, layout))

    def check(self, output: int, layout: str, array: Any) -> None:
        """Compare a physical output with the expected one.

        Raises RefusedError (`wrong_answer`) with the figures and the first place.
        """
        got, expected = np.asarray(array), self.outputs[output]
        if self._is_right(output, layout, got):
            return
        got = self.reference.unpack(got, layout, expected.shape)
        compare(got, expected, self._tolerance, f"output {output}", self._unit)

    def _is_right(self, output: int, layout: str, got: np.ndarray) -> bool:
        """Whether an output is right as it lies, which most are: to unpack it takes longer.

        One that is not may still be right: what lies beside the elements does not count.
        """
        right, is_exact = self._answer(output, layout)
        if not is_exact or (got.shape, got.dtype) != (right.shape, right.dtype):
            return False
        return _largest(_differences(got, right)) <= self._most[output]

    def _answer(self, output: int, layout: str) -> tuple[np.ndarray, bool]:
        """What is expected in a layout, and whether that has its elements without rounding them."""

        def make() -> tuple[np.ndarray, bool]:
            expected = self.outputs[output]
            right = self._pack(expected, layout)
            again = self.reference.unpack(right, layout, expected.shape)
            return right, again.dtype == expected.dtype and np.array_equal(again, expected)

        return self._kept(("answer", output, layout), make)

    def _poisoned(self, output: int, layout: str) -> np.ndarray:
        array = np.empty_like(self._answer(output, layout)[0])
        array.reshape(-1).view(np.uint8)[...] = _POISON_BYTE
        array.flags.writeable = False
        return array

    def _pack(self, array: np.ndarray, layout: str) -> np.ndarray:
        packed = np.asarray(self.reference.pack(array, layout), order="C").view()
        packed.flags.writeable = False
        return packed

    def _kept(self, key: tuple[str, int, str], make: Callable[[], T]) -> T:
        """What was asked for last, as far as there is room for it."""
        if key in self._made:
            self._made.move_to_end(key)
        else:
            self._made[key] = make()
            size = sum(map(_bytes, self._made.values()))
            while size > _MOST_KEPT_BYTES and len(self._made) > 1:
                size -= _bytes(self._made.popitem(last=False)[1])
        kept: T = self._made[key]
        return kept

    @cached_property
    def _most(self) -> list[float]:
        """By output, the largest difference of a right one; NaN where `compare` has to look."""
        largest = map(_largest, self.outputs)
        return [
            self._tolerance * (one or 1.0) + self._unit if math.isfinite(one) else math.nan
            for one in largest
        ]

    @cached_property
    def _tolerance(self) -> float:
        return self.reference.tolerance(self.workload, self.precision)

    @cached_property
    def _unit(self) -> float:
        reference = self.reference
        return (
            reference.rounding_unit(self.workload) if isinstance(reference, RoundsToUnits) else 0.0
        )


def compare(
    got: np.ndarray, expected: np.ndarray, bound: float, name: str, unit: float = 0.0
) -> None:
    """Accept `got` where max|got-expected| <= bound * max|expected| + unit.

    Where `expected` is NaN or infinite, `got` must be the same, and the rest is compared. Raises
    RefusedError (`wrong_answer`) otherwise, and where nothing is finite (`internal`).
    """
    if got.shape != expected.shape:
        text = f"{name} has the shape {got.shape}, expected {expected.shape}"
        raise RefusedError(FailureKind.WRONG_ANSWER, text)
    if not expected.size:
        return
    largest = _largest(expected) or 1.0
    gaps = not math.isfinite(largest)
    if gaps:
        finite = np.abs(expected[np.isfinite(expected)])
        if not finite.size:
            text = f"{name}: no expected element is finite, so that nothing can be checked"
            raise RefusedError(FailureKind.INTERNAL, text)
        largest = float(finite.max()) or 1.0
    difference = _differences(got, expected)
    np.abs(difference, out=difference)
    if gaps:
        difference[(got == expected) | (np.isnan(got) & np.isnan(expected))] = 0
    worst = float(difference.max())
    most = bound * largest + unit
    if worst <= most:  # false for a NaN
        return
    bad = ~(difference <= most)
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
    raise RefusedError(
        FailureKind.WRONG_ANSWER,
        f"{name}: {int(bad.sum())} of {bad.size} elements are wrong, first at {index}: "
        f"got {got[index]:.7g}, expected {expected[index]:.7g}; "
        f"max|a-b|/max|b| is {worst / largest:.3g}, at most {most / largest:.3g} is right",
    )


def _differences(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", over="ignore"):
        wide = np.result_type(got, np.float32)
        # of arrays without axes numpy makes a number, which cannot be written to
        return np.asarray(np.subtract(got, expected, dtype=wide))


def _bytes(made: Any) -> int:
    array: np.ndarray = made[0] if isinstance(made, tuple) else made
    return array.nbytes


def _largest(array: np.ndarray) -> float:
    """The largest magnitude, not finite where an element is not; 0 without elements."""
    return max(float(array.max()), -float(array.min())) if array.size else 0.0


def _loaded(file: Path) -> np.ndarray:
    """An array of the dtype in the file's name: numpy writes bfloat16 as two bytes of anything."""
    array: np.ndarray = np.load(file, allow_pickle=False)
    return array.view(np.dtype(file.name.split(".")[1]))


def _keep(arrays: Sequence[np.ndarray], place: Path) -> None:
    unfinished = place.with_name(f"{place.name}.{os.getpid()}")
    try:
        unfinished.mkdir(parents=True)
        for number, array in enumerate(arrays):
            name = f"{number:03d}.{array.dtype.name}.npy"
            np.save(unfinished / name, array, allow_pickle=False)
        unfinished.rename(place)
    except OSError:  # a full disk costs time, not the candidate
        shutil.rmtree(unfinished, ignore_errors=True)
