"""The schedule step `tensorize`: proved by structure, printed, verified, replayed, interpreted."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.expressions.expr import cast
from tilewright_tensor.ir.dag import Dag, compute, placeholder, reduce_axis, reduce_sum
from tilewright_tensor.ir.instruction_match import instruction_operands
from tilewright_tensor.ir.loop_ir import Tensorized, walk
from tilewright_tensor.ir.tensor_instruction import TensorInstruction
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.lowering.verify import verify
from tilewright_tensor.schedule.schedule import Schedule

ROWS, COLUMNS, TERMS = 3, 32, 6


def dot_product(lanes=16, terms=2):
    a, b = placeholder("a", (terms,), "bfloat16"), placeholder("b", (lanes, terms), "bfloat16")
    k = reduce_axis(terms, "k")
    meaning = compute(
        "c", (lanes,), lambda i: reduce_sum(cast(a[k], "float32") * cast(b[i, k], "float32"), k)
    )
    strides = {"a": (1,), "b": (terms, 1), "c": (1,)}
    return TensorInstruction(f"dot.{lanes}", "x86", meaning, strides, "register", "dots")


def dense(terms=TERMS, columns=COLUMNS, *, swapped=False, dtype="bfloat16"):
    data = placeholder("data", (ROWS, terms), dtype)
    weight = placeholder("weight", (columns, terms), dtype)
    k = reduce_axis(terms, "k")

    def term(n, o):
        factors = cast(data[n, k], "float32"), cast(weight[o, k], "float32")
        return factors[1] * factors[0] if swapped else factors[0] * factors[1]

    out = compute("dense", (ROWS, columns), lambda n, o: reduce_sum(term(n, o), k))
    return Dag([out], [data, weight])


def scheduled(dag, instruction, layout="OI16o2i", *, order=None, overhang=False):
    s = Schedule.of(dag).transform_layout("weight", layout)
    s = s.cache_write("dense", "register")
    n, o = s.loops("dense")
    s = s.split("dense", o, [16]).unroll("dense", n).vectorize("dense", f"{o}.1")
    s = s.reorder("dense", [f"{o}.0", n, f"{o}.1"])
    s = s.compute_at("dense.register", "dense", f"{o}.0", "register")
    n, o, k = s.loops("dense.register")
    s = s.split("dense.register", o, [16]).split("dense.register", k, [2])
    if overhang:
        s = s.overhang("dense.register", k)
    inside = order or [f"{o}.1", f"{k}.1"]
    s = s.reorder("dense.register", [f"{k}.0", n, f"{o}.0", *inside])
    s = s.unroll("dense.register", n, f"{o}.0").vectorize("dense.register", f"{o}.1")
    return s.tensorize("dense.register", inside[0], instruction)


def drawn(*shape):
    return np.random.default_rng(3).standard_normal(shape).astype(ml_dtypes.bfloat16)


def test_the_nest_is_replaced_and_computes_the_same():
    schedule = scheduled(dense(), dot_product())
    program = lower(schedule, "dense")
    assert verify(program) == []
    assert "dot.16:" in str(program)
    data, weight = drawn(ROWS, TERMS), drawn(COLUMNS, TERMS)
    (answer,) = interpret(program, [data, Layout.parse("OI16o2i").pack(weight)])
    expected = data.astype(np.float32) @ weight.astype(np.float32).T
    np.testing.assert_allclose(answer, expected, rtol=1e-5, atol=1e-6)


def test_its_steps_replay_by_the_instructions_name():
    instruction = dot_product()
    schedule = scheduled(dense(), instruction)
    again = Schedule.replay(schedule.dag, schedule.steps, {instruction.name: instruction})
    assert str(lower(again, "dense")) == str(lower(schedule, "dense"))
    with pytest.raises(TypeError, match=r"TensorInstruction.*'dot.16'"):
        Schedule.replay(schedule.dag, schedule.steps)


def test_an_extent_that_does_not_fit_is_refused_when_scheduled():
    with pytest.raises(ValueError, match=r"run 16, \+2 times, dot.8 wants 8, \+2"):
        scheduled(dense(), dot_product(8))


def test_a_wrong_loop_order_is_refused_when_scheduled():
    with pytest.raises(ValueError, match=r"run \+2, 16 times, dot.16 wants 16, \+2"):
        scheduled(dense(), dot_product(), order=["k.1", "o.1"])


@pytest.mark.parametrize(
    ("dag", "layout", "reason"),
    [
        (dense(), "OI2i16o", r"along axis 0 of operand b lie 1 elements apart, expected 2"),
        (dense(dtype="float16"), "OI16o2i", r"operand a is .*float16, expected bfloat16"),
        (dense(terms=5), "OI16o2i", r"does not hold for all of it.*overhang"),
    ],
    ids=["format", "dtype", "tail"],
)
def test_what_is_not_the_instruction_is_refused(dag, layout, reason):
    with pytest.raises(ValueError, match=reason):
        lower(scheduled(dag, dot_product(), layout), "dense")


def test_factors_may_be_in_either_order():
    data, weight = drawn(ROWS, TERMS), drawn(COLUMNS, TERMS)
    operands = [data, Layout.parse("OI16o2i").pack(weight)]
    programs = [
        lower(scheduled(dense(swapped=swapped), dot_product()), "dense")
        for swapped in (False, True)
    ]
    plain, swapped = (
        next(instruction_operands(one) for one in walk(program.body) if isinstance(one, Tensorized))
        for program in programs
    )
    assert plain["a"].buffer.name == swapped["a"].buffer.name == "data"
    assert plain["b"].strides == swapped["b"].strides == (2, 1)
    np.testing.assert_array_equal(
        interpret(programs[0], operands)[0], interpret(programs[1], operands)[0]
    )


def test_a_result_in_another_scope_is_refused():
    instruction = dot_product()
    tile = replace(instruction, scope="local")
    with pytest.raises(ValueError, match="is register, expected local"):
        lower(scheduled(dense(), tile), "dense")


def test_odd_sums_overhang_where_formats_are_padded():
    terms = 5
    schedule = scheduled(dense(terms), dot_product(), overhang=True).transform_layout(
        "data", "NC2c"
    )
    program = lower(schedule, "dense")
    assert verify(program) == []
    assert any(isinstance(one, Tensorized) for one in walk(program.body))
    data, weight = drawn(ROWS, terms), drawn(COLUMNS, terms)
    operands = [Layout.parse("NC2c").pack(data), Layout.parse("OI16o2i").pack(weight)]
    (answer,) = interpret(program, operands)
    expected = data.astype(np.float32) @ weight.astype(np.float32).T
    np.testing.assert_allclose(answer, expected, rtol=1e-5, atol=1e-6)


def test_an_odd_number_of_groups_may_be_unrolled():
    """The guard of the last steps keeps them inside of what is padded."""
    s = scheduled(dense(5), dot_product(), overhang=True).transform_layout("data", "NC2c")
    (outer, *_) = s.loops("dense.register")
    s = s.split("dense.register", outer, [2]).unroll("dense.register", f"{outer}.1")
    data, weight = drawn(ROWS, 5), drawn(COLUMNS, 5)
    operands = [Layout.parse("NC2c").pack(data), Layout.parse("OI16o2i").pack(weight)]
    (answer,) = interpret(lower(s, "dense"), operands)
    expected = data.astype(np.float32) @ weight.astype(np.float32).T
    np.testing.assert_allclose(answer, expected, rtol=1e-5, atol=1e-6)


def test_an_overhang_that_reads_beyond_an_operand_is_refused():
    with pytest.raises(ValueError, match=r"overhang of dense.register.*data.*format in blocks"):
        lower(scheduled(dense(5), dot_product(), overhang=True), "dense")
