"""Right answers, and no byte touched outside the cache lines of the operands: odd shapes, every
strategy, every ISA; tensor instructions emulated everywhere, and as they are where they are.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from isa_levels import BYTE_DOTS, ROUNDING, WIDTHS
from trapped_tiles import compiled_trap

_COUNTS = st.sampled_from([1, 2, 3, 5, 7, 8, 13, 16, 17, 24, 32, 33, 48])
"""Of channels and filters: one, primes, whole vectors, and what no vector divides."""
_PAIRS = st.sampled_from([1, 3, 8, 10, 16, 22, 24, 26, 32, 34, 48])
"""Of what products of bfloat16 take: mostly pairs, and vectors of filters."""
_EXTENTS = st.integers(1, 13)
_FLOAT32 = [f"x86:isa={isa},threads=1" for isa in WIDTHS]
_EMULATED = "x86:emulated=yes,isa=amx,threads=1"
_BYTES = [_EMULATED, *(f"x86:isa={isa},threads=1" for isa in BYTE_DOTS)]
_BFLOAT16 = [f"bfloat16/{_EMULATED}", *(f"bfloat16/x86:isa={isa},threads=1" for isa in ROUNDING)]
_FLOAT16 = [target for target in _FLOAT32 if "sse4" not in target]
_ROUNDED = [*_FLOAT32, *(target.removeprefix("bfloat16/") for target in _BFLOAT16)]


class Guarded:
    """The server of guarded_operands.py; a fresh one after a crash."""

    def __init__(self, *arguments: str) -> None:
        self._arguments = arguments
        self._process: subprocess.Popen[str] | None = None

    def check(self, target: str, seed: int, configs: int, text: str) -> None:
        """Fails with the config that crashed or gave a wrong answer."""
        if self._process is None:
            script = Path(__file__).with_name("guarded_operands.py")
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(
                [sys.executable, str(script), *self._arguments],
                stdin=pipe,
                stdout=pipe,
                text=True,
            )
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{target} {seed} {configs} {text}\n")
        self._process.stdin.flush()
        config = ""
        while (line := self._process.stdout.readline().strip()) != "right":
            if not line:
                status = self.close()
                pytest.fail(f"{target} {text} {config}: ended with {status}")
            if line.startswith("wrong"):
                pytest.fail(f"{target} {text} {config}: {line}")
            config = line

    def close(self) -> int:
        """The exit status."""
        process, self._process = self._process, None
        if process is None:
            return 0
        with process:
            pass
        return process.returncode


@pytest.fixture(scope="module")
def guarded() -> Iterator[Guarded]:
    server = Guarded()
    yield server
    server.close()


@pytest.fixture(scope="module")
def with_tiles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A server whose machine code for AMX is run, each of its instructions by a trap."""
    library = (
        compiled_trap(tmp_path_factory.mktemp("tiles")) if ROUNDING == ["avx512_bf16"] else None
    )
    if library is None:
        pytest.skip("AMX is trapped where there is AVX-512 BF16, no AMX, and a C compiler")
    server = Guarded(str(library))
    yield server
    server.close()


def _times(*extents: int) -> str:
    return "x".join(map(str, extents))


