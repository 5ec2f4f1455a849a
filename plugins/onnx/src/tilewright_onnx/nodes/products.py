"""ONNX operators that are matrix products once their axes are in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

import numpy as np

from tilewright_onnx.model.node_site import NodeSite


def _einsum(site: NodeSite) -> None:
    """Of two operands: axes of both are batches or summed over, the others are rows and columns."""
    equation = site.attribute("equation").replace(" ", "")
    operands, arrow, result = equation.partition("->")
    terms = operands.split(",")
    letters = "".join(terms)
    if not arrow:
        result = "".join(sorted(one for one in set(letters) if letters.count(one) == 1))
    repeated = any(len(set(term)) < len(term) for term in (*terms, result))
    if len(terms) != 2 or "." in equation or repeated or set(letters) - set(result) - _both(terms):
        raise site.error(
            f"Einsum {equation!r}; expected two operands, whose letters are in the other or in the "
            "result, each once"
        )
    shared = _both(terms)
    batch = [one for one in result if one in shared]
    summed = [one for one in terms[0] if one in shared and one not in result]
    rows, columns = ([one for one in term if one not in shared] for term in terms)
    extents = dict(zip(letters, (*site.spec(0).shape, *site.spec(1).shape), strict=True))

    def matrices(position: int, *parts: list[str]) -> str:
        order = [terms[position].index(one) for part in parts for one in part]
        ordered = _transposed(site, site.tensor(position), order)
        return site.reshaped(ordered, tuple(prod(extents[one] for one in part) for part in parts))

    product = site.emit(
        "matmul", matrices(0, batch, rows, summed), matrices(1, batch, summed, columns)
    )
    found = [*batch, *rows, *columns]
    product = site.reshaped(product, tuple(extents[one] for one in found))
    site.finish("transpose", product, axes=[found.index(one) for one in result])


def _both(terms: list[str]) -> set[str]:
    return set(terms[0]) & set(terms[-1])


def _cumulative_sum(site: NodeSite) -> None:
    """The product with a triangle of ones: NaN in all of a line with an infinity in it."""
    shape, dtype = site.spec(0).shape, site.spec(0).dtype
    axis = site.value(1).item() % len(shape)
    site.expect_room((shape[axis], shape[axis]), dtype)
    places = np.arange(shape[axis])
    earlier = np.less if site.attribute("exclusive", 0) else np.less_equal
    ones = earlier.outer(places, places).astype(dtype)
    ones = ones.T if site.attribute("reverse", 0) else ones
    order = [d for d in range(len(shape)) if d != axis]
    lines = _transposed(site, site.tensor(0), [*order, axis])
    rows = site.reshaped(lines, (prod(shape) // shape[axis], shape[axis]))
    sums = site.emit("matmul", rows, site.constant(np.ascontiguousarray(ones)))
    sums = site.reshaped(sums, site.shape(lines))
    site.finish("transpose", sums, axes=[*range(axis), len(order), *range(axis, len(order))])


def _transposed(site: NodeSite, tensor: str, order: list[int]) -> str:
    return tensor if order == sorted(order) else site.emit("transpose", tensor, axes=order)


PRODUCT_READERS: Mapping[str, Callable[[NodeSite], None]] = {
    "CumSum": _cumulative_sum,
    "Einsum": _einsum,
}
