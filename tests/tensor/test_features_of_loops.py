"""Loop features: by hand on small programs, against enumeration, and what they must not depend on."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import log2
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import TensorSpec, Workload
from tilewright_tensor.expressions.affine import Affine, Var
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.features.footprint import footprint, strides
from tilewright_tensor.features.loop_features import NAMES, loop_features, program_features
from tilewright_tensor.ir.dag import Dag, compute, placeholder, reduce_axis, reduce_sum
from tilewright_tensor.ir.loop_ir import LoopProgram
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.strategies.default_implementation import DefaultImplementation

CASES = (Path(__file__).parent / "operator_cases.txt").read_text().splitlines()
CACHES = ("2K", "16K", "128K", "1M", "8M", "64M")


def _matmul(rows: int, depth: int, columns: int, names: str = "abcijk") -> Schedule:
    left, right, out, i, j, k = names
    a, b = placeholder(left, (rows, depth)), placeholder(right, (depth, columns))
    inner = reduce_axis(depth, k)
    c = compute(
        out,
        (rows, columns),
        lambda y, x: reduce_sum(a[y, inner] * b[inner, x], inner),
        axes=[i, j],
    )
    return Schedule.of(Dag([c]))


def _row(program: LoopProgram) -> dict[str, float]:
    features = program_features([program])
    return dict(zip(features.names, features.rows[0].tolist(), strict=True))


def _count(row: dict[str, float], name: str) -> float:
    return round(2 ** row[name] - 1, 3)


@pytest.fixture(scope="module")
def small() -> dict[str, float]:
    """Features of for i in 2: for j in 4: c = 0; for k in 3: c += a*b."""
    return _row(lower(_matmul(2, 3, 4), "kernel"))


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("main.iterations", 24),
        ("main.operations.add", 24),
        ("main.operations.multiply", 24),
        ("main.operations.divide", 0),
        ("main.accesses.bytes", 24 * 4 * 4),
        ("main.depth", 3),
        ("main.written.reads", 1),
        ("main.written.writes", 1),
        ("main.written.unique_bytes", 2 * 4 * 4),
        ("main.written.loop_reuse", 1),
        ("main.written.reuse_iterations", 1),
        ("main.written.reuse_bytes", 3 * 64),
        ("main.written.reuse_count", 3),
        ("main.written.stride", 0),
        ("main.read0.unique_bytes", 2 * 3 * 4),
        ("main.read0.stride", 4),
        ("main.read0.reuse_iterations", 3),
        ("main.read0.reuse_count", 4),
        ("main.read1.unique_bytes", 3 * 4 * 4),
        ("main.read1.stride", 4 * 4),
        ("main.read1.reuse_iterations", 4 * 3),
        ("main.read1.reuse_count", 2),
        ("main.read2.bytes", 0),
        ("main.traffic.2K", 3 * 64),
        ("all.iterations", 24 + 8),
        ("program.stores", 2),
        ("program.parallel.work", 0),
    ],
)
def test_a_small_matmul_is_counted_as_by_hand(
    small: dict[str, float], name: str, count: float
) -> None:
    assert _count(small, name) == count


def test_annotations_are_told_with_their_extents() -> None:
    s = _matmul(8, 5, 48).split("c", "j", [3, 16]).parallel("c", "i")
    s = s.reorder("c", ["i", "j.0", "k", "j.1", "j.2"]).unroll("c", "j.1").vectorize("c", "j.2")
    row = _row(lower(s, "kernel"))
    assert _count(row, "main.parallel.extent") == 8
    assert _count(row, "main.parallel.inside") == 5 * 48
    assert _count(row, "main.unrolled.innermost") == 3
    assert _count(row, "main.vectorized.extent") == 16
    assert _count(row, "main.vectorized.inside") == 1
    assert _count(row, "program.forks") == 1
    # one scalar of a for all lanes, three vectors of b, three of c
    assert _count(row, "main.accesses.loads") == 8 * 5 * (1 + 3 + 3)


SHAPE = (6, 5, 64)
I, J, K = (Affine(((Var(name), 1),)) for name in "ijk")


@pytest.mark.parametrize(
    ("indices", "extents"),
    [
        ((I, J, K), {"i": 6, "j": 5, "k": 64}),
        ((I, Affine(), K), {"i": 3, "k": 16}),
        ((I, J, K * 16), {"i": 2, "j": 3, "k": 4}),
        ((Affine(), Affine(), I * 2 + K), {"i": 7, "k": 3}),
        ((Affine(), Affine(), I + K), {"i": 7, "k": 5}),
        ((Affine(), Affine(), I * 4 + K * 4), {"i": 3, "k": 4}),
        ((Affine(), Affine(), I * 16 + J), {"i": 3, "j": 5}),
        ((I // 5, I % 5, K), {"i": 30, "k": 16}),
        ((Affine(), Affine(), (I + 3) // 4), {"i": 8}),
        ((I, J, K), {"j": 5}),
    ],
)
def test_footprints_are_what_enumeration_gives(
    indices: tuple[Affine, ...], extents: dict[str, int]
) -> None:
    buffer = Buffer("x", SHAPE)
    names = list(extents)
    places = {
        sum(
            index.evaluate({Var(n): 0 for n in "ijk"} | {Var(n): v for n, v in point}) * step
            for index, step in zip(indices, (5 * 64, 64, 1), strict=True)
        )
        for values in product(*(range(extent) for extent in extents.values()))
        for point in [tuple(zip(names, values, strict=True))]
    }
    found = footprint(strides(buffer, indices), extents, 16)
    assert found.elements == len(places)
    assert found.lines == len({place // 16 for place in places})


def test_names_do_not_matter() -> None:
    one = program_features([lower(_matmul(7, 11, 13, "abcijk"), "kernel")])
    other = program_features([lower(_matmul(7, 11, 13, "zyxwvu"), "another")])
    np.testing.assert_array_equal(one.rows, other.rows)


def test_a_larger_cache_sees_no_more_traffic() -> None:
    row = _row(lower(_matmul(67, 131, 97), "kernel"))
    traffic = [row[f"all.traffic.{size}"] for size in CACHES]
    intensity = [row[f"all.intensity.{size}"] for size in CACHES]
    assert traffic == sorted(traffic, reverse=True)
    assert intensity == sorted(intensity)
    assert traffic[0] > traffic[-1]


def test_tiles_that_fit_a_cache_have_less_traffic_through_it() -> None:
    plain = _matmul(128, 128, 128)
    tiled = plain.split("c", "i", [16]).split("c", "j", [16]).split("c", "k", [16])
    tiled = tiled.reorder("c", ["i.0", "j.0", "k.0", "i.1", "j.1", "k.1"])
    before, after = _row(lower(plain, "plain")), _row(lower(tiled, "tiled"))
    assert _count(after, "main.traffic.16K") < _count(before, "main.traffic.16K") / 4
    assert after["main.operations.add"] == before["main.operations.add"]


def test_every_operator_has_the_same_columns_and_finite_numbers(
    operators: Operators, workload: Callable[[str], Workload]
) -> None:
    default = DefaultImplementation(operators, "default")
    tasks = [Task(workload(text), Target("paper")) for text in CASES]
    features = program_features([default.lower(task, ConfigEntity("default")) for task in tasks])
    assert features.names == NAMES
    assert len(set(NAMES)) == len(NAMES)
    assert features.rows.shape == (len(CASES), len(NAMES))
    assert np.isfinite(features.rows).all()


TASK = Task(Workload("matmul", (TensorSpec((2, 3)), TensorSpec((3, 4)))), Target("paper"))


def _refuse(_task: Task, _config: ConfigEntity) -> LoopProgram:
    raise ValueError("no such schedule")


def test_a_config_that_cannot_be_lowered_has_a_row_of_zeros() -> None:
    features = loop_features(TASK, [ConfigEntity("s", {})], SimpleNamespace(lower=_refuse))
    assert features is not None
    assert not features.rows.any()


def test_programs_of_another_kind_are_left_to_others() -> None:
    host = SimpleNamespace(lower=lambda _task, _config: "some other program")
    assert loop_features(TASK, [ConfigEntity("s", {})], host) is None


def test_logarithms_are_of_one_more() -> None:
    features = program_features([lower(_matmul(2, 3, 4), "kernel")])
    place = features.names.index("main.iterations")
    assert features.rows[0, place] == pytest.approx(log2(25))