@st.composite
def convolutions(draw: st.DrawFn, counts: st.SearchStrategy[int] = _COUNTS) -> str:
    """Strides larger than the kernel, images smaller than it, groups, dilation, epilogues."""
    batch, channels, filters = draw(st.integers(1, 3)), draw(counts), draw(counts)
    groups = draw(st.sampled_from([1, 1, 2, 4, channels]))
    channels, filters = groups * -(-channels // groups), groups * -(-filters // groups)
    kernel, strides, padding, dilation, image, output = [], [], [], [], [], []
    for _ in range(2):
        taps, dilated = draw(st.sampled_from([1, 1, 2, 3, 5])), draw(st.sampled_from([1, 1, 2]))
        span = dilated * (taps - 1) + 1
        before, after = draw(st.integers(0, span - 1)), draw(st.integers(0, span - 1))
        extent = draw(st.integers(max(1, span - before - after), 13))
        step = draw(st.sampled_from([1, 1, 2, 4]))
        kernel.append(taps)
        strides.append(step)
        padding.append((before, after))
        dilation.append(dilated)
        image.append(extent)
        output.append((extent + before + after - span) // step + 1)
    margins = [padding[0][0], padding[1][0], padding[0][1], padding[1][1]]
    epilogue = draw(
        st.sampled_from(
            [
                "",
                f" + add(1x{filters}x1x1:const) + relu()",
                f" + add({_times(batch, filters, *output)})",
            ]
        )
    )
    return (
        f"conv2d({_times(batch, channels, *image)}, "
        f"{_times(filters, channels // groups, *kernel)}, strides=[{_listed(strides)}], "
        f"padding=[{_listed(margins)}], dilation=[{_listed(dilation)}], groups={groups}){epilogue}"
    )


@st.composite
def pointwise(draw: st.DrawFn) -> str:
    """Convolutions of single pixels, in groups of any size."""
    groups, channels, filters = draw(st.integers(1, 4)), draw(_COUNTS), draw(_COUNTS)
    batch, height, width = draw(st.integers(1, 3)), draw(_EXTENTS), draw(_EXTENTS)
    data = _times(batch, groups * channels, height, width)
    weight = _times(groups * filters, channels, 1, 1)
    epilogue = draw(st.sampled_from(["", f" + add(1x{groups * filters}x1x1:const) + relu()"]))
    return f"conv2d({data}, {weight}, groups={groups}){epilogue}"


def _listed(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))


@st.composite
def poolings(draw: st.DrawFn) -> str:
    shape = _times(draw(st.integers(1, 3)), draw(_COUNTS), draw(_EXTENTS), draw(_EXTENTS))
    kind = draw(st.sampled_from(["max_pool2d", "avg_pool2d", "global_avg_pool2d"]))
    if kind.startswith("global"):
        return f"{kind}({shape})"
    height, width = map(int, shape.split("x")[2:])
    window = draw(st.integers(1, min(height, width, 3)))
    padding = draw(st.integers(0, window - 1))
    strides = draw(st.integers(1, 4))
    return f"{kind}({shape}, pool_size={window}, strides={strides}, padding={padding})"


@st.composite
def others(draw: st.DrawFn) -> str:
    """Dense layers, products, softmax, chains, and what moves data."""
    a, b, c = draw(_COUNTS), draw(_COUNTS), draw(_COUNTS)
    height, width = draw(_EXTENTS), draw(_EXTENTS)
    image = _times(draw(st.integers(1, 3)), a, height, width)
    blocks = [f"NCHW{n}c" for n in (8, 16) if a % n == 0]
    layouts = draw(st.permutations(["NCHW", "NHWC", *blocks]))
    return draw(
        st.sampled_from(
            [
                f"dense({a}x{b}, {c}x{b})",
                f"dense({a}x{b}, {c}x{b}) + add(1x{c}:const) + relu()",
                f"matmul(2x{a}x{b}, 2x{b}x{c})",
                f"softmax({a}x{b}x{c}, axis={draw(st.integers(-3, 2))})",
                f"add({image}, 1x{a}x1x1) + relu()",
                f"sigmoid({image})",
                f"layout_transform({image}, src={layouts[0]}, dst={layouts[1]})",
                f"concat({a}x{b}, {c}x{b}, axis=0)",
                f"transpose({a}x{b}x{c}, axes=[2,0,1])",
            ]
        )
    )


def stored_as(dtype: str, tasks: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """The tasks on operands of a dtype, which every one of their shapes then names."""
    return tasks.map(lambda text: re.sub(r"\d+(x\d+)+", rf"\g<0>:{dtype}", text))


@st.composite
def attention(draw: st.DrawFn) -> str:
    """Products of transformers: in batches that broadcast, scaled and masked; what is around."""
    rows = draw(st.sampled_from([1, 3, 7, 16, 32, 37]))
    terms = draw(st.sampled_from([1, 2, 17, 31, 32, 34, 64]))
    columns = draw(st.sampled_from([1, 5, 16, 33, 48]))
    batch, heads = draw(st.sampled_from([1, 3])), draw(st.sampled_from([1, 2, 3]))
    left = draw(st.sampled_from([_times(batch, heads), _times(1, heads), "1x1"]))
    right = draw(st.sampled_from([_times(batch, heads), f"{heads}", f"{batch}x1"]))
    masked = f" + multiply(1x1x1x1:const) + add({batch}x1x1x{columns})"
    whole = f" + add({_times(batch, heads, rows, columns)})"
    scores = f"matmul({_times(batch, heads, rows, terms)}, {right}x{_times(terms, columns)})"
    plain = f"matmul({left}x{_times(rows, terms)}, {_times(batch, heads, terms, columns)})"
    pairs = _times(batch, heads, 2 * rows, 16 * draw(st.integers(1, 4)))
    sources = "NCHW", "NHCW:bfloat16", "NCWH:bfloat16", "NWCH"
    blocks = draw(st.sampled_from(["NCWH16w2h:bfloat16", "NCWH64w2h:bfloat16"]))
    inside, tokens = f"matmul({rows}x{terms}, {terms}x{columns})", _times(batch, rows, terms)
    return draw(
        st.sampled_from(
            [
                f"{scores}{draw(st.sampled_from(['', masked, whole]))}",
                plain,
                f"{inside} + add(1x{columns}:const) + gelu()",
                f"layer_norm({tokens}, {terms}, {terms})",
                f"softmax({_times(batch, heads, rows, columns)})",
                f"add({tokens}, {tokens}) + gelu()",
                f"transpose({_times(batch, rows, heads, terms)}, axes=[0,2,1,3])",
                f"transpose({_times(batch, rows, heads, terms)}, axes=[0,2,3,1])",
                f"layout_transform({pairs}, src={draw(st.sampled_from(sources))}, dst={blocks})",
            ]
        )
    )


@st.composite
def byte_products(draw: st.DrawFn) -> str:
    """Products of bytes, signed and unsigned; their sums, or bytes again."""
    a, b, c = draw(_COUNTS), draw(_COUNTS), draw(_COUNTS)
    left, right = (draw(st.sampled_from(["int8", "uint8"])) for _ in range(2))
    batch = draw(st.sampled_from(["", "3x"]))
    rank = "1x" if batch else ""
    scaled = f"cast(dtype=float32) + multiply({rank}1x{c}:const) + round() + clip(min=0, max=255)"
    epilogue = draw(st.sampled_from(["", f" + {scaled} + cast(dtype=uint8)"]))
    return f"matmul_integer({batch}{a}x{b}:{left}, {b}x{c}:{right}){epilogue}"


@pytest.mark.parametrize("rest", ["3x3, padding=1", "1x1"])
def test_grouped_tiles_read_nothing_behind_the_last_group(guarded: Guarded, rest: str) -> None:
    guarded.check(f"bfloat16/{_EMULATED}", 0, 12, f"conv2d(1x40x4x4, 32x20x{rest}, groups=2)")


def _properties(
    tasks: st.SearchStrategy[str], examples: int, targets: list[str] = _FLOAT32
) -> object:
    """The property over so many tasks, the same ones in every run."""

    @_settings(examples)
    @given(st.sampled_from(targets), st.integers(0, 99), tasks)
    def check(guarded: Guarded, target: str, seed: int, text: str) -> None:
        guarded.check(target, seed, 1, text)

    return check


def _properties_of_tiles(
    tasks: st.SearchStrategy[str], examples: int, precision: str = ""
) -> object:
    """The same of machine code for AMX, on one thread and two, each of which has its tiles."""

    @_settings(examples)
    @given(st.integers(1, 2), st.integers(0, 99), tasks)
    def check(with_tiles: Guarded, threads: int, seed: int, text: str) -> None:
        with_tiles.check(f"{precision}x86:isa=amx,threads={threads}", seed, 1, text)

    return check


def _settings(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


test_convolutions_of_odd_shapes = _properties(convolutions(), 25)
test_poolings_of_odd_shapes = _properties(poolings(), 8)
test_other_operators_of_odd_shapes = _properties(others(), 16)
test_convolutions_in_bfloat16 = _properties(convolutions(_PAIRS), 20, _BFLOAT16)
test_pixels_in_bfloat16 = _properties(pointwise(), 15, _BFLOAT16)
test_poolings_in_bfloat16 = _properties(poolings(), 6, _BFLOAT16)
test_other_operators_in_bfloat16 = _properties(others(), 16, _BFLOAT16)
test_attention_in_bfloat16 = _properties(attention(), 20, _BFLOAT16)
test_convolutions_of_float16 = _properties(stored_as("float16", convolutions()), 15, _FLOAT16)
test_poolings_of_float16 = _properties(stored_as("float16", poolings()), 5, _FLOAT16)
test_other_operators_of_float16 = _properties(stored_as("float16", others()), 16, _FLOAT16)
test_convolutions_of_bfloat16 = _properties(
    stored_as("bfloat16", convolutions(_PAIRS)), 25, [*_ROUNDED, *_BFLOAT16]
)
test_poolings_of_bfloat16 = _properties(stored_as("bfloat16", poolings()), 5, _ROUNDED)
test_other_operators_of_bfloat16 = _properties(
    stored_as("bfloat16", others()), 20, [*_ROUNDED, *_BFLOAT16]
)
test_products_of_bytes = _properties(byte_products(), 12, _BYTES)
test_convolutions_in_machine_code_of_tiles = _properties_of_tiles(
    convolutions(_PAIRS), 12, "bfloat16/"
)
test_other_operators_in_machine_code_of_tiles = _properties_of_tiles(others(), 12, "bfloat16/")
test_products_of_bytes_in_machine_code_of_tiles = _properties_of_tiles(byte_products(), 8)
test_many_convolutions_in_machine_code_of_tiles = pytest.mark.full(
    _properties_of_tiles(convolutions(_PAIRS), 120, "bfloat16/")
)
test_many_products_of_bytes_in_machine_code_of_tiles = pytest.mark.full(
    _properties_of_tiles(byte_products(), 80)
)
test_many_convolutions_in_bfloat16 = pytest.mark.full(
    _properties(convolutions(_PAIRS), 250, _BFLOAT16)
)
test_many_pixels_in_bfloat16 = pytest.mark.full(_properties(pointwise(), 100, _BFLOAT16))
test_many_other_operators_in_bfloat16 = pytest.mark.full(_properties(others(), 160, _BFLOAT16))
test_much_attention_in_bfloat16 = pytest.mark.full(_properties(attention(), 200, _BFLOAT16))
test_many_convolutions_of_float16 = pytest.mark.full(
    _properties(stored_as("float16", convolutions()), 120, _FLOAT16)
)
test_many_convolutions_of_bfloat16 = pytest.mark.full(
    _properties(stored_as("bfloat16", convolutions(_PAIRS)), 200, [*_ROUNDED, *_BFLOAT16])
)
test_many_other_operators_of_float16 = pytest.mark.full(
    _properties(stored_as("float16", others()), 100, _FLOAT16)
)
test_many_other_operators_of_bfloat16 = pytest.mark.full(
    _properties(stored_as("bfloat16", others()), 100, [*_ROUNDED, *_BFLOAT16])
)
test_many_products_of_bytes = pytest.mark.full(_properties(byte_products(), 100, _BYTES))
test_many_convolutions_of_odd_shapes = pytest.mark.full(_properties(convolutions(), 250))
test_many_poolings_of_odd_shapes = pytest.mark.full(_properties(poolings(), 80))
test_many_other_operators_of_odd_shapes = pytest.mark.full(_properties(others(), 160))
