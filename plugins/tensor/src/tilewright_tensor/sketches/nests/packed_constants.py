"""Constants rearranged, once, into the order in which a kernel reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright_tensor.expressions.affine import Var
from tilewright_tensor.schedule.compute_stage import ComputeStage
from tilewright_tensor.sketches.structure.access import reads, single_var
from tilewright_tensor.sketches.structure.splits import reduction_split, spatial_split
from tilewright_tensor.sketches.structure.vectors import Vectors


def packed_layout(
    stage: ComputeStage, name: str, letters: str, vectors: Vectors, values: Mapping[str, Any]
) -> str | None:
    """Layout text of a constant for the tiles of a stage: outer loops, inner sums, register tile.

    None where the stage does not read it, or not by its axes alone.
    """
    read = next((one for one in reads(stage) if one.tensor.name == name), None)
    if read is None:
        return None
    letter_of: dict[Var, str] = {}
    for letter, one, extent in zip(letters, read.indices, read.tensor.shape, strict=True):
        var = single_var(one)
        if var is not None and not one.constant:
            letter_of[var] = letter
        elif extent > 1 or one.terms:
            return None
    outside = [letter for letter in letters if letter not in letter_of.values()]
    inside: list[str] = []
    tile: list[str] = []
    for _, axis in sorted(enumerate(stage.axes), key=lambda pair: pair[0] == vectors.axis):
        if axis.var in letter_of:
            letter = letter_of[axis.var]
            size = spatial_split(values, axis)[-1]
            outside.append(letter)
            tile += [f"{size}{letter.lower()}"] if size > 1 else []
    for axis in stage.reduce_axes:
        if axis.var in letter_of:
            letter = letter_of[axis.var]
            first, second = reduction_split(values, axis)
            (outside if first > 1 else inside).append(letter)
            inside += [f"{second}{letter.lower()}"] if first > 1 and second > 1 else []
    return "".join([*outside, *inside, *tile])
