"""Which sketches the rules derive, what their points are, and that each means what its DAG means."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from math import prod

import pytest

from tilewright.space.config_space import ConfigSpace
from tilewright.vocabulary.workload import Workload
from tilewright_tensor.expressions.expr import tanh
from tilewright_tensor.ir.dag import Dag, compute, placeholder, reduce_axis, reduce_sum
from tilewright_tensor.ir.loop_ir import LoopProgram
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.rules import RULES, Rule, State, derive
from tilewright_tensor.sketches.structure.sketch_input import Limits, SketchInput

LIMITS = Limits(lanes=4, registers=16, cache_bytes=1 << 16, threads=1)
CASES = """
matmul(7x13, 13x17) + relu()
matmul(2x5x6, 2x6x11)
dense(3x7, 13x7) + add(1x13:const) + tanh()
dense(3x7, 13x7) + tanh() + add(1x13:const)
conv2d(1x8x7x7, 5x8x3x3, padding=1) + relu()
conv2d(1x4x5x5, 4x1x3x3, padding=1, strides=2, groups=4)
conv1d(1x3x17, 5x3x3, padding=1)
max_pool2d(1x4x7x7, pool_size=3, strides=2, padding=1)
avg_pool2d(1x3x5x5, pool_size=2)
softmax(3x13)
softmax(2x3x5, axis=1)
layer_norm(3x17, 17, 17)
reduce_mean(3x17)
transpose(2x3x5, axes=[2,0,1])
""".strip().splitlines()


@pytest.fixture
def problem(
    operators: Operators, workload: Callable[[str], Workload]
) -> Callable[[str], SketchInput]:
    """The problem of a text form."""

    def make(text: str) -> SketchInput:
        parsed = workload(text)
        dag = operators.compute_dag(parsed)
        anchor = operators.find(parsed.operator)
        constants = {}
        for number, spec in enumerate(parsed.inputs):
            if spec.role == "constant":
                own = anchor.operand(number).letters if number < len(anchor.operands) else ""
                constants[dag.inputs[number].name] = own or Layout.logical(len(spec.shape)).letters
        return SketchInput(dag, constants, LIMITS)

    return make


def test_matmul_with_relu_has_ansors_three_sketches(problem: Callable[[str], SketchInput]) -> None:
    sketches = {sketch.name: sketch for sketch in derive(problem("matmul(64x64, 64x64) + relu()"))}
    assert set(sketches) == {"fused-1", "fused-2", "tiled"}
    place = {name: _matmul(sketches[name]) for name in sketches}
    assert place["fused-1"].attach == ("relu", "n.0@c.0"), "after the first spatial level"
    assert place["fused-2"].attach == ("relu", "n.1"), "after the second"
    assert place["tiled"].attach is None, "relu is a nest of its own"


def _matmul(sketch):
    space = ConfigSpace([sketch.alternative("derived")])
    return sketch.scheduled(space.first().values).stages["matmul"]


def test_rows_from_beyond_the_cache_are_fetched_a_tile_ahead_once_each(
    problem: Callable[[str], SketchInput],
) -> None:
    small, large = (
        next(s for s in derive(problem(text)) if s.name == "fused-2")
        for text in ("matmul(64x96, 96x64) + relu()", "matmul(512x96, 96x64) + relu()")
    )
    assert "a.prefetch" not in ConfigSpace([small.alternative("derived")]).first().values
    space = ConfigSpace([large.alternative("derived")])
    for point in space.sample(random.Random(0), 20):
        tile, unroll = point.values["tile_n"], point.values["unroll"]
        text = str(lower(large.scheduled(point.values), "kernel"))
        if point.values["a.prefetch"] == "no":
            assert "prefetch" not in text
            continue
        assert tile[1] > 1 and point.values["order"] == "vectors outside"
        (first, *_) = (line.strip() for line in text.splitlines() if "prefetch" in line)
        step, ahead = tile[-1] * unroll, 4 * tile[-1] * 96
        scale = "" if step == 1 else f"*{step}"
        loop = "matmul.k.0" if unroll > 1 else "matmul.k"
        assert first.startswith("prefetch a[") and f", {loop}{scale}] + {ahead} bytes" in first


@pytest.mark.parametrize(("dtype", "item"), [("float16", 4), ("float32", 4), ("float64", 8)])
def test_what_is_held_and_fetched_counts_in_bytes_of_the_accumulator(
    dtype: str, item: int, problem: Callable[[str], SketchInput]
) -> None:
    """Rows that pass the cache by, whole lines of what is fetched, tiles and copies that fit."""
    text = f"dense(256x96:{dtype}, 64x96:{dtype}:const) + relu()"
    sketches = {sketch.name: sketch for sketch in derive(problem(text))}
    space = ConfigSpace([sketches["fused-2"].alternative("derived")])
    assert ("data.prefetch" in space.first().values) == (256 * 96 * item > 2 * LIMITS.cache_bytes)
    points = [p.values for p in space.sample(random.Random(0), 60)]
    ahead = [values for values in points if values["prefetch_bytes"]]
    for values in ahead:
        lowered = str(lower(sketches["fused-2"].scheduled(values), "kernel"))
        fetched = set(re.findall(r"prefetch weight.* \+ (\d+) bytes", lowered))
        assert len(fetched) in (0, -(-item * values["tile_o"][-1] // 64)), values
    tiled = ConfigSpace([sketches["fused-1"].alternative("derived")])
    for point in tiled.sample(random.Random(0), 60):
        held = prod(prod(point.values[name][1:]) for name in ("tile_n", "tile_o"))
        assert held * item <= LIMITS.cache_bytes


@pytest.mark.parametrize(
    ("dtype", "fits"), [("float16", True), ("float32", True), ("float64", False)]
)
def test_rows_stay_in_the_cache_by_their_bytes(
    dtype: str, fits: bool, problem: Callable[[str], SketchInput]
) -> None:
    spaces = [
        ConfigSpace([one.alternative("derived")])
        for one in derive(problem(f"softmax(3x10000:{dtype})"))
    ]
    points = [point for space in spaces for point in space.sample(random.Random(0), 60)]
    assert any(point.values.get("at") == "rows" for point in points) == fits


def test_a_large_operand_of_one_axis_has_no_rows_to_fetch() -> None:
    a, x, k = placeholder("a", (40_000, 8)), placeholder("x", (40_000,)), reduce_axis(40_000, "k")
    y = compute("y", (8,), lambda n: reduce_sum(a[k, n] * x[k], k), axes=("n",))
    for sketch in derive(SketchInput(Dag([y]), {}, LIMITS)):
        point = ConfigSpace([sketch.alternative("derived")]).first()
        assert not any(name.endswith(".prefetch") for name in point.values)


def test_sketches_by_operator(problem: Callable[[str], SketchInput]) -> None:
    tiled = {"tiled", "fused-1", "fused-2"}
    expected = {
        "matmul(64x64, 64x64)": tiled,
        "conv2d(1x8x7x7, 8x8x3x3, padding=1) + relu()": tiled,
        "matmul(3x512, 512x1)": tiled | {"rfactor", "rfactor-parts"},
        "softmax(64x64)": {"rfactor"},
        "softmax(1x64)": {"rfactor", "rfactor-parts"},
        "max_pool2d(1x4x7x7, pool_size=2)": {"nest"},
        "relu(3x5)": {"nest"},
    }
    found = {text: {s.name for s in derive(problem(text))} for text in expected}
    assert found == expected


@pytest.mark.parametrize("text", CASES)
def test_points_of_every_sketch_mean_what_the_dag_means(
    text: str, problem: Callable[[str], SketchInput], checked: Callable[[Schedule], LoopProgram]
) -> None:
    made = problem(text)
    for sketch in derive(made):
        space = ConfigSpace([sketch.alternative("derived")])
        points = space.sample(random.Random(text), 2)
        assert points, sketch.name
        for config in points:
            checked(sketch.scheduled(config.values))


def test_products_of_one_definition_have_knobs_of_their_own(
    checked: Callable[[Schedule], LoopProgram],
) -> None:
    """Both have rows `i`; the columns of one are called as what the other sums over."""
    a, b, c = placeholder("a", (5, 7)), placeholder("b", (7, 9)), placeholder("c", (9, 3))
    k, m = reduce_axis(7, "j"), reduce_axis(9, "m")
    first = compute("first", (5, 9), lambda i, n: reduce_sum(a[i, k] * b[k, n], k))
    second = compute("second", (5, 3), lambda i, j: reduce_sum(first[i, m] * c[m, j], m))
    made = SketchInput(Dag([second], inputs=[a, b, c]), {}, LIMITS)
    for sketch in derive(made):
        space = ConfigSpace([sketch.alternative("derived")])
        (config, *_) = points = space.sample(random.Random(0), 3)
        assert {"tile_i", "tile_j", "first.tile_i", "first.tile_n"} <= config.values.keys()
        for point in points:
            checked(sketch.scheduled(point.values))


def test_what_lies_between_two_products_is_stored_by_the_first(
    checked: Callable[[Schedule], LoopProgram],
) -> None:
    """The second one does not plan it as well."""
    a, b, c = placeholder("a", (5, 7)), placeholder("b", (7, 9)), placeholder("c", (9, 3))
    k, m = reduce_axis(7, "k"), reduce_axis(9, "m")
    first = compute("first", (5, 9), lambda i, n: reduce_sum(a[i, k] * b[k, n], k))
    between = compute("between", (5, 9), lambda i, n: tanh(first[i, n]))
    second = compute("second", (5, 3), lambda i, j: reduce_sum(between[i, m] * c[m, j], m))
    made = SketchInput(Dag([second], inputs=[a, b, c]), {}, LIMITS)
    for sketch in derive(made):
        for point in ConfigSpace([sketch.alternative("derived")]).sample(random.Random(0), 3):
            checked(sketch.scheduled(point.values))


def test_register_tiles_fit_the_registers(problem: Callable[[str], SketchInput]) -> None:
    made = problem("conv2d(1x16x14x14, 32x16x3x3, padding=1) + relu()")
    for sketch in derive(made):
        space = ConfigSpace([sketch.alternative("derived")])
        for config in space.sample(random.Random(0), 50):
            vectors = config["tile_oc"][-1] // LIMITS.lanes
            pixels = config["tile_oh"][-1] * config["tile_ow"][-1]
            assert vectors * pixels + vectors + 1 < LIMITS.registers


@pytest.mark.parametrize("columns", [3, 5, 17, 21, 49, 64])
def test_register_tiles_are_whole_vectors(
    columns: int, problem: Callable[[str], SketchInput]
) -> None:
    for sketch in derive(problem(f"matmul(16x8, 8x{columns})")):
        width = min(columns, LIMITS.lanes) if columns != 21 else 3
        for config in ConfigSpace([sketch.alternative("derived")]).sample(random.Random(0), 50):
            assert config["tile_c"][-1] % width == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("transpose(2x5x7x16, axes=[0,3,1,2]) + add(2x16x5x7)", "root"),
        ("softmax(64x64) + multiply(64x64)", "rows"),
    ],
)
def test_nests_are_advised_in_logical_layouts_and_by_rows_unless_these_are_no_vectors(
    text: str, expected: str, problem: Callable[[str], SketchInput]
) -> None:
    (sketch,) = derive(problem(text))
    points = ConfigSpace([sketch.alternative("derived")]).points()
    best = min(points, key=lambda config: sketch.cost(config.values))
    assert set(best["layouts"]) <= {"NCHW", "NC"}
    assert best["at"] == expected


def test_outer_tiles_feed_every_thread_where_they_can(
    problem: Callable[[str], SketchInput],
) -> None:
    limits = replace(LIMITS, threads=4)
    large = replace(problem("matmul(64x64, 64x64)"), limits=limits)
    for sketch in derive(large):
        for config in ConfigSpace([sketch.alternative("d")]).sample(random.Random(0), 20):
            assert prod(config[name][0] for name in ("tile_n", "tile_c")) >= limits.threads
    row = replace(problem("dense(1x64, 100x64) + add(1x100:const)"), limits=limits)
    for sketch in derive(row):
        for config in ConfigSpace([sketch.alternative("d")]).sample(random.Random(0), 20):
            assert config["tile_o"][0] >= limits.threads, "though no tile divides 100"
    small = replace(problem("matmul(1x3, 3x5)"), limits=limits)
    for sketch in derive(small):
        assert ConfigSpace([sketch.alternative("d")]).first() is not None


def test_outer_tiles_that_leave_a_thread_idle_are_not_advised(
    problem: Callable[[str], SketchInput],
) -> None:
    two = replace(problem("matmul(64x96, 96x96)"), limits=replace(LIMITS, threads=2))
    (sketch,) = (sketch for sketch in derive(two) if sketch.name == "fused-2")
    values = ConfigSpace([sketch.alternative("d")]).first().values
    thirds, halves = (
        sketch.cost({**values, "tile_n": (1, 16, 1, 4), "tile_c": (outer, inner, 1, 16)})
        for outer, inner in ((3, 2), (2, 3))
    )
    assert halves < thirds, "the second thread waits for the first one's second third"


@pytest.mark.parametrize(
    ("text", "matters"),
    [
        ("conv2d(1x32x14x14, 32x1x3x3, padding=1, groups=32)", True),
        ("conv2d(1x64x14x14, 32x64x3x3, padding=1)", False),
    ],
)
def test_padding_apart_is_dear_where_little_is_computed_of_it(
    text: str, matters: bool, problem: Callable[[str], SketchInput]
) -> None:
    (sketch,) = (sketch for sketch in derive(problem(text)) if sketch.name == "fused-2")
    values = ConfigSpace([sketch.alternative("d")]).first().values
    apart, by_tile = (sketch.cost({**values, "pad.at": at}) for at in ("root", "tile"))
    assert apart > by_tile
    assert (apart > by_tile + 0.1) == matters


def test_constants_lie_in_the_order_of_the_loops(problem: Callable[[str], SketchInput]) -> None:
    made = problem("conv2d(1x16x14x14, 32x16x3x3, padding=1)")
    (sketch,) = (sketch for sketch in derive(made) if sketch.name == "fused-2")
    space = ConfigSpace([sketch.alternative("derived")])
    values = {**space.first().values, "tile_oc": (2, 2, 1, 8), "tile_ic": (4, 4)}
    values |= {"tile_kh": (3, 1), "tile_kw": (1, 3)}
    assert sketch.layouts(values)["weight"].text == "OIH4iW8o"


def test_rules_of_a_target_come_before_the_shared_ones(
    problem: Callable[[str], SketchInput],
) -> None:
    (tile,) = (rule for rule in RULES if rule.name == "MultiLevelTiling")

    def reduces(_problem: SketchInput, state: State) -> bool:
        return state.schedule.stages[state.stage].combiner is not None

    never_fuse = Rule("NeverFuse", reduces, tile.apply)
    sketches = derive(problem("matmul(64x64, 64x64) + relu()"), [never_fuse])
    assert [sketch.name for sketch in sketches] == ["tiled"]
