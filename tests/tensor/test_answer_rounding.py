"""That right answers pass, and what is left out or in the wrong place does not, in every dtype and at every length."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright_tensor.expressions.dtype import DATA_TYPES
from tilewright_tensor.operators.trials.answer_rounding import network_tolerance

FLOATS = ("float16", "float32", "float64")
LENGTHS = (1, 3, 16, 100, 1000, 5000, 1_000_000)


def accumulated(operation, terms, axis=-1):
    """Combined along an axis, rounded to the accumulator each time: no order errs by more."""
    accumulator = DATA_TYPES[str(terms.dtype)].accumulator
    return np.take(operation.accumulate(terms, axis=axis, dtype=accumulator), -1, axis)


def one_after_the_other(terms):
    """The sum along the last axis."""
    return accumulated(np.add, terms)


def products_of(left, right):
    """Products in the accumulator."""
    return np.multiply(left, right, dtype=DATA_TYPES[str(left.dtype)].accumulator)


def relative_error(got, right):
    return np.abs(got.astype(np.float64) - right).max() / np.abs(right.astype(np.float64)).max()


def swapped(array, axis):
    """With two places of an axis exchanged: that of the largest element, and the one least like it."""
    places = np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)
    one = np.abs(places).max(1).argmax()
    other = np.abs(places - places[one]).max(1).argmax()
    order = np.arange(len(places))
    order[[one, other]] = other, one
    return np.take(array, order, axis)


class Checked:
    """A workload with its inputs, right answer and tolerance."""

    def __init__(self, references, text):
        name, parenthesis, rest = text.partition("(")
        self.reference = references[name]
        self.workload = self.reference.parse(parenthesis + rest, "")
        self.inputs = self.reference.inputs(self.workload, seed=0)
        self.right = self.answer(self.inputs)
        self.tolerance = self.reference.tolerance(self.workload)

    def answer(self, inputs):
        return self.reference.outputs(self.workload, inputs)[0]

    def passes(self, got):
        return relative_error(got.astype(self.right.dtype), self.right) <= self.tolerance


def rejected_without_a_term(check, terms):
    """That the answer without term k is rejected, for the k whose terms are largest in some element; `terms` along the last axis."""
    largest = np.abs(terms.reshape(-1, terms.shape[-1])).max(0)
    for k in np.argsort(largest)[-2:]:
        inputs = [one.copy() for one in check.inputs]
        inputs[0][:, k] = 0
        assert not check.passes(check.answer(inputs)), k


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("terms", LENGTHS)
def test_a_product_of_matrices_of_any_length(references, dtype, terms):
    check = Checked(references, f"dense(4x{terms}:{dtype}, 5x{terms}:const:{dtype})")
    data, weight = check.inputs
    products = products_of(data[:, None, :], weight[None, :, :])
    assert check.passes(one_after_the_other(products))
    assert not check.passes(np.zeros_like(check.right))
    assert not check.passes(swapped(check.right, 1))
    rejected_without_a_term(check, products)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("terms", LENGTHS)
def test_a_sum_of_any_length(references, dtype, terms):
    check = Checked(references, f"reduce_sum(17x{terms}:{dtype}, axes=[1])")
    assert check.passes(one_after_the_other(check.inputs[0])[:, None])
    assert not check.passes(np.zeros_like(check.right))
    assert not check.passes(swapped(check.right, 0))
    rejected_without_a_term(check, check.inputs[0])


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_mean_of_many(references, dtype):
    check = Checked(references, f"reduce_mean(17x3000:{dtype}, axes=[1])")
    total = one_after_the_other(check.inputs[0])[:, None]
    assert check.passes(total / 3000)
    assert not check.passes(swapped(check.right, 0))
    rejected_without_a_term(check, check.inputs[0])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("terms", LENGTHS)
def test_a_sum_of_terms_of_one_sign(references, dtype, terms):
    check = Checked(references, f"reduce_sum(17x{terms}:{dtype}, axes=[1]) + sqrt()")
    right = np.sqrt(one_after_the_other(check.inputs[0]))[:, None]
    assert check.passes(right)
    assert not check.passes(np.zeros_like(check.right))
    assert not check.passes(right * 0.5)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("channels", [1, 3, 64, 512, 2048])
def test_a_convolution_of_any_depth(references, dtype, channels):
    check = Checked(
        references, f"conv2d(1x{channels}x6x6:{dtype}, 8x{channels}x3x3:const:{dtype}, padding=1)"
    )
    data, weight = check.inputs
    padded = np.pad(data[0], [(0, 0), (1, 1), (1, 1)])
    patches = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    patches = np.moveaxis(patches, 0, 2).reshape(36, -1)
    products = products_of(patches[:, None], weight.reshape(8, -1)[None])
    assert check.passes(_image(one_after_the_other(products)))
    assert not check.passes(np.zeros_like(check.right))
    assert not check.passes(swapped(check.right, 1))
    wide = patches.reshape(36, channels, 9).astype(np.float64), weight.reshape(8, channels, 9)
    for tap in range(9):
        taps = [other for other in range(9) if other != tap]
        without = np.tensordot(*(one[..., taps] for one in wide), ([1, 2], [1, 2]))
        assert not check.passes(_image(without)), f"without tap {tap}"
    if channels > 1:
        order = np.arange(channels)
        busiest = np.argsort(np.abs(data).sum((0, 2, 3)))[-2:]
        order[busiest] = busiest[::-1]
        exchanged = np.tensordot(wide[0][:, order], wide[1], ([1, 2], [1, 2]))
        assert not check.passes(_image(exchanged))


def _image(by_place):
    return by_place.T.reshape(1, 8, 6, 6)


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "int32", "int64", "uint8"])
@pytest.mark.parametrize("factors", [1, 3, 100, 10_000, 100_000])
def test_a_product_of_many_factors(references, dtype, factors):
    check = Checked(references, f"reduce_prod(20x{factors}:{dtype}, axes=[1])")
    (data,) = check.inputs
    right = accumulated(np.multiply, data, 1)[:, None]
    assert check.passes(right)
    assert not check.passes(np.zeros_like(check.right))
    assert not check.passes(np.ones_like(check.right))
    inputs = data.copy()
    inputs[:, np.abs(data != 1).sum(0).argmax()] = 1
    assert not check.passes(check.answer([inputs]))


@pytest.mark.parametrize("terms", [4, 256, 4096, 1_000_000])
def test_an_answer_of_zeros_is_wrong_where_no_term_can_be_left_out(references, terms):
    softmax = Checked(references, f"softmax(3x{terms}:float16)")
    assert not softmax.passes(np.zeros_like(softmax.right))
    assert not softmax.passes(softmax.right / 2)


@pytest.mark.parametrize("seed", range(40))
def test_the_only_element_of_an_answer_does_not_cancel(references, seed):
    dense = references["dense"]
    task = dense.parse("(1x400, 1x400) + relu()", "")
    inputs = dense.inputs(task, seed)
    (right,) = dense.outputs(task, inputs)
    data, weight = inputs
    deviation = np.sqrt(((data * weight) ** 2).sum())
    assert right.item() > 0.25 * deviation


def test_a_network_is_held_to_the_coarsest_of_its_dtypes():
    tolerances = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-8, "bfloat16": 2**-5}
    assert {one: network_tolerance([one]) for one in tolerances} == pytest.approx(tolerances)
    assert network_tolerance(["float64", "int64", "float16", "float32"]) == pytest.approx(1e-2)
    assert network_tolerance(["int8"]) == pytest.approx(1e-4)


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_network_is_held_to_no_less_than_its_kernels(references, dtype):
    kernel = Checked(references, f"dense(4x65536:{dtype}, 5x65536:const:{dtype})")
    assert np.finfo(dtype).eps < network_tolerance([dtype])
    assert dtype != "float32" or network_tolerance([dtype]) < kernel.tolerance


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_of_16_bits_are_held_to_float32_and_a_rounding_of_each_side(references, dtype):
    check = Checked(references, f"dense(4x3000:{dtype}, 5x3000:const:{dtype})")
    single = references["dense"].tolerance(references["dense"].parse("(4x3000, 5x3000:const)", ""))
    assert check.tolerance == single + DATA_TYPES[dtype].eps
    data, weight = check.inputs
    rounded = products_of(data[:, None, :], weight[None, :, :]).astype(dtype)
    in_16_bits = np.zeros(rounded.shape[:2], dtype)
    for term in range(rounded.shape[-1]):
        in_16_bits = (in_16_bits + rounded[..., term]).astype(dtype)
    assert check.passes(one_after_the_other(products_of(data[:, None, :], weight[None, :, :])))
    assert not check.passes(in_16_bits)
