"""Operands of an element-wise operator as its definition sees them: all of the output's shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright_tensor.expressions.affine import Index
from tilewright_tensor.expressions.expr import Read
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import Dag
from tilewright_tensor.operators.definition.operator_def import expect
from tilewright_tensor.operators.definition.places import broadcast_shapes


@dataclass(frozen=True, eq=False, repr=False)
class Broadcast(Tensor):
    """A tensor as one of a larger shape: along axes that it has once, there is one element."""

    source: Tensor | None = None

    def __getitem__(self, indices: Index | tuple[Index, ...]) -> Read:
        assert self.source is not None
        places = super().__getitem__(indices).indices
        extents = zip(places, self.source.shape, self.shape, strict=True)
        return self.source[tuple(place if own == all_ else 0 for place, own, all_ in extents)]


def broadcast(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors in their common shape. Raises ValueError where there is none."""
    shapes = [list(tensor.shape) for tensor in tensors]
    expect(len({len(one) for one in shapes}) == 1, f"expected operands of one rank, got {shapes}")
    shape = broadcast_shapes(*shapes)
    return [
        tensor
        if tensor.shape == shape
        else Broadcast(tensor.name, shape, tensor.dtype, source=tensor)
        for tensor in tensors
    ]


def check_elementwise(result: Tensor, operands: Sequence[Tensor]) -> None:
    """Raise ValueError where an element of the result needs more than that of each operand."""
    shape = broadcast_shapes(*(tensor.shape for tensor in operands))
    expect(
        result.shape == shape,
        f"element-wise, it would have the shape {list(shape)} of its operands, "
        f"not {list(result.shape)}: leave elementwise=True out",
    )
    for stage in Dag([result], operands).computes:
        own = tuple(axis.affine() for axis in stage.axes)
        for read in stage.reads:
            alike = all(
                place == axis or (place.is_constant and extent == 1)
                for place, axis, extent in zip(read.indices, own, read.tensor.shape, strict=False)
            )
            expect(
                not stage.reduce_axes and len(read.indices) == len(own) and alike,
                f"element-wise, it would read {read.tensor.name} at its own place only: "
                "leave elementwise=True out",
            )
