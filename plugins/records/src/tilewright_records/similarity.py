"""How alike two workloads are."""

from __future__ import annotations

from math import log2

from tilewright.vocabulary.workload import Workload

_OTHER_EPILOGUE = 0.25
"""As far apart as extents by a fifth."""


def similarity(a: Workload, b: Workload) -> float:
    """From 0, of other operators or ranks, to 1, of equal workloads.

    It falls with the factors between the extents of the anchors' operands, and with every attribute
    that differs.
    """
    first, second = a.anchor, b.anchor
    kinds = [
        (one.operator, [(len(s.shape), s.dtype) for s in one.inputs]) for one in (first, second)
    ]
    if kinds[0] != kinds[1]:
        return 0.0
    shapes = zip(first.inputs, second.inputs, strict=True)
    extents = [pair for s, t in shapes for pair in zip(s.shape, t.shape, strict=True)]
    distance = sum(abs(log2(max(1, m) / max(1, n))) for m, n in extents)
    names = {*first.attributes, *second.attributes}
    distance += sum(first.attributes.get(one) != second.attributes.get(one) for one in names)
    distance += _OTHER_EPILOGUE * (a.epilogue != b.epilogue)
    return float(1 / (1 + distance))


def _kind(anchor: Workload) -> object:
    return anchor.operator, [(len(one.shape), one.dtype) for one in anchor.inputs]
