"""Winograd's matrices, and layouts that transform a constant before they lay it out."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.layouts.winograd import Winograd


@pytest.mark.parametrize("outputs", [2, 4])
def test_the_matrices_filter_three_taps(outputs: int) -> None:
    made, rng = Winograd.of(outputs), np.random.default_rng(0)
    g, d = rng.normal(size=3), rng.normal(size=outputs + 2)
    filters, data, result = (np.array(m) for m in (made.filters, made.data, made.result))
    direct = [g @ d[i : i + 3] for i in range(outputs)]
    assert result @ ((filters @ g) * (data @ d)) == pytest.approx(direct, abs=1e-11)


@pytest.mark.parametrize("outputs", [2, 4])
def test_rows_of_a_pair_share_their_sums(outputs: int) -> None:
    made = Winograd.of(outputs)
    d = np.random.default_rng(3).normal(size=made.inputs)
    wanted = [d[0::2] @ made.ends, d[1::2] @ made.ends]
    for number, point in enumerate(made.points):
        even, odd = d[2::2] @ made.shared(number), d[1:-1:2] @ made.shared(number)
        wanted += [even + point * odd, even - point * odd]
    assert np.array(made.data) @ d == pytest.approx(wanted)


@pytest.mark.parametrize("outputs", [2, 4])
def test_a_layout_packs_transformed_filters(outputs: int) -> None:
    layout = Layout.parse(f"winograd{outputs}:ABIO")
    filters = np.random.default_rng(1).normal(size=(5, 7, 3, 3))
    packed = layout.pack(filters)
    assert packed.shape == layout.physical_shape((5, 7, 3, 3)) == (outputs + 2, outputs + 2, 7, 5)
    g = np.array(Winograd.of(outputs).filters)
    assert packed[:, :, 6, 4] == pytest.approx(g @ filters[4, 6] @ g.T)
    assert layout.unpack(packed, filters.shape) == pytest.approx(filters)


@pytest.mark.parametrize("outputs", [2, 4])
def test_planes_of_volumes_are_transformed_as_further_channels(outputs: int) -> None:
    layout = Layout.parse(f"winograd{outputs}:ABIO")
    filters = np.random.default_rng(4).normal(size=(5, 7, 2, 3, 3))
    packed = layout.pack(filters)
    planes = [layout.pack(filters[:, :, plane]) for plane in range(2)]
    assert packed == pytest.approx(np.concatenate(planes, axis=2))
    assert layout.unpack(packed, filters.shape) == pytest.approx(filters)


def test_the_memory_of_a_transformed_constant_may_have_any_order() -> None:
    filters = np.random.default_rng(2).normal(size=(4, 3, 3, 3))
    plain = Layout.parse("winograd2:ABIO").pack(filters)
    assert (Layout.parse("winograd2:ABOI").pack(filters) == plain.transpose(0, 1, 3, 2)).all()
    assert Layout.parse("winograd2:ABIO").memory == Layout.parse("ABIO")


def test_only_filters_of_three_by_three_are_transformed() -> None:
    with pytest.raises(UsageError, match="winograd4"):
        Layout.parse("winograd4:ABIO").physical_shape((5, 7, 1, 1))


def test_an_unknown_transform_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no transform named 'winograd3'"):
        Layout.parse("winograd3:ABIO")
