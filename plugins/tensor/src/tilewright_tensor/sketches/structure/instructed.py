"""Which stages a tensor instruction computes: sums of products, by one that adds dot products."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations, product

from tilewright_tensor.expressions.affine import Var
from tilewright_tensor.expressions.dtype import is_float
from tilewright_tensor.expressions.expr import Const, Op, Read, Value
from tilewright_tensor.expressions.tensor import Axis
from tilewright_tensor.ir.tensor_instruction import TensorInstruction
from tilewright_tensor.schedule.compute_stage import ComputeStage
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.access import readers, reads
from tilewright_tensor.sketches.structure.sketch_input import SketchInput


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor of the products.

    read    what is read
    dtype   that the instruction takes it in
    place   which index is that of the terms
    source  name of what decides how it lies: itself, or the placeholder that it is a copy of, as
            an image with its margin is
    """

    read: Read
    dtype: str
    place: int
    source: str

    @property
    def name(self) -> str:
        """Of the tensor."""
        return self.read.tensor.name

    @property
    def rank(self) -> int:
        """Of the tensor."""
        return len(self.read.indices)


@dataclass(frozen=True, slots=True)
class Instructed:
    """A stage whose innermost loops are an instruction that adds dot products to lanes.

    lanes   number of the stage's axis along which the lanes lie
    terms   the reduce axis of which neighbours are the terms of a dot product
    shared  the factor that all lanes have in common
    rows    the factor of which every lane has its own
    """

    instruction: TensorInstruction
    lanes: int
    terms: Axis
    shared: Factor
    rows: Factor

    @property
    def width(self) -> int:
        """How many lanes there are."""
        return self.instruction.meaning.axes[0].extent

    @property
    def group(self) -> int:
        """How many terms a dot product has."""
        return self.instruction.meaning.reduce_axes[0].extent


def instructed(problem: SketchInput, schedule: Schedule, stage: ComputeStage) -> Instructed | None:
    """The stage as an instruction of the target computes it, None where none does.

    Where several axes serve, lanes lie along rows of a constant, which are packed once; then along
    the axis that fills them best, the last one of equals, and no wider than it has to be.
    """
    axes = [number for number, axis in enumerate(stage.axes) if axis.extent > 1]
    found = [
        one
        for instruction in problem.limits.instructions
        if _adds_dot_products(instruction)
        for lanes, terms in product(axes, stage.reduce_axes)
        if (one := _matched(schedule, stage, instruction, lanes, terms))
        and _can_lie(problem, schedule, stage, one)
    ]

    def rank(one: Instructed) -> tuple[bool, int, int, int]:
        filled = min(stage.axes[one.lanes].extent, one.width)
        return one.rows.name in problem.constants, filled, one.lanes, -one.width

    return max(found, key=rank, default=None)


def _adds_dot_products(instruction: TensorInstruction) -> bool:
    """Whether its result is a vector, each lane with a sum of its own products."""
    meaning = instruction.meaning
    body = meaning.body
    return (
        len(meaning.axes) == len(meaning.reduce_axes) == 1
        and isinstance(body, Op)
        and body.name == "mul"
        and sorted(len(read.indices) for read in meaning.reads) == [1, 2]
    )


def _matched(
    schedule: Schedule, stage: ComputeStage, instruction: TensorInstruction, lanes: int, terms: Axis
) -> Instructed | None:
    """The stage with two of its axes as those of the instruction, its factors in either order."""
    meaning, body = instruction.meaning, stage.body
    if not isinstance(body, Op) or (body.name, body.dtype) != ("mul", meaning.dtype):
        return None
    if (stage.combiner, stage.dtype) != (meaning.combiner, meaning.dtype):
        return None
    plays = {meaning.axes[0].var: stage.axes[lanes].var, meaning.reduce_axes[0].var: terms.var}
    shared, rows = sorted(meaning.reads, key=lambda read: len(read.indices))
    for first, second in permutations(body.args):
        left = _factor(schedule, shared, first, plays, terms)
        right = _factor(schedule, rows, second, plays, terms)
        if left and right:
            return Instructed(instruction, lanes, terms, left, right)
    return None


def _factor(
    schedule: Schedule, operand: Read, value: Value, plays: Mapping[Var, Var], terms: Axis
) -> Factor | None:
    """A value as an operand of the instruction; None where it is not read by its axes, plainly.

    It may be rounded to the operand's data type, so that it has to be a float.
    """
    if not isinstance(value, Read) or not is_float(value.tensor.dtype):
        return None
    wanted = {plays[var].affine() for index in operand.indices for var in index.variables()}
    moving = [one for one in value.indices if not one.variables().isdisjoint(plays.values())]
    if len(moving) != len(wanted) or set(moving) != wanted:
        return None
    place = value.indices.index(terms.affine())
    return Factor(value, operand.tensor.dtype, place, _source(schedule, value.tensor.name, place))


def _source(schedule: Schedule, name: str, place: int) -> str:
    """The placeholder of which a stage is a copy, terms in their places; else the name itself."""
    stage = schedule.stages.get(name)
    if stage is None or stage.combiner is not None:
        return name
    read = stage.body
    if isinstance(read, Op) and read.name == "select" and read.args[2] == Const(0.0, stage.dtype):
        read = read.args[1]
    if not isinstance(read, Read) or read.tensor.name in schedule.stages:
        return name
    same = len(read.indices) == len(stage.axes)
    return read.tensor.name if same and read.indices[place] == stage.axes[place].affine() else name


def _can_lie(
    problem: SketchInput, schedule: Schedule, stage: ComputeStage, one: Instructed
) -> bool:
    """Whether both factors can lie as the instruction reads them.

    What a stage computes has no room for terms beyond the end; and where others read it, or read a
    constant, they may want it otherwise.
    """
    sources = {one.shared.source, one.rows.source}
    constants = sources & problem.constants.keys()
    if len(sources) < 2 or any(len(readers(schedule, name)) > 1 for name in constants):
        return False
    for factor in (one.shared, one.rows):
        made = schedule.stages.get(factor.name)
        if made is None:
            continue
        if readers(schedule, made.name) != (stage.name,) or not reads(made):
            return False
        if factor.source == made.name and one.terms.extent % one.group:
            return False
        if made.combiner is not None and instructed(problem, schedule, made) is None:
            return False
    return True
