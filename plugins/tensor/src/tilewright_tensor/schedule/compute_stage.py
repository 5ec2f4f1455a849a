"""A stage: one computed tensor of a schedule, with its loops."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil, prod
from typing import Any, Union

from tilewright_tensor.expressions.affine import Affine, Bounds, divided
from tilewright_tensor.expressions.buffer import Scope
from tilewright_tensor.expressions.expr import Read, Value, leaves, map_value
from tilewright_tensor.expressions.simplify_div_mod import simplify_div_mod
from tilewright_tensor.expressions.tensor import Axis, Combiner, Tensor
from tilewright_tensor.ir.loop_ir import LoopKind
from tilewright_tensor.ir.tensor_instruction import TensorInstruction


@dataclass(frozen=True, slots=True)
class Split:
    """`parent` becomes `children`, outermost first; `factors` are the extents of all but that.

    An inner loop never runs further than what is split: a factor of 16 over an extent of 8 gives 8,
    unless it is one of the `kept`, whose number of threads is what it was made for.
    """

    parent: str
    children: tuple[str, ...]
    factors: tuple[int, ...]

    def extents(self, extent: int, kept: Collection[str] = ()) -> tuple[int, ...]:
        """Of the children, for an extent of the parent; their product may exceed it."""
        found: list[int] = []
        for child, factor in zip(reversed(self.children), reversed(self.factors), strict=False):
            found.append(factor if child in kept else min(factor, extent))
            extent = ceil(extent / found[-1])
        return (extent, *reversed(found))


@dataclass(frozen=True, slots=True)
class Fuse:
    """`parents`, outermost first, become the one loop `child`; of none, it runs once."""

    parents: tuple[str, ...]
    child: str


Relation = Union[Split, Fuse]


@dataclass(frozen=True, slots=True)
class PrefetchNote:
    """Where a prefetch is wanted: at the start of the loop's body. See `Schedule.prefetch`."""

    loop: str
    tensor: str
    offset_bytes: int
    step: int | None


@dataclass(frozen=True)
class ComputeStage:
    """A computation and its loops.

    loops       names of the loops there are now, outermost first
    relations   how they came from the axes, oldest first
    kinds       of the loops that are not serial
    attach      (consumer, loop) inside which the stage is computed, None for a nest of its own
    pipelines   how many tiles of shared memory there are for loops that fill them ahead
    instruction (loop, instruction): from that loop on, the nest is one instruction
    overhangs   axes and loops whose tiles compute what lies beyond their end, too
    row_align   (factor, offset): rows of its scratch begin `offset` elements behind a multiple of
                `factor`
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    axes: tuple[Axis, ...]
    body: Value
    combiner: Combiner | None = None
    reduce_axes: tuple[Axis, ...] = ()
    loops: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()
    kinds: Mapping[str, LoopKind] = field(default_factory=dict)
    attach: tuple[str, str] | None = None
    scope: Scope = "global"
    prefetches: tuple[PrefetchNote, ...] = ()
    pipelines: Mapping[str, int] = field(default_factory=dict)
    row_align: tuple[int, int] = (1, 0)
    instruction: tuple[str, TensorInstruction] | None = None
    overhangs: frozenset[str] = frozenset()

    def __str__(self) -> str:
        """The nest as planned, before extents are known."""
        inside = self.attach and f" inside {self.attach[0]} at {self.attach[1]}, {self.scope}"
        lines = [f"stage {self.name}{inside or ''}"]
        for depth, loop in enumerate(self.loops, 1):
            lines.append(f"{'  ' * depth}{self.kinds.get(loop, 'serial')} {loop}")
        return "\n".join(lines)

    @classmethod
    def of(cls, tensor: Tensor) -> ComputeStage:
        """The stage of a compute before any step: one serial loop an axis, reductions innermost."""
        assert tensor.body is not None
        loops = tuple(axis.name for axis in tensor.axes + tensor.reduce_axes)
        return cls(
            tensor.name,
            tensor.shape,
            tensor.dtype,
            tensor.axes,
            tensor.body,
            tensor.combiner,
            tensor.reduce_axes,
            loops,
        )

    def changed(self, **fields: Any) -> ComputeStage:
        """The stage with other values in some fields."""
        # `dataclasses.replace` takes four times as long, and every step of a schedule changes one
        assert fields.keys() <= vars(self).keys(), fields
        stage = object.__new__(ComputeStage)
        vars(stage).update(vars(self), **fields)
        return stage

    @property
    def tensor(self) -> Tensor:
        """A name for the stage's result, for reads of it; a schedule finds tensors by name."""
        return Tensor(self.name, self.shape, self.dtype)

    def reads(self, name: str) -> bool:
        """Whether the body reads the tensor of that name."""
        return any(isinstance(x, Read) and x.tensor.name == name for x in leaves(self.body))

    def with_reads(self, name: str, new: Tensor) -> ComputeStage:
        """The same stage reading `new` at the same indexes instead of the tensor of that name."""

        def leaf(value: Value) -> Value:
            if isinstance(value, Read) and value.tensor.name == name:
                return Read(new, value.indices)
            return value

        return self.changed(body=map_value(self.body, leaf))

    def reductions(self) -> frozenset[str]:
        """Names of the loops, past and present, that come from reduce axes."""
        return self.descendants(axis.name for axis in self.reduce_axes)

    def descendants(self, names: Iterable[str]) -> frozenset[str]:
        """Names of the loops, past and present, that come from some axes or loops."""
        found = set(names)
        for relation in self.relations:
            if isinstance(relation, Split):
                if relation.parent in found:
                    found.update(relation.children)
            elif not found.isdisjoint(relation.parents):
                found.add(relation.child)
        return frozenset(found)

    def extents(self, of_axes: Mapping[str, int]) -> dict[str, int]:
        """Extent of every loop, past and present, given those of the axes."""
        found = dict(of_axes)
        bound = [loop for loop, kind in self.kinds.items() if "Idx" in kind]
        for relation in self.relations:
            if isinstance(relation, Split):
                if relation.parent in self.overhangs:
                    bound += relation.children
                extents = relation.extents(found[relation.parent], bound)
                found.update(zip(relation.children, extents, strict=True))
            else:
                found[relation.child] = prod(found[parent] for parent in relation.parents)
        return found

    def full_extents(self) -> dict[str, int]:
        """Extent of every loop where the stage is computed as a whole."""
        return self.extents({axis.name: axis.extent for axis in self.axes + self.reduce_axes})

    def indices(
        self, loops: Mapping[str, Affine], extents: Mapping[str, int], bounds: Bounds
    ) -> dict[str, Affine]:
        """Every loop, past and present, as an index over the variables of the present ones."""
        found = dict(loops)
        for relation in reversed(self.relations):
            if isinstance(relation, Split):
                total = Affine()
                for child in relation.children:
                    total = total * extents[child] + found[child]
                found[relation.parent] = simplify_div_mod(total)
                continue
            rest = found[relation.child]
            # the outermost that runs at all takes the rest: within the guards it is in range
            outermost = next(
                (p for p in relation.parents if extents[p] > 1), next(iter(relation.parents), None)
            )
            for parent in reversed(relation.parents):
                if parent == outermost:
                    found[parent], rest = rest, Affine()
                    continue
                rest, found[parent] = divided(rest, extents[parent], bounds)
        return found
