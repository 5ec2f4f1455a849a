"""Least work: what no kernel leaves out, against a count of the terms one by one."""

from __future__ import annotations

import itertools

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.roles import TellsLeastWork
from tilewright_tensor.evaluation.least_work import least_work
from tilewright_tensor.expressions.expr import lt, select
from tilewright_tensor.ir.dag import Dag, compute, placeholder, reduce_axis, reduce_max, reduce_sum


@pytest.fixture(scope="module")
def counted():
    host = PluginHost.load()

    def count(text):
        name, _, arguments = text.partition("(")
        reference = host.reference(name)
        workload = reference.parse(f"({arguments}", "")
        assert isinstance(reference, TellsLeastWork)
        return reference.least_operations(workload), list(reference.least_reads(workload))

    return count


def taps(size, window, stride, padding, dilation):
    """Pairs of a result's place and a tap that lie on the image, and the taps among them."""
    places = (size + 2 * padding - dilation * (window - 1) - 1) // stride + 1
    pairs = [
        (place, tap)
        for place, tap in itertools.product(range(places), range(window))
        if 0 <= place * stride + tap * dilation - padding < size
    ]
    return len(pairs), len({tap for _, tap in pairs})


@pytest.mark.parametrize(
    ("size", "window", "stride", "padding", "dilation"),
    [
        (7, 3, 1, 1, 1),
        (7, 5, 1, 2, 1),
        (1, 3, 1, 1, 1),
        (13, 7, 2, 3, 1),
        (9, 3, 2, 4, 3),
        (5, 1, 1, 0, 1),
    ],
)
def test_convolutions_count_the_taps_on_the_image(counted, size, window, stride, padding, dilation):
    pairs, used = taps(size, window, stride, padding, dilation)
    text = f"conv2d(2x3x{size}x{size}, 5x3x{window}x{window}, padding={padding}, strides={stride}, dilation={dilation})"
    operations, (_, weights) = counted(text)
    assert operations == 2 * 2 * 3 * 5 * pairs**2
    assert weights == 4 * 3 * 5 * used**2


def test_products_count_every_multiply_add_and_every_element(counted):
    assert counted("matmul(4x8x16, 4x16x7)") == (
        2 * 4 * 8 * 16 * 7,
        [4 * 4 * 8 * 16, 4 * 4 * 16 * 7],
    )
    assert counted("dense(3x5, 7x5)") == (2 * 3 * 5 * 7, [4 * 15, 4 * 35])
    assert counted("matmul_integer(3x5:uint8, 5x7:int8)") == (2 * 3 * 5 * 7, [15, 35])


def test_what_sums_no_products_has_no_certain_work(counted):
    for text in ("softmax(3x5)", "relu(3x5)", "global_avg_pool2d(1x3x4x4)"):
        operations, reads = counted(text)
        assert (operations, set(reads)) == (0, {0})


def test_zeros_of_unknown_places_leave_nothing_certain():
    a, b, mask = (placeholder(name, (8,)) for name in ("a", "b", "mask"))
    k = reduce_axis(8, "k")

    def work(factor):
        first = compute("first", (8,), factor)
        return least_work(Dag([compute("c", (1,), lambda i: reduce_sum(first[k] * b[k], k))]))

    assert work(lambda i: a[i]).operations == 2 * 8
    assert work(lambda i: select(lt(i, 3), a[i], 0.0)).operations == 2 * 3
    assert work(lambda i: select(lt(i, 3), a[i], 1.0)).operations == 0
    assert work(lambda i: select(lt(mask[i], 3.0), a[i], 0.0)).operations == 0
    largest = compute("m", (1,), lambda i: reduce_max(a[k] * b[k], k))
    assert least_work(Dag([largest])).operations == 0
