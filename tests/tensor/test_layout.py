"""Layout texts against independent loops over every element."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.errors import UsageError
from tilewright_tensor.expressions.affine import Var, index
from tilewright_tensor.layouts.layout import Layout

CASES = [
    ("NCHW", (2, 3, 5, 7)),
    ("NHWC", (2, 3, 5, 7)),
    ("NCHW4c", (2, 8, 5, 3)),
    ("NCHW4c", (1, 7, 2, 3)),
    ("NCHW16c", (1, 3, 1, 1)),
    ("OIHW4i8o", (13, 7, 3, 1)),
    ("OIHW2i8o2i", (9, 11, 1, 2)),
    ("IOHW", (4, 3, 2, 1)),
    ("CN8c", (5, 19)),
    ("NCW8c", (2, 8, 9)),
    ("CNDWH3c", (2, 7, 3, 2, 5)),
    ("N4cCHW", (2, 8, 5, 3)),
    ("N3cHCW2c", (2, 7, 5, 3)),
    ("3nNC", (7, 5)),
    ("C", (11,)),
    ("FAECDB", (2, 3, 1, 2, 3, 2)),
    ("", ()),
]


@pytest.mark.parametrize(("text", "shape"), CASES)
def test_pack_puts_every_element_where_physical_index_says(
    text: str, shape: tuple[int, ...]
) -> None:
    layout = Layout.parse(text)
    logical = np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32).reshape(shape)
    variables = [Var(f"v{i}") for i in range(len(shape))]
    bounds = {v: (0, n - 1) for v, n in zip(variables, shape, strict=True)}
    where = layout.physical_index([index(v) for v in variables], bounds)
    expected = np.zeros(layout.physical_shape(shape), np.float32)
    for point in itertools.product(*map(range, shape)):
        values = dict(zip(variables, point, strict=True))
        expected[tuple(i.evaluate(values) for i in where)] = logical[point]

    packed = layout.pack(logical)

    np.testing.assert_array_equal(packed, expected)
    assert packed.flags.c_contiguous
    assert np.count_nonzero(packed) == logical.size
    np.testing.assert_array_equal(layout.unpack(packed, shape), logical)


def test_blocks_land_where_tvm_puts_them() -> None:
    weight = np.arange(32 * 16 * 9).reshape(32, 16, 3, 3)
    packed = Layout.parse("OIHW8i16o").pack(weight)
    assert packed.shape == (2, 2, 3, 3, 8, 16)
    assert packed[1, 0, 2, 1, 5, 7] == weight[23, 5, 2, 1]


def test_nhwc_is_a_transposition_of_logical_nchw() -> None:
    image = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    np.testing.assert_array_equal(Layout.parse("NHWC").pack(image), image.transpose(0, 2, 3, 1))


def test_index_of_a_split_axis_needs_no_division() -> None:
    outer, inner = Var("outer"), Var("inner")
    channel = index(outer) * 16 + index(inner)
    zero = index(0)
    found = Layout.parse("NCHW16c").physical_index(
        [zero, channel, zero, zero], {outer: (0, 3), inner: (0, 15)}
    )
    assert found == (zero, index(outer), zero, zero, index(inner))


@pytest.mark.parametrize(
    ("one", "other", "shape", "same"),
    [
        ("NCHW16c", "NCHW", (1, 64, 1, 1), True),
        ("NCHW16c", "NCHW", (3, 64, 1, 1), True),
        ("NCHW16c", "NCHW", (1, 64, 2, 1), False),
        ("NCHW16c", "NHWC", (1, 16, 5, 5), True),
        ("N4cCHW", "NCHW", (1, 4, 5, 5), True),
        ("N4cCHW", "NCHW", (1, 8, 5, 5), False),
        ("NCHW16c", "NHWC", (1, 32, 5, 5), False),
        ("NCHW16c", "NCHW8c", (1, 64, 1, 1), True),
        ("NCHW16c", "NCHW", (1, 20, 1, 1), False),
        ("NCHW", "NHWC", (2, 1, 5, 5), True),
        ("NCHW", "NCHW", (2, 3, 5, 5), True),
        ("NC", "OI", (2, 3), False),
    ],
)
def test_layouts_with_equal_bytes_are_identical(
    one: str, other: str, shape: tuple[int, ...], same: bool
) -> None:
    a, b = Layout.parse(one), Layout.parse(other)
    assert a.is_identity_to(b, shape) is same
    assert b.is_identity_to(a, shape) is same


ORDERS = [
    "NCHW",
    "NHWC",
    "NCHW2c",
    "NCHW3c",
    "NCHW4c",
    "NCHW2h2c",
    "NCHW2c2h",
    "CNWH",
    "N2cCHW",
    "3cNCHW",
]


@settings(deadline=None)
@given(
    st.sampled_from(ORDERS),
    st.sampled_from(ORDERS),
    st.tuples(*[st.integers(1, 5)] * 4),
)
def test_identity_is_equality_of_bytes(one: str, other: str, shape: tuple[int, ...]) -> None:
    a, b = Layout.parse(one), Layout.parse(other)
    array = np.arange(1, 1 + int(np.prod(shape))).reshape(shape)
    same_bytes = a.pack(array).tobytes() == b.pack(array).tobytes()
    if a.divides(shape) and b.divides(shape):
        assert a.is_identity_to(b, shape) == same_bytes
    else:  # padding of two kinds may coincide; nobody asks for that
        assert same_bytes or not a.is_identity_to(b, shape)


def test_divides_asks_for_whole_blocks() -> None:
    assert Layout.parse("NCHW16c").divides((1, 64, 7, 7))
    assert not Layout.parse("NCHW16c").divides((1, 63, 7, 7))


def test_broadcast_operand_keeps_blocks_of_its_full_axes_only() -> None:
    layout = Layout.parse("NCHW16c")
    assert str(layout.broadcast_to((1, 64, 1, 1))) == "NCHW16c"
    assert str(layout.broadcast_to((1, 1, 1, 1))) == "NCHW"
    assert str(layout.broadcast_to((1, 1, 7, 7))) == "NCHW"


def test_logical_layout_by_rank() -> None:
    assert [str(Layout.logical(rank)) for rank in range(7)] == [
        "", "C", "NC", "NCW", "NCHW", "NCDHW", "ABCDEF",
    ]  # fmt: skip


def test_parsing_is_cached() -> None:
    assert Layout.parse("NCHW8c") is Layout.parse("NCHW8c")


@pytest.mark.parametrize(
    "text", ["nchw", "NCHW16", "NCHWc", "NCHW0c", "NCHW16k", "NNHW", "NC HW", "N4cHW"]
)
def test_bad_text_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="layout"):
        Layout.parse(text)


def test_wrong_rank_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="4 axes"):
        Layout.parse("NCHW").physical_shape((1, 2, 3))


@pytest.mark.parametrize("text", ["NCHW", "NHWC", "NCHW2c", "NWHC2h3w:bfloat16"])
@pytest.mark.parametrize("order", [(0, 2, 1, 3), (3, 1, 0, 2), (0, 2, 3, 1)])
def test_a_turned_layout_has_the_transposed_tensor_in_the_same_memory(text, order):
    layout = Layout.parse(text)
    array = np.arange(4 * 6 * 4 * 6, dtype=np.float32).reshape(4, 6, 4, 6)
    turned = layout.turned(order)
    np.testing.assert_array_equal(turned.pack(array.transpose(order)), layout.pack(array))
    assert turned.turned(tuple(np.argsort(order))).text == text
