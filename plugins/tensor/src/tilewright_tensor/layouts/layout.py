"""How a tensor's logical axes lie in memory, in TVM's notation.

Letters stand for axes. An upper-case letter is the axis itself (its outer part where it has
blocks), a number with a lower-case letter an inner block: `NCHW16c` is [N][C/16][H][W][16]. The
logical axes have a fixed order, found from the letters: N C D H W, or O I D H W, or the alphabet;
so `NHWC` is a transposition of logical NCHW. Blocks nest: `OIHW8i16o2i` has pairs of inputs
innermost. A block may stand before its axis: in `N4cCHW`, [N][C%4][C/4][H][W], every fourth channel
is a neighbour. A packed constant may be transformed first: `winograd4:ABIO` (see
`constant_transform`).
A data type at the end, as in `NCHW16c:bfloat16`, is what elements are stored as: such a format
holds rounded values of the tensor's own type.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from tilewright.errors import UsageError, did_you_mean
from tilewright_tensor.expressions.affine import Affine, Bounds, floor_div, mod
from tilewright_tensor.expressions.dtype import DATA_TYPES, numpy_type, stored
from tilewright_tensor.layouts.constant_transform import TRANSFORMS, constant_transform

if TYPE_CHECKING:
    from tilewright_tensor.layouts.constant_transform import Array

_TOKEN = re.compile(r"([A-Z])|([1-9][0-9]*)([a-z])")
_ORDERS = ("NCDHW", "OIDHW", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_BY_RANK = ("", "C", "NC", "NCW", "NCHW", "NCDHW")


@dataclass(frozen=True, slots=True)
class LayoutDim:
    """A physical dimension: `logical[axis] // divisor % extent`; extent 0 is the outer part."""

    axis: int
    divisor: int
    extent: int


@dataclass(frozen=True, slots=True)
class Layout:
    """A parsed layout text.

    letters   the axes in logical order, upper case
    dims      the physical dimensions, outermost first
    blocks    elements in a block of each logical axis, 1 where it has none
    transform name of what is done to the constant before it is laid out, empty for nothing
    dtype     that elements are stored as, empty for the tensor's own
    """

    text: str
    letters: str
    dims: tuple[LayoutDim, ...]
    blocks: tuple[int, ...]
    transform: str = ""
    dtype: str = ""

    @classmethod
    def parse(cls, text: str) -> Layout:
        """The layout of a text. Raises UsageError where it is none."""
        return _parse(text)

    @classmethod
    def logical(cls, rank: int) -> Layout:
        """An activation of this rank in logical order: `NCHW` for 4."""
        return _parse(_BY_RANK[rank] if rank < len(_BY_RANK) else _ORDERS[2][:rank])

    def __str__(self) -> str:
        return self.text

    @property
    def rank(self) -> int:
        """Number of logical axes."""
        return len(self.letters)

    @property
    def memory(self) -> Layout:
        """How the transformed constant lies; itself where nothing is transformed."""
        return _parse(self.text.partition(":")[2]) if self.transform else self

    def storage(self, own: str) -> str:
        """The dtype of elements in memory, of a tensor whose own dtype is given."""
        return self.dtype or own

    def transformed_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The logical shape after the transform."""
        if not self.transform:
            return tuple(shape)
        return constant_transform(self.transform, self.text).shape(tuple(shape))

    def divides(self, shape: Sequence[int]) -> bool:
        """Whether no block is partly filled, so that the layout adds no padding."""
        return all(extent % block == 0 for extent, block in zip(shape, self.blocks, strict=True))

    def physical_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape in memory of a logical shape; partly filled blocks count in full."""
        shape = self.transformed_shape(shape)
        if len(shape) != self.rank:
            raise UsageError(
                f"layout {self.text}: expected {self.rank} axes ({self.letters}), got {list(shape)}"
            )
        return tuple(d.extent or -(-shape[d.axis] // d.divisor) for d in self.dims)

    def physical_index(self, indices: Sequence[Affine], bounds: Bounds) -> tuple[Affine, ...]:
        """Where the element at logical indices lies; the bounds simplify the divisions."""
        found = []
        for dim in self.dims:
            quotient = indices[dim.axis]
            if dim.divisor > 1:
                quotient = floor_div(quotient, dim.divisor, bounds)
            found.append(mod(quotient, dim.extent, bounds) if dim.extent else quotient)
        return tuple(found)

    def pack(self, array: Array) -> Array:
        """A logical array in this format, contiguous; partly filled blocks end in zeros."""
        import numpy as np

        if self.transform:
            return self.memory.pack(constant_transform(self.transform, self.text).apply(array))
        padded = self._padded(array.shape)
        if padded != array.shape:
            margins = [(0, p - n) for p, n in zip(padded, array.shape, strict=True)]
            array = np.pad(array, margins)
        split, order = self._split(padded)
        return stored(array.reshape(split).transpose(order), self.storage(str(array.dtype)))

    def unpack(self, array: Array, shape: Sequence[int], own: str = "") -> Array:
        """The logical array of a shape, contiguous: the inverse of `pack`, to rounding.

        Elements are of the tensor's own dtype; by default, as they are stored.
        """
        import numpy as np

        if self.transform:
            transformed = self.memory.unpack(array, self.transformed_shape(shape), own)
            return constant_transform(self.transform, self.text).undo(transformed, tuple(shape))
        padded = self._padded(shape)
        split, order = self._split(padded)
        logical = array.reshape([split[i] for i in order]).transpose(np.argsort(order))
        inside = logical.reshape(padded)[tuple(slice(n) for n in shape)]
        return np.asarray(inside, numpy_type(own or str(array.dtype)), order="C")

    def is_identity_to(self, other: Layout, shape: Sequence[int]) -> bool:
        """Whether a shape has the same bytes in both, as 16 channels in `NCHW16c` and `NHWC`."""
        alike = (self.letters, self.dtype) == (other.letters, other.dtype)
        return alike and self.runs(shape) == other.runs(shape)

    def broadcast_to(self, shape: Sequence[int]) -> Layout:
        """The layout of a broadcast operand: no blocks on axes of extent 1."""
        name, colon, dtype = self.text.partition(":")
        axis = {letter: i for i, letter in enumerate(self.letters)}
        kept = (t[0] for t in _TOKEN.finditer(name) if t[1] or shape[axis[t[3].upper()]] > 1)
        return _parse("".join(kept) + colon + dtype)

    def turned(self, order: Sequence[int]) -> Layout:
        """How a tensor in this layout lies once its axes are in another order.

        order   for each axis of the result which of its axes that is
        """
        name, colon, dtype = self.text.partition(":")
        letters = Layout.logical(len(order)).letters
        before, after = "".join(self.letters[axis] for axis in order), letters
        places = str.maketrans(before + before.lower(), after + after.lower())
        return _parse(name.translate(places) + colon + dtype)

    def stored_as(self, dtype: str) -> Layout:
        """The same arrangement of elements of another dtype, empty for the tensor's own."""
        text = self.text.removesuffix(f":{self.dtype}") if self.dtype else self.text
        return _parse(f"{text}:{dtype}" if dtype else text)

    def _padded(self, shape: Sequence[int]) -> tuple[int, ...]:
        self.physical_shape(shape)
        return tuple(-(-n // b) * b for n, b in zip(shape, self.blocks, strict=True))

    def _split(self, padded: Sequence[int]) -> tuple[list[int], list[int]]:
        """(every logical axis split into its parts, the order in which memory has the parts)."""
        parts = sorted(
            range(len(self.dims)), key=lambda i: (self.dims[i].axis, -self.dims[i].divisor)
        )
        physical = self.physical_shape(padded)
        rank_of = {dim: position for position, dim in enumerate(parts)}
        return [physical[i] for i in parts], [rank_of[i] for i in range(len(self.dims))]

    def runs(self, shape: Sequence[int]) -> list[tuple[int, int, int]]:
        """(axis, divisor, extent) from the outside in, extents of 1 left out, neighbours joined."""
        runs: list[tuple[int, int, int]] = []
        for dim, extent in zip(self.dims, self.physical_shape(shape), strict=True):
            if extent == 1:
                continue
            if runs and runs[-1][0] == dim.axis and runs[-1][1] == dim.divisor * extent:
                runs[-1] = (dim.axis, dim.divisor, runs[-1][2] * extent)
            else:
                runs.append((dim.axis, dim.divisor, extent))
        return runs


@lru_cache(maxsize=4096)
def _parse(text: str) -> Layout:
    name, colon, rest = text.partition(":")
    if colon and name not in TRANSFORMS:
        if rest not in DATA_TYPES and not _TOKEN.match(name):
            constant_transform(name, text)
        if rest not in DATA_TYPES:
            raise _error(
                text, f"no data type named {rest!r}, {did_you_mean(rest, list(DATA_TYPES))}"
            )
        return replace(_parse(name), text=text, dtype=rest)
    if colon:
        return replace(_parse(rest), text=text, transform=name)
    tokens = list(_TOKEN.finditer(text))
    if "".join(t[0] for t in tokens) != text:
        raise _error(
            text,
            "expected axes as upper-case letters and blocks as a number and a lower-case letter",
        )
    named = [t[1] for t in tokens if t[1]]
    if len(set(named)) != len(named):
        raise _error(text, "an axis is named twice")
    order = next((o for o in _ORDERS if set(named) <= set(o)), "")
    letters = "".join(sorted(named, key=order.index))
    blocks = [1] * len(letters)
    dims: list[LayoutDim] = []
    for token in reversed(tokens):  # innermost first: the divisor is the product of blocks inside
        letter = (token[1] or token[3]).upper()
        if letter not in letters:
            raise _error(text, f"block {token[0]} has no axis {letter}")
        axis = letters.index(letter)
        size = int(token[2] or 0)
        dims.append(LayoutDim(axis, blocks[axis], size))
        blocks[axis] *= size or 1
    whole = (dim if dim.extent else replace(dim, divisor=blocks[dim.axis]) for dim in dims[::-1])
    return Layout(text, letters, tuple(whole), tuple(blocks))


def _error(text: str, problem: str) -> UsageError:
    return UsageError(f"layout {text!r}: {problem}", remedy="as in NCHW, NHWC, NCHW16c, OIHW16i16o")
