"""Data types of elements: the one place that knows what a name such as `float16` means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Kind = Literal["bool", "int", "uint", "float"]


@dataclass(frozen=True, slots=True)
class DataType:
    """What an element may be.

    item_bytes   of one in memory
    significand  binary digits of a float, the implied one included; 0 of all else
    exponent     binary digits of a float's exponent; 0 of all else
    held_as      the dtype whose numpy type holds the values, where numpy has none of its own: no
                 tensor of a network is of such a dtype, only what a kernel keeps for itself
    wider        what operators compute and add up in where that is another; empty for none
    """

    name: str
    kind: Kind
    item_bytes: int
    significand: int = 0
    exponent: int = 0
    held_as: str = ""
    wider: str = ""

    @property
    def accumulator(self) -> str:
        """Name of what operators compute and add up in: float32 for floats of 16 bits."""
        return self.wider or self.name

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the greatest value: whole numbers, or infinities of a float."""
        if self.kind == "bool":
            return False, True
        if self.kind == "float":
            return -inf, inf
        bits = 8 * self.item_bytes
        return (
            (0, 2**bits - 1) if self.kind == "uint" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        )

    @property
    def eps(self) -> float:
        """From 1 to the next float; 0 where there are no others between whole numbers."""
        return 2.0 ** (1 - self.significand) if self.significand else 0.0


DATA_TYPES: Mapping[str, DataType] = {
    one.name: one
    for one in (
        DataType("bool", "bool", 1),
        DataType("int8", "int", 1),
        DataType("int16", "int", 2),
        DataType("int32", "int", 4),
        DataType("int64", "int", 8),
        DataType("uint8", "uint", 1),
        DataType("uint16", "uint", 2),
        DataType("uint32", "uint", 4),
        DataType("uint64", "uint", 8),
        DataType("bfloat16", "float", 2, significand=8, exponent=8, wider="float32"),
        DataType("float16", "float", 2, significand=11, exponent=5, wider="float32"),
        DataType("tf32", "float", 4, significand=11, exponent=8, held_as="float32"),
        DataType("float32", "float", 4, significand=24, exponent=8),
        DataType("float64", "float", 8, significand=53, exponent=11),
    )
}
"""By name."""
DTYPES = tuple(name for name, one in DATA_TYPES.items() if not one.held_as)
"""Those that tensors of a network may have."""
ITEM_BYTES: Mapping[str, int] = {name: one.item_bytes for name, one in DATA_TYPES.items()}


@cache
def numpy_type(dtype: str) -> np.dtype[Any]:
    """What numpy calls it, or what holds it there; bfloat16 is that of ml_dtypes."""
    import ml_dtypes
    import numpy as np

    name = DATA_TYPES[dtype].held_as or dtype
    return np.dtype(getattr(ml_dtypes, name) if name == "bfloat16" else name)


def stored(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    """The array as a dtype has it, contiguous: floats rounded to nearest, ties to even."""
    import numpy as np

    made: NDArray[Any] = array.astype(numpy_type(dtype), order="C", copy=False)
    if not DATA_TYPES[dtype].held_as:
        return made
    bits, cut = made.view(np.uint32), 24 - DATA_TYPES[dtype].significand
    to_even = (bits >> cut & 1) + np.uint32((1 << cut - 1) - 1)
    rounded = (bits + to_even) >> cut << cut
    return np.where(np.isnan(made), made, rounded.view(made.dtype))


def is_float(dtype: str) -> bool:
    """Whether it is of floating-point numbers."""
    return DATA_TYPES[dtype].kind == "float"


def is_whole(dtype: str) -> bool:
    """Whether it is of whole numbers, of which bool is none."""
    return DATA_TYPES[dtype].kind in ("int", "uint")


def is_unsigned(dtype: str) -> bool:
    """Whether no value is below 0: of bool, too."""
    return DATA_TYPES[dtype].kind in ("bool", "uint")


def widens(dtype: str, other: str) -> bool:
    """Whether the other is a wider float, which has every value of the first."""
    first, second = DATA_TYPES[dtype], DATA_TYPES[other]
    return (
        first.kind == second.kind == "float"
        and first.significand <= second.significand
        and first.exponent <= second.exponent
        and first != second
    )


def limits(dtype: str) -> tuple[float, float]:
    """The least and the greatest value of a dtype: whole numbers, or infinities of a float."""
    return DATA_TYPES[dtype].limits
