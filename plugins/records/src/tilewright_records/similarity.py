"""How alike two workloads are, and two devices."""

from __future__ import annotations

import re
from collections.abc import Hashable
from math import log2
from typing import Any

from tilewright.vocabulary.device import Device
from tilewright.vocabulary.workload import Workload

LIKE = 0.2
"""The least similarity of devices whose best configs are worth a trial on each other."""

_VERSION = re.compile(r"\d+(\.\d+)+")
_OTHER_VERSION = 0.25

_OTHER_EPILOGUE = 0.25
"""As far apart as extents by a fifth."""


def similarity(a: Workload, b: Workload) -> float:
    """From 0, of other operators or ranks, to 1, of equal workloads.

    It falls with the factors between the extents of the anchors' operands, and with every attribute
    that differs.
    """
    if a.operator != b.operator or kind(a) != kind(b):  # most are of another operator
        return 0.0
    first, second = a.anchor, b.anchor
    shapes = zip(first.inputs, second.inputs, strict=True)
    extents = [pair for s, t in shapes for pair in zip(s.shape, t.shape, strict=True)]
    distance = sum(abs(log2(max(1, m) / max(1, n))) for m, n in extents)
    names = {*first.attributes, *second.attributes}
    distance += sum(first.attributes.get(one) != second.attributes.get(one) for one in names)
    distance += _OTHER_EPILOGUE * (a.epilogue != b.epilogue)
    return float(1 / (1 + distance))


def kind(workload: Workload) -> Hashable:
    """Workloads of two kinds have nothing in common: of other operators, ranks or types."""
    operands = tuple((len(spec.shape), spec.dtype) for spec in workload.anchor.inputs)
    return workload.operator, operands


def device_similarity(a: Device, b: Device) -> float:
    """From 0, of other kinds of devices, to 1, of equal ones.

    It falls with the factors between numbers, such as bytes of caches, and with every other
    attribute that differs, least where it is a version of software.
    """
    if a.attributes.keys() != b.attributes.keys():
        return 0.0
    pairs = ((a.attributes[name], b.attributes[name]) for name in a.attributes)
    return 1 / (1 + sum(_apart(one, other) for one, other in pairs))


def _apart(one: Any, other: Any) -> float:
    if one == other:
        return 0.0
    numbers = [x for x in (one, other) if isinstance(x, int | float) and not isinstance(x, bool)]
    if len(numbers) == 2 and min(numbers) > 0:
        return abs(log2(one) - log2(other))  # the quotient of large whole numbers is none
    texts = [x for x in (one, other) if isinstance(x, str) and _VERSION.fullmatch(x)]
    return _OTHER_VERSION if len(texts) == 2 else 1.0
