"""The strategies of CUDA: hand-written ones, and those that compute anything with a definition."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from tilewright.strategy import Schedule, Strategy

if TYPE_CHECKING:
    from tilewright.host import PluginHost


def _strategy(
    name: str,
    operators: tuple[str, ...],
    *,
    revision: int = 1,
    priority: int = 10,
    direct_error: bool = True,
) -> Strategy:
    return Strategy(
        f"{name}.cuda", revision, ("cuda",), operators, _loader(name), priority, direct_error
    )


def _loader(name: str) -> Callable[[PluginHost], Schedule]:
    def load(host: PluginHost) -> Schedule:
        from tilewright_tensor.operators.operators import Operators

        module = import_module(f"{__name__}.{name}")
        schedule: Schedule = module.make(Operators.of(host))
        return schedule

    return load


STRATEGIES = (
    _strategy("conv2d_igemm", ("conv2d",)),
    _strategy("dense_small_batch", ("dense",), revision=2, priority=12),
    _strategy("gemm", ("dense", "matmul")),
    _strategy("conv2d_winograd", ("conv2d",), priority=8, direct_error=False),
    _strategy("conv2d_depthwise", ("conv2d",)),
    _strategy("pool2d", ("max_pool2d", "avg_pool2d")),
    _strategy(
        "reduction", ("reduce_sum", "reduce_mean", "reduce_max", "global_avg_pool2d"), revision=2
    ),
    _strategy("softmax", ("softmax",)),
    _strategy("layout_transform", ("layout_transform",)),
    _strategy("elementwise", ()),
    _strategy("derived", (), priority=5),
    _strategy("default", (), revision=2, priority=0),
)
"""Named as AutoTVM names templates, `MODULE.cuda`; `make(operators)` gives the working half."""
