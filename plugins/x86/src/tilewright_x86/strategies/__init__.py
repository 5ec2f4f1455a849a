"""The strategies of x86: hand-written ones, and those for any operator with a definition."""

from __future__ import annotations

from tilewright.strategies.strategy import Strategy
from tilewright_tensor.strategies.strategy_modules import implementation_of


def _strategy(
    name: str, operators: tuple[str, ...], *, revision: int = 1, priority: int = 10
) -> Strategy:
    load = implementation_of(f"{__name__}.{name}")
    recorded = f"{name}.x86"
    return Strategy(recorded, revision, ("x86",), operators, load, priority, aliases=(name,))


def _bfloat16(name: str, operators: tuple[str, ...]) -> Strategy:
    load = implementation_of(f"{__name__}.{name}")
    return Strategy(f"{name}.x86", 1, ("x86",), operators, load, 20, precision="bfloat16")


STRATEGIES = (
    _strategy("conv2d_direct", ("conv2d",), revision=3),
    _bfloat16("conv2d_direct_bf16", ("conv2d",)),
    _strategy("conv2d_depthwise", ("conv2d",)),
    _strategy("conv2d_pixels", ("conv2d",)),
    _strategy("dense_packed", ("dense",)),
    _strategy("pool2d", ("max_pool2d", "avg_pool2d", "global_avg_pool2d"), revision=2),
    _strategy("softmax_rows", ("softmax",)),
    _strategy("layout_transform", ("layout_transform",), revision=2),
    _strategy("concat", ("concat",)),
    _strategy("elementwise", (), revision=2),
    _strategy("derived", (), priority=5),
    _strategy("default", (), priority=0),
)
"""Named `MODULE.x86`, before as the module alone; `make(operators)` gives the implementation."""
