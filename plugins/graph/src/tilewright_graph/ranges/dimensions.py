"""The dimensions of a network that have ranges, and what sizes of them mean for its tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tilewright.errors import UsageError, did_you_mean
from tilewright.vocabulary.workload import TensorSpec
from tilewright_graph.ranges.dimension import Dimension
from tilewright_graph.ranges.stage_rows import Rows

Sizes = tuple[int, ...]
"""A size of each dimension, in their order."""


@dataclass(frozen=True)
class Dimensions:
    """One or more, in the order in which the caller gave their ranges."""

    each: tuple[Dimension, ...]

    def __str__(self) -> str:
        return ", ".join(f"{one.name}={one.sizes}" for one in self.each)

    @property
    def most(self) -> Sizes:
        """The largest of each."""
        return tuple(one.sizes.most for one in self.each)

    @cached_property
    def along(self) -> int:
        """The place of that along which sizes may run as several: the first whose rows allow it."""
        return next((at for at, one in enumerate(self.each) if one.independent), 0)

    def named(self, sizes: Sequence[Any]) -> dict[str, Any]:
        """What was told in their order, by name."""
        return dict(zip((one.name for one in self.each), sizes, strict=True))

    def sizes_text(self, sizes: Sizes) -> str:
        """Sizes as in `batch=2, sequence=8`."""
        return ", ".join(f"{name}={size}" for name, size in self.named(sizes).items())

    def given(self, texts: Mapping[str, str], where: str) -> Sizes:
        """The sizes of these texts, the largest of dimensions that are not among them.

        Raises UsageError for names of others, and for what is no size within the range.
        """
        names = [one.name for one in self.each]
        for name, text in texts.items():
            if name not in names:
                problem, remedy = f"no range has the name {name!r}", did_you_mean(name, names)
                raise UsageError(problem, where=where, remedy=remedy)
            if not (text.isdecimal() and len(text) < 10):
                problem, remedy = f"{name} is {text!r}, expected one size", f"such as {name}=3"
                raise UsageError(problem, where=where, remedy=remedy)
        sizes = tuple(int(texts.get(one.name, one.sizes.most)) for one in self.each)
        self.check(sizes, where)
        return sizes

    def check(self, sizes: Sizes, where: str) -> None:
        """Raise UsageError for a size outside of its range."""
        for one, size in zip(self.each, sizes, strict=True):
            one.check(size, where)

    def spec(self, name: str, spec: TensorSpec, sizes: Sizes) -> TensorSpec:
        """What a tensor is at these sizes, given what it is at others."""
        shape = list(spec.shape)
        for rows, size in self._rows_of(name, sizes):
            shape[rows.axis] = size * rows.within
        return TensorSpec(tuple(shape), spec.dtype, spec.role)

    def text(self, name: str, spec: TensorSpec) -> str:
        """A spec as in `float32[batch, 3, 224, 224]`."""
        shape: list[int | str] = [*spec.shape]
        for rows, told in self._rows_of(name, [one.name for one in self.each]):
            shape[rows.axis] = f"{rows.within}*{told}" if rows.within > 1 else told
        return f"{spec.dtype}[{', '.join(map(str, shape))}]"

    def masks(self, bucket: Sizes, sizes: Sizes) -> dict[str, Any]:
        """Which rows of a bucket's network are given at these sizes, by input that asks for it."""
        return {
            one.mask: np.arange(held) < size
            for one, held, size in zip(self.each, bucket, sizes, strict=True)
            if one.mask and held > 1
        }

    def part(self, arrays: Mapping[str, Any], sizes: Sizes, first: int = 0) -> dict[str, Any]:
        """So many rows of arrays along each dimension, along one from the first of them."""
        places: dict[str, list[slice]] = {}
        for at, one in enumerate(self.each):
            start = first if at == self.along else 0
            for name, lie in one.rows.items():
                if name in arrays:
                    of_axes = places.setdefault(name, [slice(None)] * arrays[name].ndim)
                    for rows in lie:
                        first_row, within = start * rows.within, rows.within
                        of_axes[rows.axis] = slice(first_row, first_row + sizes[at] * within)
        cut = {
            name: np.ascontiguousarray(arrays[name][tuple(of_axes)])
            for name, of_axes in places.items()
        }
        return {**arrays, **cut}

    def joined(self, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The rows of all parts, in order."""
        made = dict(parts[0])
        if len(parts) > 1:
            for name, (rows,) in self.each[self.along].rows.items():
                if name in made:
                    made[name] = np.concatenate([part[name] for part in parts], rows.axis)
        return made

    def _rows_of(self, name: str, told: Sequence[Any]) -> Iterator[tuple[Rows, Any]]:
        """Where rows of each dimension lie in a tensor, with what is told of it."""
        for one, of_it in zip(self.each, told, strict=True):
            yield from ((rows, of_it) for rows in one.rows.get(name, ()))
