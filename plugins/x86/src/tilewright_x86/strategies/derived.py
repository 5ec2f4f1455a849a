"""Schedules derived from the compute DAG by rules, under the limits of an x86 core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.vocabulary.task import Task
from tilewright_tensor.expressions.dtype import ITEM_BYTES
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.sketches.derived_products import DerivedProducts
from tilewright_tensor.sketches.rules import Rule
from tilewright_tensor.sketches.strategy import Derived
from tilewright_tensor.sketches.structure.sketch_input import Limits
from tilewright_x86.instructions.dot_products import VDPBF16PS
from tilewright_x86.machine.isa import isa_of
from tilewright_x86.strategies.tiles.vector_blocks import registers

_CACHE_BYTES = 512 << 10
"""Half of the second-level cache of today's cores."""
_POINTS = 512
"""Of which the fallback is chosen: products on two threads gain 7 % by four times the default."""


def limits(task: Task) -> Limits:
    """What a core of the task's target has, and its threads."""
    lanes = isa_of(task.target).lanes(ITEM_BYTES[task.workload.inputs[0].dtype])
    return Limits(lanes, registers(task), _CACHE_BYTES, task.target.threads)


def limits_in_bfloat16(task: Task) -> Limits:
    """The same, and the products of bfloat16 that the target has."""
    features = isa_of(task.target).features
    dots = tuple(dot for dot in VDPBF16PS.values() if dot.feature in features)
    return replace(limits(task), instructions=dots)


def make(operators: Operators, rules: Sequence[Rule] = (), name: str = "derived.x86") -> Derived:
    """The strategy's implementation; a plugin offers one of its own with rules and a name."""
    dtypes = "bfloat16", "float16", "float32", "float64"
    return Derived(operators, name, limits, rules, dtypes, points=_POINTS)


def derived(operators: Operators) -> Derived:
    """The implementation for products of float32 that are rounded to bfloat16."""
    return DerivedProducts(operators, "derived_bf16.x86", limits_in_bfloat16, points=_POINTS)
