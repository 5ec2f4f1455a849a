"""The rows of docs/numerics.md, each on x86, emulated CUDA and the interpreter."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright
from tilewright.host.plugin_host import PluginHost
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.counted_rows import counted_rows
from tilewright_graph.network.network import Network
from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.operators.operators import Operators

pytestmark = pytest.mark.needs("x86")

PAGE = Path(__file__).parents[2] / "docs/numerics.md"
NAN, INF = np.float32(np.nan), np.float32(np.inf)
TINY, LEAST = 2.0**-126, 2.0**-149
"""The least float32 that is no denormal number, and the least at all."""
FUNCTIONS = (
    "abs", "neg", "exp", "log", "sqrt", "sin", "cos", "tanh", "erf", "sigmoid", "gelu", "softplus",
    "silu", "mish", "gelu_tanh", "hard_swish", "leaky_relu", "elu", "hard_sigmoid", "relu", "floor", "ceil", "round", "sign",
)  # fmt: skip
LOSES_SMALL = {
    "exp": TINY, "sigmoid": TINY, "softplus": TINY, "elu": TINY,
    "silu": 90 * TINY, "mish": 90 * TINY, "gelu_tanh": 90 * TINY,
}  # fmt: skip
"""Below which results may be 0: a denormal number, or an operand times one."""
OTHERS = ("x86:isa=avx512", "x86:isa=avx2", "x86:isa=sse4", "cuda:arch=sm_90")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@dataclass(frozen=True)
class Case:
    """An operator on arrays, and what it has to give; `rtol` 0 asks for the very bits of a value."""

    operator: str
    arrays: tuple[Any, ...]
    expected: Any
    attributes: dict[str, Any]
    rtol: float = 0.0
    atol: float = 0.0


Row = Callable[[], Iterator[Case]]
ROWS: dict[str, Row] = {}


def row(name: str) -> Callable[[Row], Row]:
    def keep(function: Row) -> Row:
        ROWS[name] = function
        return function

    return keep


def case(
    operator: str, *arrays: Any, gives: Any, rtol: float = 0.0, atol: float = 0.0, **attributes: Any
) -> Case:
    return Case(operator, tuple(map(np.asarray, arrays)), np.asarray(gives), attributes, rtol, atol)


def floats(*values: float) -> Any:
    return np.array(values, np.float32)


def of_function(name: str, x: Any) -> Case:
    """Against numpy in float64; a result that may be lost to 0 may differ by what it may be."""
    reference = Operators.of(HOST)[name].reference()
    attributes = Operators.of(HOST)[name].normalise({})
    with np.errstate(all="ignore"):
        exact = np.asarray(reference([x.astype(np.float64)], attributes)).astype(np.float32)
    return case(name, x, gives=exact, rtol=2e-6, atol=LOSES_SMALL.get(name, LEAST * 2))


HOST = PluginHost.load()


@row("NaN in arithmetic and in functions")
def nan_in_functions():
    for name in FUNCTIONS:
        yield case(name, floats(NAN, 1)[:1], gives=floats(NAN))
    for name in ("add", "subtract", "multiply", "divide", "power"):
        yield case(name, floats(NAN, 2, NAN), floats(3, NAN, NAN), gives=floats(NAN, NAN, NAN))
    yield case("reduce_sum", floats(1, NAN, 2), gives=NAN, keepdims=False)


@row("NaN in a comparison")
def nan_in_comparisons():
    x, y = floats(NAN, NAN, 1, 2), floats(NAN, 1, NAN, 2)
    for name, of_equals in (("equal", True), ("less", False), ("less_equal", True)):
        yield case(name, x, y, gives=[False, False, False, of_equals])


@row(
    "NaN among the operands of `maximum`, `minimum`, `relu`, `clip`, `reduce_max`, `reduce_min` "
    "and `max_pool2d`"
)
def nan_in_extremes():
    x = np.arange(40, dtype=np.float32).reshape(1, 1, 5, 8)
    for place in (0, 3, 7):
        line = floats(*range(8))
        line[place] = NAN
        for name in ("reduce_max", "reduce_min"):
            yield case(name, line, gives=NAN, keepdims=False)
        for name, function in (("maximum", np.maximum), ("minimum", np.minimum)):
            yield case(name, line, floats(*[3] * 8), gives=function(line, 3))
            yield case(name, floats(*[3] * 8), line, gives=function(line, 3))
        yield case("relu", line, gives=np.maximum(line, 0))
        yield case("clip", line, gives=np.clip(line, 2, 5), min=2.0, max=5.0)
        image = x.copy()
        image[0, 0, place % 5, place] = NAN
        windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(2, 3))
        yield case("max_pool2d", image, gives=windows.max(axis=(4, 5)), pool_size=3, strides=1)


@row("NaN in `arg_max` and `arg_min`")
def nan_in_places():
    lines = np.array([[1, NAN, 3, NAN], [4, 2, 9, 9], [NAN] * 4, [0, -0.0, 0, 0]], np.float32)
    for name, function in (("arg_max", np.argmax), ("arg_min", np.argmin)):
        yield case(name, lines, gives=function(lines, 1), axis=1, keepdims=False)
        last = 3 - function(lines[:, ::-1], 1)
        yield case(name, lines, gives=last, axis=1, keepdims=False, last=True)


@row("NaN in `top_places`")
def nan_in_top_places():
    lines = np.array([[1, NAN, INF, -INF], [NAN] * 4, [2, 2, 3, 2]], np.float32)
    largest = np.array([[1, 2, 0], [0, 1, 2], [2, 0, 1]])
    yield case("top_places", lines, gives=largest, count=3)
    least = np.array([[1, 3, 0], [0, 1, 2], [0, 1, 3]])
    yield case("top_places", lines, gives=least, count=3, largest=False)


@row("NaN in `non_max_suppression`")
def nan_in_suppression():
    box = floats(0, 0, 1, 1)
    boxes = np.stack([box, floats(NAN, 0, 1, 1), box, floats(2, 2, 3, 3), floats(0, 4, 1, 5)])
    scores = floats(0.5, 0.9, 0.4, NAN, -INF)
    attributes = {"max_boxes": 5, "iou_threshold": 0.5}
    kept = np.array([[0, 0, 1], [0, 0, 0]])
    yield case("non_max_suppression", boxes[None], scores[None, None], gives=kept, **attributes)


@row("`sign` of NaN")
def sign_of_nan():
    yield case("sign", floats(NAN, -3, 0, INF), gives=floats(NAN, -1, 0, 1))


@row("NaN in `leaky_relu`, `elu`, `prelu` and on the side that `where` takes")
def nan_in_branches():
    x = floats(NAN, -1, 2)
    yield case("leaky_relu", x, gives=floats(NAN, -0.5, 2), alpha=0.5)
    yield case("elu", x, gives=floats(NAN, np.expm1(-1), 2), rtol=1e-6)
    yield case("prelu", x, floats(0.5, NAN, NAN), gives=floats(NAN, NAN, 2))
    taken = np.array([True, False, True])
    yield case("where", taken, x, floats(5, NAN, NAN), gives=floats(NAN, NAN, 2))


@row("NaN or infinity in a row of `softmax`")
def nan_in_softmax():
    some = floats(1, 2)
    rows = np.array([[1, NAN], [1, INF], [1, -INF], [-INF, -INF], some], np.float32)
    shares = np.exp(some) / np.exp(some).sum()
    gives = np.array([[NAN] * 2, [NAN] * 2, [1, 0], [NAN] * 2, shares], np.float32)
    yield case("softmax", rows, gives=gives, rtol=1e-6)


@row("infinity in functions")
def infinity():
    for name in FUNCTIONS:
        yield of_function(name, floats(INF, -INF))


@row("a float that is too large")
def too_large():
    yield case("exp", floats(88.7, 89, 1e30), gives=floats(np.exp(88.7), INF, INF), rtol=2e-5)
    yield case("multiply", floats(1e30, -1e30), floats(1e30, 1e30), gives=floats(INF, -INF))
    yield case("cast", np.array([1e300, -1e39]), gives=floats(INF, -INF), dtype="float32")


@row("a denormal operand")
def denormal_operands():
    x = floats(1e-40, -1e-40, 1e-45, 1.1e-38, -3e-39)
    for name in FUNCTIONS:
        yield of_function(name, x)
    yield case("multiply", x, floats(*[2.0**100] * 5), gives=x * np.float32(2.0**100))


@row("a denormal result")
def denormal_results():
    yield case("multiply", floats(1e-20, -3e-30), floats(1e-20, 1e-10), gives=floats(1e-40, -3e-40))
    for name in FUNCTIONS:
        yield of_function(
            name, floats(-20, -60, -86, -90, -100, 1e-30, -1e-30, 20, 100, 1e-4, -0.3)
        )


@row("integers that are too large")
def integers_that_wrap():
    for dtype in INTEGERS:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        x, y = np.array([high, low, high, 7], dtype), np.array([1, high, high, 3], dtype)
        with np.errstate(all="ignore"):
            yield case("add", x, y, gives=x + y)
            yield case("multiply", x, y, gives=x * y)
            yield case("subtract", y, x, gives=y - x)
            yield case("neg", x, gives=-x)
            yield case("abs", x, gives=np.abs(x))


@row("division of integers")
def integers_divided():
    x, y = np.array([-7, 7, -7, 7, 6], np.int32), np.array([2, -2, -2, 2, 3], np.int32)
    yield case("divide", x, y, gives=np.int32([-3, -3, 3, 3, 2]))
    yield case("modulo", x, y, gives=np.int32([1, -1, -1, 1, 0]))
    yield case("remainder", x, y, gives=np.int32([-1, 1, -1, 1, 0]))


@row("division of an integer by 0")
def integers_by_zero():
    for dtype in INTEGERS:
        x = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 5], dtype)
        for name in ("divide", "modulo", "remainder"):
            yield case(name, x, np.zeros_like(x), gives=np.zeros_like(x))


@row("division of the least integer by -1")
def least_integer():
    for dtype in INTEGERS[:4]:
        x, y = np.full(3, np.iinfo(dtype).min, dtype), np.full(3, -1, dtype)
        yield case("divide", x, y, gives=x)
        for name in ("modulo", "remainder"):
            yield case(name, x, y, gives=np.zeros_like(x))


@row("`cast` of a float to an integer")
def floats_to_integers():
    for dtype in INTEGERS:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        for source in (np.float32, np.float64):
            x = np.array([NAN, INF, -INF, 1e30, -1e30, 2.9, -0.9, 100.5, 0], source)
            gives = np.array([0, high, low, high, low, 2, 0, 100, 0], dtype)
            yield case("cast", x, gives=gives, dtype=dtype)


@row("`cast` of an integer to a smaller one")
def integers_to_smaller():
    x = np.array([300, -300, 2**31, -1, 128], np.int64)
    for dtype in INTEGERS:
        yield case("cast", x, gives=x.astype(dtype), dtype=dtype)


@row("`cast` to bool")
def to_bool():
    yield case("cast", floats(NAN, 0, -0.0, 1e-45), gives=[True, False, False, True], dtype="bool")
    yield case("cast", np.array([256, 0, -1]), gives=[True, False, True], dtype="bool")


@row("`cast` to float16 (not on CUDA, whose kernels have none)")
def to_float16():
    x = np.array([1 + 2**-11, 1 + 2**-11 + 2**-40, 65519, 65520, -1e300, 2**-25, NAN])
    with np.errstate(all="ignore"):
        yield case("cast", x, gives=x.astype(np.float16), dtype="float16")
        single = x.astype(np.float32)
        yield case("cast", single, gives=single.astype(np.float16), dtype="float16")


@row("`round` of a half")
def halves():
    yield case("round", floats(0.5, 1.5, 2.5, -0.5, -1.5), gives=floats(0, 2, 2, 0, -2))


RECURRENT = "NaN in a step of a recurrent layer"
CASES = [(name, number, one) for name, made in ROWS.items() for number, one in enumerate(made())]


def network_of(cases: list[Case]) -> tuple[Network, dict[str, Any]]:
    """All cases as one network, and its inputs."""
    b, inputs, outputs = NetworkBuilder.of("numerics", HOST), {}, []
    for number, one in enumerate(cases):
        names = [b.input(f"x{number}_{i}", a.shape, str(a.dtype)) for i, a in enumerate(one.arrays)]
        inputs.update(zip(names, one.arrays, strict=True))
        outputs.append(b.apply(one.operator, names, one.attributes, output=f"y{number}"))
    return b.network(outputs), inputs


def check(one: Case, found: Any) -> None:
    assert (found.shape, found.dtype) == (one.expected.shape, one.expected.dtype)
    np.testing.assert_allclose(found, one.expected, rtol=one.rtol, atol=one.atol)


def told(names: list[str], cases: list[Case], answers: list[Any]) -> str:
    """Every case that is wrong, in a line."""
    wrong = []
    for name, one, found in zip(names, cases, answers, strict=True):
        try:
            check(one, found)
        except AssertionError:
            wrong.append(f"{name}: {one.operator}{one.arrays} = {found}, expected {one.expected}")
    return "\n".join(wrong)


@pytest.mark.parametrize(
    "target",
    ["x86", *(pytest.param(one, marks=pytest.mark.full) for one in OTHERS)],
)
def test_compiled_code_answers_as_the_page_says(target: str, tmp_path: Path) -> None:
    kind, isa = target.partition(":")[0], target.partition("=")[2]
    if kind == "cuda":
        build = pytest.importorskip("tilewright_cuda.emulation.compile")
        if build.compiler_version() is None:
            pytest.skip("emulation needs g++")
    else:
        found = pytest.importorskip("tilewright_x86.machine.isa").available()
        if isa not in ("", *(one.name for one in found)):
            pytest.skip("not on this machine")
    without = "float16" if kind == "cuda" or isa == "sse4" else "none"
    chosen = [(name, one) for name, _, one in CASES if one.attributes.get("dtype") != without]
    names, cases = [name for name, _ in chosen], [one for _, one in chosen]
    network, inputs = network_of(cases)
    device = "emulated" if kind == "cuda" else None
    compiled = tilewright.compile(network, target=target, device=device, host=HOST)
    wrong = told(names, cases, list(compiled.run(inputs).values()))
    assert not wrong, wrong


def test_the_interpreter_answers_as_the_page_says() -> None:
    target, answers = HOST.resolve_target("x86:isa=avx2"), []
    for _, _, one in CASES:
        network, inputs = network_of([one])
        (kernel,) = extract(network, target, Operators.of(HOST)).kernels
        config = HOST.fallback_config(kernel.task, HOST.space(kernel.task))
        program = HOST.lower(kernel.task, config)
        arrays = [
            inputs[name].reshape(buffer.shape)
            for name, buffer in zip(kernel.inputs, program.inputs, strict=True)
        ]
        with np.errstate(all="ignore"):
            (found,) = interpret(program, arrays)
        is_counted = Operators.of(HOST)[one.operator].counted
        found = counted_rows(found) if is_counted else found
        answers.append(found.reshape(one.expected.shape))
    names, cases = [name for name, _, _ in CASES], [one for _, _, one in CASES]
    wrong = told(names, cases, answers)
    assert not wrong, wrong


@pytest.mark.needs("x86", "onnx")
@pytest.mark.parametrize("operator", ["LSTM", "GRU", "RNN"])
def test_nan_in_a_step_of_a_recurrent_layer_stays_in_its_sequence(operator: str) -> None:
    helper = pytest.importorskip("onnx.helper")
    from onnx import numpy_helper

    rng, gates = np.random.default_rng(0), {"LSTM": 4, "GRU": 3, "RNN": 1}[operator]
    weights = {
        "W": rng.standard_normal((1, 3 * gates, 2)),
        "R": rng.standard_normal((1, 3 * gates, 3)),
    }
    graph = helper.make_graph(
        [helper.make_node(operator, ["x", "W", "R"], ["y"], hidden_size=3)],
        "layer",
        [helper.make_tensor_value_info("x", 1, (5, 2, 2))],
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(w.astype(np.float32), name) for name, w in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = rng.standard_normal((5, 2, 2)).astype(np.float32)
    x[2, 1, 0] = NAN
    (y,) = tilewright.compile(model, target="x86:threads=1", host=HOST).run(x).values()
    assert np.isnan(y[2:, 0, 1]).all()
    assert np.isfinite(y[:2]).all()
    assert np.isfinite(y[:, 0, 0]).all()


def test_every_row_of_the_page_is_tested() -> None:
    rows = re.findall(r"^\| (.+?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)[1:]
    assert sorted(rows) == sorted([*ROWS, RECURRENT])
