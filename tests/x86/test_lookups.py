"""Indexes found in memory: right, and never outside of an operand, whatever memory holds."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from guarded_operands import guarded

from tilewright.vocabulary.target import Target
from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.expressions.expr import as_value, cast, ge, logical_and, lt, select
from tilewright_tensor.expressions.lookup import lookup
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import Dag, compute, placeholder, reduce_axis, reduce_sum
from tilewright_tensor.ir.loop_ir import LoopProgram
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.lowering.verify import verify
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_x86.backend import X86Backend


def _random_definition(chance: random.Random) -> Dag:
    """Rows and columns of a table by index, inside a margin, summed or not, indexes of indexes."""
    rows, columns, count, margin = (chance.choice([1, 2, 5, 8, 17, 33]) for _ in range(4))
    margin = min(margin, 5)
    table = placeholder("table", (rows, columns))
    places = placeholder("places", (count,), chance.choice(["int32", "int64", "int8", "uint8"]))
    kind = chance.randrange(5)

    def inside(j: Any, value: Any) -> Any:
        held = logical_and(ge(j, margin), lt(j, count + margin))
        return select(held, value, -1.0) if kind != 4 else value

    def element(i: Any, j: Any) -> Any:
        at = j - margin if kind != 4 else j
        found = lookup(places[at], columns)
        if kind == 1:
            return inside(j, table[lookup(places[at], rows), i])
        if kind == 2:
            return inside(j, table[i, lookup(places[lookup(places[at], count)], columns)])
        if kind == 3:
            k = reduce_axis(3, "k")
            return reduce_sum(inside(j, table[i, found] * table[(i + k) % rows, found // 2]), k)
        return inside(j, table[i, found])

    width = count if kind == 4 else count + 2 * margin
    shape = (columns if kind == 1 else rows, width)
    result: Tensor = compute("taken", shape, element, axes=("i", "j"))
    return Dag([result], [table, places])


def _random_program(chance: random.Random) -> LoopProgram:
    dag = _random_definition(chance)
    s = Schedule.of(dag)
    i, j, *terms = s.loops("taken")
    s = s.split("taken", j, [chance.choice([1, 3, 4, 8, 16])])
    order = (
        [i, f"{j}.0", *terms, f"{j}.1"]
        if chance.random() < 0.7
        else [f"{j}.0", i, *terms, f"{j}.1"]
    )
    s = s.reorder("taken", order)
    s = chance.choice([s.vectorize, s.vectorize, s.unroll])("taken", f"{j}.1")
    if chance.random() < 0.5:
        s = s.parallel("taken", order[0])
    return lower(s, "taken")


@pytest.mark.parametrize("seed", range(30))
def test_what_is_found_in_memory_is_right_and_in_bounds(seed: int, isa: str) -> None:
    chance = random.Random(seed)
    _check(_random_program(chance), isa, seed)


@pytest.mark.parametrize("lanes", [1, 5, 16])
@pytest.mark.parametrize("how", ["vectorize", "unroll"])
def test_an_index_that_is_a_value_is_looked_up_only_where_it_is_wanted(
    lanes: int, how: str, isa: str
) -> None:
    table, places = placeholder("table", (7,)), placeholder("places", (37,), "int32")

    def element(i: Any) -> Any:
        following = as_value(lookup(places[i + 1], 7))
        return select(lt(i, 36), cast(following, "float32") + table[lookup(places[i], 7)], -1.0)

    s = Schedule.of(Dag([compute("taken", (37,), element, axes=("i",))], [table, places]))
    s = s.split("taken", "i", [lanes])
    s = s.vectorize("taken", "i.1") if how == "vectorize" else s.unroll("taken", "i.1")
    _check(lower(s, "taken"), isa, 0)


def test_an_unsigned_place_beyond_all_signed_ones_is_the_last(isa: str) -> None:
    table, places = placeholder("table", (7,)), placeholder("places", (5,), "uint64")
    taken = compute("taken", (5,), lambda i: table[lookup(places[i], 7)])
    program = lower(Schedule.of(Dag([taken], [table, places])), "taken")
    data = np.arange(7, dtype="float32")
    found = np.array([0, 6, 7, 2**63, 2**64 - 1], "uint64")
    (interpreted,) = interpret(program, [data, found])
    backend = X86Backend()
    kernel = backend.load(
        backend.build(program, Target("x86", {"isa": isa, "threads": "1"})), backend.probe()[0]
    )
    kernel.bind([data, found, np.zeros(5, "float32")], {})
    kernel.launch()
    for answer in (interpreted, kernel.read(2)):
        np.testing.assert_array_equal(answer, [0, 6, 6, 6, 6])
    kernel.close()


def _check(program: LoopProgram, isa: str, seed: int) -> None:
    """As interpreted, with nothing to read or write beside the operands."""
    assert verify(program) == []
    numbers = np.random.default_rng(seed)
    table, places = program.inputs
    least = 0 if places.dtype.startswith("u") else -100
    inputs = [
        numbers.uniform(-1, 1, table.shape).astype(table.dtype),
        numbers.integers(least, 100, places.shape).astype(places.dtype),
    ]
    (expected,) = interpret(program, inputs)
    backend = X86Backend()
    kernel = backend.load(
        backend.build(program, Target("x86", {"isa": isa, "threads": "1"})), backend.probe()[0]
    )
    poison = np.full(expected.shape, np.nan, expected.dtype)
    kernel.bind([*inputs, poison], {})
    for at_end in (False, True):
        kept = [guarded(array, at_end=at_end) for array in (*inputs, poison)]
        for column, (_, copy) in enumerate(kept):
            kernel.table[:, column] = copy.ctypes.data
        kernel.launch()
        np.testing.assert_allclose(kept[-1][1], expected, rtol=2e-6, atol=5e-6)
    kernel.close()


def test_a_program_with_lookups_can_be_printed(agree: Callable[..., None], isa: str) -> None:
    data, at = placeholder("data", (5, 9)), placeholder("at", (4,), "int64")
    taken = compute("taken", (5, 4), lambda i, j: data[i, lookup(at[j], 9)])
    program = lower(Schedule.of(Dag([taken], [data, at])), "taken")

    assert "data[taken.i, [min(max(at[taken.j], 0), 8)]]" in str(program)
    agree(program, isa)
