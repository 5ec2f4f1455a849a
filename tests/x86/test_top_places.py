"""Places of the largest and smallest elements: equal ones, NaN, infinities, lines in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from answers import host, task_of

from tilewright.vocabulary.config import ConfigEntity
from tilewright_tensor.expressions.dtype import numpy_type
from tilewright_tensor.lowering.verify import verify

STRATEGY = "top_places.x86"

LINES: dict[str, Callable[[Any, tuple[int, ...]], Any]] = {
    "random": lambda chance, shape: chance.permutation(np.arange(np.prod(shape)) % 251),
    "few values": lambda chance, shape: chance.integers(0, 3, shape),
    "rising": lambda chance, shape: np.arange(np.prod(shape)) % 127,
    "falling": lambda chance, shape: -np.arange(np.prod(shape)) % 127,
    "one value": lambda chance, shape: np.full(shape, 7),
}
FLOATS: dict[str, Callable[[Any, tuple[int, ...]], Any]] = {
    "least": lambda chance, shape: np.full(shape, -np.inf),
    "special": lambda chance, shape: chance.choice(
        [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5], shape
    ),
}

CASES = """
top_places(37, count=5)
top_places(1, count=1)
top_places(3x1x2, count=1, axis=1, largest=false)
top_places(2x1000, count=100)
top_places(1x513, count=1)
top_places(7x67, count=67)
top_places(1x3000, count=300)
top_places(3x131x2, count=17, axis=1, largest=false)
top_places(131x5, count=33, axis=0)
top_places(3x97:float64, count=20)
top_places(3x97:float64, count=40)
top_places(3x97:float16, count=20, largest=false)
top_places(3x97:float16, count=40)
top_places(3x97:int8, count=20)
top_places(3x97:uint8, count=40, largest=false)
top_places(3x97:int32, count=20)
top_places(2x97x3:int64, count=20, axis=1, largest=false)
top_places(2x97x3:int64, count=40, axis=1)
top_places(3x97:uint64, count=40)
""".strip().splitlines()


def expected(data: Any, count: int, axis: int, *, largest: bool) -> Any:
    """By sorting (value, place), one line after the other."""

    def best(line: Any) -> list[int]:
        number = np.inf if largest else -np.inf
        numbers = [number if one != one else one for one in line.tolist()]
        order = sorted(enumerate(numbers), key=lambda one: (-one[1] if largest else one[1], one[0]))
        return [place for place, _ in order[:count]]

    return np.apply_along_axis(best, axis, data)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("text", CASES)
def test_places_are_those_of_a_stable_sort(
    text: str, threads: int, isa: str, run_x86: Callable[..., Any]
) -> None:
    task = task_of(text, f"x86:isa={isa},threads={threads}")
    (spec,), given = task.workload.inputs, task.workload.attributes
    if spec.dtype == "float16" and isa == "sse4":
        pytest.skip("float16 needs avx2")
    made = LINES | (FLOATS if "float" in spec.dtype else {})
    program = host().lower(task, ConfigEntity(STRATEGY))
    assert verify(program) == []
    for name, lines in made.items():
        chance = np.random.default_rng(0)
        data = np.asarray(lines(chance, spec.shape)).reshape(spec.shape)
        data = data.astype(numpy_type(spec.dtype))
        (found,) = run_x86(program, [data], isa, threads)
        wanted = expected(data, given["count"], given["axis"], largest=given["largest"])
        assert np.array_equal(found, wanted), name


def test_long_lists_are_left_to_other_strategies() -> None:
    short, long = (
        {one.name for one in host().strategies(task_of(text, "x86:isa=avx512,threads=1"))}
        for text in ("top_places(8192, count=4096)", "top_places(8192, count=4097)")
    )
    assert short - long == {STRATEGY}
    assert long
