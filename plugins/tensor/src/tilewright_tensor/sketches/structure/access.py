"""How stages read each other: the conditions of the rules (Ansor's access analysis)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import prod

from tilewright_tensor.expressions.affine import Affine, FloorDiv, Mod, Var
from tilewright_tensor.expressions.expr import Op, Read, Value, leaves, values_inside
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule.compute_stage import ComputeStage
from tilewright_tensor.schedule.schedule import Schedule

_EXPENSIVE = frozenset({"exp", "expm1", "log", "log1p", "sqrt", "tanh", "erf", "sin", "cos", "pow"})


def reads(stage: ComputeStage) -> tuple[Read, ...]:
    """Reads in the stage's body, repeats kept."""
    return tuple(x for x in leaves(stage.body) if isinstance(x, Read))


def readers(schedule: Schedule, name: str) -> tuple[str, ...]:
    """The stages that read a tensor, in order."""
    return tuple(stage.name for stage in schedule.stages.values() if stage.reads(name))


def single_var(index: Affine) -> Var | None:
    """The variable where the index is a variable and a constant, else None."""
    if len(index.terms) == 1 and index.terms[0][1] == 1 and isinstance(index.terms[0][0], Var):
        return index.terms[0][0]
    return None


def is_ordered(stage: ComputeStage, read: Read, *, complete: bool = False) -> bool:
    """Whether indexes are axes of the stage (or constants on an extent of 1), in order, none twice.

    `complete`: and every axis of extent above 1 occurs, unshifted.
    """
    place = {axis.var: number for number, axis in enumerate(stage.axes)}
    found: list[int] = []
    for one, extent in zip(read.indices, read.tensor.shape, strict=True):
        var = single_var(one)
        if var in place and (one.constant == 0 or not complete):
            found.append(place[var])
        elif one.terms or extent > 1:
            return False
    wanted = [n for n, axis in enumerate(stage.axes) if axis.extent > 1]
    return found == sorted(set(found)) and (not complete or set(wanted) <= set(found))


def operations(value: Value) -> frozenset[str]:
    """Names of all operations inside."""
    if not isinstance(value, Op):
        return frozenset()
    return frozenset({value.name}).union(*(operations(arg) for arg in value.args))


def is_strictly_inlineable(stage: ComputeStage) -> bool:
    """Whether readers lose nothing by computing it: ordered reads, no branch, nothing expensive."""
    names = operations(stage.body)
    return (
        stage.combiner is None
        and names.isdisjoint(_EXPENSIVE | {"select"})
        and all(is_ordered(stage, read) for read in reads(stage))
    )


def needs_tiling(stage: ComputeStage) -> bool:
    """Whether a reduction reads elements again and again: tiles in registers and caches pay.

    True where a producer misses an axis of the stage. Ansor also tiles what does not reduce, where
    two producers miss one; nothing accumulates there, and a nest of vectors does as well.
    """
    wide = {axis.var for axis in stage.axes if axis.extent > 1}
    seen: dict[str, set[Var]] = defaultdict(set)
    for read in reads(stage):
        for one in read.indices:
            seen[read.tensor.name] |= one.variables()
    return stage.combiner is not None and any(wide - found for found in seen.values())


def matched_consumer(schedule: Schedule, name: str) -> str | None:
    """The one reader, where it has the stage's shape and reads it element by element, else None."""
    found = readers(schedule, name)
    if len(found) != 1:
        return None
    stage, reader = schedule.stages[name], schedule.stages[found[0]]
    of_it = [read for read in reads(reader) if read.tensor.name == name]
    matches = (
        reader.combiner is None
        and reader.shape == stage.shape
        and all(is_ordered(reader, read, complete=True) for read in of_it)
    )
    return reader.name if matches else None


def spatial_size(stage: ComputeStage) -> int:
    """Elements that the stage has."""
    return prod(stage.shape)


def reduction_size(stage: ComputeStage) -> int:
    """Values that are combined into one element."""
    return prod(axis.extent for axis in stage.reduce_axes)


def stride(read: Read, var: Var, layout: Layout, span: int) -> int | None:
    """Elements between neighbours along a variable in memory; None if not so for all of `span`."""
    if values_inside(read):
        return None
    places = [_address(read, {var: at}, layout) for at in (0, 1, max(1, span - 1))]
    step = places[1] - places[0]
    return step if places[2] - places[0] == step * max(1, span - 1) else None


def has_division(read: Read) -> bool:
    """Whether an index divides."""
    return any(isinstance(atom, FloorDiv | Mod) for one in read.indices for atom, _ in one.terms)


def _address(read: Read, point: Mapping[Var, int], layout: Layout) -> int:
    shape: Sequence[int] = layout.physical_shape(read.tensor.shape)
    values: Mapping[Var, int] = defaultdict(int, point)
    logical = [one.evaluate(values) for one in read.indices]
    total = 0
    for dim, extent in zip(layout.dims, shape, strict=True):
        quotient = logical[dim.axis] // dim.divisor
        total = total * extent + (quotient % dim.extent if dim.extent else quotient)
    return total
