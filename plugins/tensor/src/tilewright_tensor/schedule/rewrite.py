"""Primitives that change what stages compute: inline, cache_read, cache_write, rfactor.

Each takes the stages of a schedule, producers before readers, and gives the new ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright_tensor.expressions.affine import Var, index
from tilewright_tensor.expressions.buffer import Scope
from tilewright_tensor.expressions.expr import (
    Op,
    Read,
    Value,
    logical_and,
    lt,
    map_value,
    substituted,
)
from tilewright_tensor.expressions.tensor import Axis, Tensor
from tilewright_tensor.schedule.compute_stage import ComputeStage, Split

Stages = Mapping[str, ComputeStage]


def inlined(stages: Stages, name: str) -> Stages:
    """Every reader computes the stage's element where it needs it; the stage is removed."""
    gone = stages[name]

    def leaf(value: Value) -> Value:
        if isinstance(value, Read) and value.tensor.name == name:
            point = zip((axis.var for axis in gone.axes), value.indices, strict=True)
            return substituted(gone.body, dict(point))
        return value

    return {
        key: stage.changed(body=map_value(stage.body, leaf)) if stage.reads(name) else stage
        for key, stage in stages.items()
        if key != name
    }


def with_cached_read(
    stages: Stages, tensor: Tensor, scope: Scope, readers: Sequence[str]
) -> Stages:
    """The readers read a copy of the tensor; the copy is a stage named `TENSOR.SCOPE`."""
    name = _free_name(stages, f"{tensor.name}.{scope}")
    axes = tuple(Axis(f"ax{d}", extent) for d, extent in enumerate(tensor.shape))
    if tensor.name in stages:
        axes = stages[tensor.name].axes
    copy = ComputeStage.of(
        Tensor(name, tensor.shape, tensor.dtype, axes, tensor[tuple(index(a) for a in axes)])
    )
    copy = copy.changed(scope=scope)
    result: dict[str, ComputeStage] = {} if tensor.name in stages else {name: copy}
    for key, stage in stages.items():
        result[key] = stage.with_reads(tensor.name, copy.tensor) if key in readers else stage
        if key == tensor.name:
            result[name] = copy
    return result


def with_cached_write(stages: Stages, name: str, scope: Scope) -> Stages:
    """The stage `NAME.SCOPE` takes over body and loops, and the stage only copies its result."""
    stage = stages[name]
    writer = stage.changed(name=_free_name(stages, f"{name}.{scope}"), scope=scope, attach=None)
    copy = ComputeStage.of(
        Tensor(
            name,
            stage.shape,
            stage.dtype,
            stage.axes,
            writer.tensor[tuple(index(a) for a in stage.axes)],
        )
    )
    result: dict[str, ComputeStage] = {}
    for key, one in stages.items():
        if key == name:
            result[writer.name] = writer
            result[name] = copy.changed(attach=stage.attach, scope=stage.scope)
        else:
            result[key] = one
    return result


def with_factored_reduction(stages: Stages, name: str, loop: str) -> Stages:
    """`NAME.rf` reduces over all loops but `loop`, which becomes its last axis.

    The stage reduces over that.
    """
    stage = stages[name]
    assert stage.combiner is not None
    extents, reductions = stage.full_extents(), stage.reductions()
    rest = tuple(
        Axis(one, extents[one]) for one in stage.loops if one in reductions and one != loop
    )
    factored = Axis(loop, extents[loop])
    bounds = {axis.var: (0, axis.extent - 1) for axis in (*rest, factored)}
    where = stage.indices(
        {one: index(Var(one)) for one in stage.loops},
        extents,
        {Var(one): (0, extents[one] - 1) for one in stage.loops},
    )
    body = substituted(stage.body, {axis.var: where[axis.name] for axis in stage.reduce_axes})
    beyond = [
        lt(where[relation.parent], extents[relation.parent])
        for relation in stage.relations
        if isinstance(relation, Split)
        and relation.parent in reductions
        and where[relation.parent].range(bounds)[1] >= extents[relation.parent]
    ]
    if beyond:
        body = Op(
            "select",
            (logical_and(*beyond), body, stage.combiner.identity(stage.dtype)),
            stage.dtype,
        )
    partial_name = _free_name(stages, f"{name}.rf")
    partial = ComputeStage.of(
        Tensor(
            partial_name, (*stage.shape, factored.extent), stage.dtype,
            (*stage.axes, factored), body,
            stage.combiner if rest else None, rest,
        )
    )  # fmt: skip
    spatial = [one for one in stage.loops if one not in reductions]
    final = stage.changed(
        body=partial.tensor[(*(index(a) for a in stage.axes), index(factored))],
        reduce_axes=(factored,),
        loops=(*spatial, loop),
        relations=tuple(
            r
            for r in stage.relations
            if reductions.isdisjoint((r.parent,) if isinstance(r, Split) else r.parents)
        ),
        kinds={one: kind for one, kind in stage.kinds.items() if one in spatial},
        prefetches=(),
    )
    result: dict[str, ComputeStage] = {}
    for key, one in stages.items():
        if key == name:
            result[partial_name] = partial
        result[key] = final if key == name else one
    return result


def _free_name(stages: Stages, wanted: str) -> str:
    name, count = wanted, 1
    while name in stages:
        count += 1
        name = f"{wanted}{count}"
    return name
