"""The convolution pattern: a register tile inside the consumer's tile, epilogue fused, blocked layouts."""

from __future__ import annotations

import json

import pytest

from tilewright_tensor.expressions.affine import FloorDiv, Mod
from tilewright_tensor.expressions.expr import (
    ge,
    indexes_in,
    leaves,
    logical_and,
    lt,
    maximum,
    select,
)
from tilewright_tensor.ir.dag import Dag, compute, placeholder, reduce_axis, reduce_sum
from tilewright_tensor.ir.loop_ir import Guard, Loop, Store, stores, walk
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.schedule.schedule import Schedule


def conv(c, hw, f, k, stride=1, n=1):
    p = k // 2
    out = (hw + 2 * p - k) // stride + 1
    data, w = placeholder("data", (n, c, hw, hw)), placeholder("w", (f, c, k, k))
    bias, residual = placeholder("bias", (1, f, 1, 1)), placeholder("residual", (n, f, out, out))
    pad = compute(
        "pad",
        (n, c, hw + 2 * p, hw + 2 * p),
        lambda n, c, y, x: select(
            logical_and(ge(y, p), lt(y, hw + p), ge(x, p), lt(x, hw + p)),
            data[n, c, y - p, x - p],
            0.0,
        ),
    )
    rc, ry, rx = reduce_axis(c, "rc"), reduce_axis(k, "ry"), reduce_axis(k, "rx")
    shape = (n, f, out, out)
    conv = compute(
        "conv",
        shape,
        lambda n, f, y, x: reduce_sum(
            pad[n, rc, y * stride + ry, x * stride + rx] * w[f, rc, ry, rx], rc, ry, rx
        ),
    )
    add = compute("add", shape, lambda n, f, y, x: conv[n, f, y, x] + bias[0, f, 0, 0])
    add2 = compute("add2", shape, lambda n, f, y, x: add[n, f, y, x] + residual[n, f, y, x])
    relu = compute("out", shape, lambda n, f, y, x: maximum(add2[n, f, y, x], 0.0))
    return Dag([relu], [data, w, bias, residual])


def tiled(dag, width, vectors, block=16, in_block=16):
    s = Schedule.of(dag)
    for name in ("data", "pad"):
        s = s.transform_layout(name, f"NCHW{in_block}c")
    for name in ("out", "residual"):
        s = s.transform_layout(name, f"NCHW{block}c")
    s = s.transform_layout("w", f"OIHW{in_block}i{block}o")
    s = s.split("pad", "c", [in_block]).reorder("pad", ["n", "c.0", "y", "x", "c.1"])
    s = s.fuse("pad", ["n", "c.0", "y"]).parallel("pad", "n@c.0@y").vectorize("pad", "c.1")
    s = s.inline("add").inline("add2")
    s = s.split("out", "f", [vectors, block]).split("out", "x", [width])
    s = s.reorder("out", ["n", "f.0", "y", "x.0", "x.1", "f.1", "f.2"]).fuse(
        "out", ["n", "f.0", "y"]
    )
    s = (
        s.parallel("out", "n@f.0@y")
        .unroll("out", "x.1")
        .unroll("out", "f.1")
        .vectorize("out", "f.2")
    )
    s = s.compute_at("conv", "out", "x.0", "register")
    s = s.split("conv", "f", [block]).split("conv", "rc", [in_block])
    s = s.reorder("conv", ["rc.0", "ry", "rx", "rc.1", "x", "f.0", "f.1"])
    return s.unroll("conv", "x").unroll("conv", "f.0").vectorize("conv", "f.1")


def indices(program):
    for store in stores(program.body):
        yield from store.indices
        yield from indexes_in(store.value)


@pytest.mark.parametrize(
    ("c", "hw", "f", "k", "stride", "width", "vectors"),
    [
        (32, 14, 64, 3, 1, 14, 2),
        (16, 12, 32, 1, 1, 6, 2),
        (16, 13, 32, 3, 2, 7, 2),
        (16, 10, 16, 3, 1, 4, 1),
    ],
)
def test_a_blocked_convolution_gives_the_answer(checked, c, hw, f, k, stride, width, vectors):
    checked(tiled(conv(c, hw, f, k, stride), width, vectors))


@pytest.mark.parametrize(
    ("c", "f", "vectors", "block", "in_block"), [(3, 24, 3, 8, 3), (6, 40, 2, 8, 2)]
)
def test_odd_blocks_give_the_answer(checked, c, f, vectors, block, in_block):
    checked(tiled(conv(c, 11, f, 3, 1, n=2), 5, vectors, block, in_block))


def test_the_56_pixel_layer_lowers_without_guards_and_divides_only_the_fused_loop():
    program = lower(tiled(conv(64, 56, 64, 3), 14, 2), "conv")
    assert not any(isinstance(s, Guard) for s in walk(program.body))
    divided = {
        str(atom.value)
        for index in indices(program)
        for atom, _ in index.terms
        if isinstance(atom, FloorDiv | Mod)
    }
    assert divided == {"pad.n@c.0@y", "out.n@f.0@y"}


def test_the_micro_kernel_is_the_nest_that_was_asked_for():
    program = lower(tiled(conv(64, 56, 64, 3), 14, 2), "conv")
    (update,) = (
        s
        for s in walk(program.body)
        if isinstance(s, Store) and s.buffer.name == "conv" and leaves(s.value)[1:]
    )
    loops = [
        s for s in walk(program.body) if isinstance(s, Loop) and s.var.name.startswith("conv.")
    ]
    assert [(loop.var.name, loop.extent, loop.kind) for loop in loops] == [
        ("conv.x.init", 14, "unrolled"),
        ("conv.f.0.init", 2, "unrolled"),
        ("conv.f.1.init", 16, "vectorized"),
        ("conv.rc.0", 4, "serial"),
        ("conv.ry", 3, "serial"),
        ("conv.rx", 3, "serial"),
        ("conv.rc.1", 16, "serial"),
        ("conv.x", 14, "unrolled"),
        ("conv.f.0", 2, "unrolled"),
        ("conv.f.1", 16, "vectorized"),
    ]
    assert update.buffer.scope == "register"
    assert update.buffer.shape == (1, 2, 1, 14, 16)
    assert [str(i) for i in update.indices] == ["0", "conv.f.0", "0", "conv.x", "conv.f.1"]


def test_steps_survive_json():
    schedule = tiled(conv(16, 8, 32, 3), 4, 2).prefetch("conv", "rx", "w", 1024)
    replayed = Schedule.replay(schedule.dag, json.loads(json.dumps(schedule.steps)))
    assert str(lower(replayed, "conv")) == str(lower(schedule, "conv"))
    assert "prefetch w[" in str(lower(schedule, "conv"))


def test_padding_can_be_inlined(checked):
    dag = conv(5, 7, 6, 3)
    checked(Schedule.of(dag).inline("pad").inline("add").inline("add2"))


def test_padding_can_be_computed_inside_a_tile(checked):
    s = tiled(conv(16, 14, 32, 3), 7, 2)
    program = checked(s.compute_at("pad", "conv", "rc.0"))
    assert next(s.buffer for s in walk(program.body) if getattr(s, "buffer", None) and s.buffer.name == "pad").shape == (
        1, 1, 3, 9, 16,
    )  # fmt: skip
