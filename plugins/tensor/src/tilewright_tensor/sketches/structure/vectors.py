"""Which axis vectors run along, and which memory layouts of images let them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

from tilewright_tensor.expressions.affine import Var
from tilewright_tensor.expressions.expr import Read
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule.compute_stage import ComputeStage
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.access import (
    has_division,
    needs_tiling,
    reads,
    reduction_size,
    stride,
)
from tilewright_tensor.sketches.structure.sketch_input import SketchInput

_IMAGE = 4
_CHANNELS = 1
_SCATTER_PAYS = 64
"""Terms of a sum from which on storing its vectors element by element costs little beside it."""
_MOST_APART = 2
"""So many images may each have a layout of their own: the choices are the product."""
_MANY = 8
"""So many vectors that a partly filled last one costs little."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vector axis of a stage and what memory may look like.

    axis      its number, None where nothing lies together
    width     lanes used
    images    names of the operands whose layouts are free; epilogue operands follow the output
    choices   layout texts of these, then of the output, for every combination worth trying
    """

    axis: int | None
    width: int
    images: tuple[str, ...]
    choices: tuple[tuple[str, ...], ...]


SCALAR = Vectors(None, 1, (), ((),))
"""No vectors, nothing known of layouts."""


def vectors_of(problem: SketchInput, schedule: Schedule, stage: ComputeStage) -> Vectors:
    """The best vector axis of a stage that computes the output or what the last stage stores.

    Channels first where they fill vectors as well as the last axis does; then the innermost axis
    along which every activation is read in order or as one value.
    """
    images = _free_images(problem, schedule, stage)
    lanes = problem.limits.lanes
    order = [d for d in reversed(range(len(stage.shape))) if stage.shape[d] > 1]
    if images and _CHANNELS in order:
        filled = [_filled(stage.shape[d], lanes) for d in (_CHANNELS, order[0])]
        order.remove(_CHANNELS)
        order.insert(0 if filled[0] >= filled[1] or not order else 1, _CHANNELS)
    logical = (*["NCHW"] * len(images), Layout.logical(len(problem.dag.outputs[0].shape)).text)
    found = {}
    for axis in order:
        aim = Vectors(axis, _width(stage.shape[axis], lanes), images, ())
        found[axis] = tuple(_good_choices(problem, schedule, stage, axis, aim))
        if found[axis] and stage.combiner:
            return replace(aim, choices=found[axis])
    # what does not reduce runs along its memory, and has to offer what its neighbours have
    every = dict.fromkeys((logical, *sum(found.values(), ())))
    return Vectors(None, 1, images, tuple(every))


def layouts_of(
    problem: SketchInput, schedule: Schedule, vectors: Vectors, choice: Iterable[str]
) -> dict[str, Layout]:
    """Layout of every tensor under a choice; those of the epilogue follow the output."""
    *images, output = choice
    found = {name: Layout.parse(text) for name, text in zip(vectors.images, images, strict=True)}
    final = problem.dag.outputs[0]
    found[final.name] = Layout.parse(output)
    for tensor in problem.dag.inputs:
        if tensor.name in found:
            continue
        logical = Layout.logical(len(tensor.shape))
        follows = len(tensor.shape) == len(final.shape) and found[final.name] != logical
        at_output = follows and schedule.stages[final.name].reads(tensor.name)
        fits = at_output and found[final.name].divides(tensor.shape)
        found[tensor.name] = found[final.name] if fits else logical
        if tensor.name in problem.constants:  # small: rounding them saves nothing
            found[tensor.name] = found[tensor.name].stored_as("")
    for name, stage in schedule.stages.items():
        if stage.shape == final.shape:
            found.setdefault(name, found[final.name].stored_as(""))
        if name not in found:
            sources = [
                found[r.tensor.name] for r in reads(stage) if r.tensor.name in vectors.images
            ]
            same_rank = [layout for layout in sources if layout.rank == len(stage.shape)]
            found[name] = same_rank[0] if same_rank else Layout.logical(len(stage.shape))
    return found


def is_broadcast(stage: ComputeStage, name: str, var: Var) -> bool:
    """Whether the stage reads a tensor without the variable."""
    return all(
        var not in one.variables()
        for read in reads(stage)
        if read.tensor.name == name
        for one in read.indices
    )


def _free_images(problem: SketchInput, schedule: Schedule, stage: ComputeStage) -> tuple[str, ...]:
    """Activations of rank 4 behind the stage, where it makes the image that is the output."""
    if len(stage.shape) != _IMAGE or stage.shape != problem.dag.outputs[0].shape:
        return ()
    behind = {read.tensor.name for read in reads(stage)}
    for name in tuple(behind):
        if name in schedule.stages:
            behind |= {read.tensor.name for read in reads(schedule.stages[name])}
    own = {t.name for t in problem.dag.inputs if t.name in behind}
    if stage.name == problem.output:
        # what is read element by element lies as the output does
        own -= {r.tensor.name for r in reads(stage) if r.tensor.shape == stage.shape}
    rank = {t.name: len(t.shape) for t in problem.dag.inputs}
    return tuple(n for n in problem.activations if n in own and rank[n] == _IMAGE)


def _good_choices(
    problem: SketchInput, schedule: Schedule, stage: ComputeStage, axis: int, aim: Vectors
) -> Iterable[tuple[str, ...]]:
    """Layouts in which all that is read and written lies together along the axis."""
    shapes = {t.name: t.shape for t in problem.dag.inputs}
    final = schedule.stages[problem.output]
    stores = final if final.shape == stage.shape else stage
    output = (
        _layouts(stage.shape, problem.limits.lanes)
        if aim.images or stage is final
        else [Layout.logical(len(final.shape)).text]
    )
    options = [_layouts(shapes[name], problem.limits.lanes) for name in aim.images]
    var = stage.axes[axis].var
    tiled = needs_tiling(stage)
    packable = {
        read.tensor.name
        for read in reads(stage)
        if read.tensor.name in problem.constants
        or (
            tiled and read.tensor.name in problem.activations and read.tensor.name not in aim.images
        )
    }
    wanted = [
        read
        for read in dict.fromkeys(reads(stage))
        if read.tensor.name not in packable or stage.combiner is None
    ]
    scatters = stage.combiner is not None and reduction_size(stage) >= _SCATTER_PAYS
    stored = stores.tensor[tuple(a.affine() for a in stores.axes)]
    stored_along = stores.axes[axis].var

    @cache  # the layout of one operand is part of many choices
    def is_good(number: int, text: str) -> bool:
        return _is_good(wanted[number], var, Layout.parse(text), aim.width)

    @cache
    def is_stored_together(text: str) -> bool:
        return stride(stored, stored_along, Layout.parse(text), aim.width) == 1

    for images, stored_as in product(_combined(options), output):
        choice = (*images, stored_as)
        layouts = layouts_of(problem, schedule, aim, choice)
        if (scatters or is_stored_together(layouts[stores.name].text)) and all(
            is_good(number, layouts[read.tensor.name].text) for number, read in enumerate(wanted)
        ):
            yield choice


def _combined(options: Sequence[Sequence[str]]) -> Iterable[tuple[str, ...]]:
    """Every combination of the layouts of two images; more than two are alike."""
    if len(options) <= _MOST_APART:
        return product(*options)
    shared = [text for text in options[0] if all(text in others for others in options)]
    return [(text,) * len(options) for text in shared]


def _is_good(read: Read, var: Var, layout: Layout, width: int) -> bool:
    blocked = any(block > 1 for block in layout.blocks)
    return stride(read, var, layout, width) in (0, 1, 2) and not (blocked and has_division(read))


def _layouts(shape: tuple[int, ...], lanes: int) -> list[str]:
    """Logical, channels-last, and channels in blocks of whole vectors."""
    rank = len(shape)
    if rank != _IMAGE:
        return [Layout.logical(rank).text]
    found = ["NCHW"]
    if shape[_CHANNELS] > 1:
        found.append("NHWC")
    width = _width(shape[_CHANNELS], lanes)
    if width < shape[_CHANNELS] or width == lanes:
        blocks = [width * n for n in (1, 2, 4) if shape[_CHANNELS] % (width * n) == 0]
        found += [f"NCHW{block}c" for block in blocks if block > 1]
    return found


def _width(extent: int, lanes: int) -> int:
    """Lanes that divide the axis, where at least half a vector does; else all of them."""
    if extent <= lanes:
        return extent
    if extent > _MANY * lanes:
        return lanes
    for width in range(lanes, lanes // 2 - 1, -1):
        if extent % width == 0:
            return width
    return lanes


def _filled(extent: int, lanes: int) -> float:
    return extent / (-(-extent // lanes) * lanes)
