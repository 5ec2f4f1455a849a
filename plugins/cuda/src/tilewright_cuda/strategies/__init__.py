"""The strategies of CUDA: hand-written ones, and those for any operator with a definition."""

from __future__ import annotations

from tilewright.strategies.strategy import Strategy
from tilewright_tensor.strategies.strategy_modules import implementation_of


def _strategy(
    name: str,
    operators: tuple[str, ...],
    folder: str = "",
    *,
    revision: int = 1,
    priority: int = 10,
    direct_error: bool = True,
) -> Strategy:
    load = implementation_of(f"{__name__}.{folder}{name}")
    return Strategy(f"{name}.cuda", revision, ("cuda",), operators, load, priority, direct_error)


def _mma(
    dtype: str, operators: tuple[str, ...], *, priority: int = 20, precision: str = "float32"
) -> Strategy:
    load, name = implementation_of(f"{__name__}.gemm_mma", dtype), f"gemm_mma_{dtype}.cuda"
    return Strategy(name, 2, ("cuda",), operators, load, priority, precision=precision)


_CONVOLUTIONS = "convolutions."
_PRODUCTS = "dense", "matmul"

STRATEGIES = (
    _strategy("conv2d_igemm", ("conv2d",), _CONVOLUTIONS),
    _strategy("dense_small_batch", ("dense",), revision=2, priority=12),
    _strategy("gemm", _PRODUCTS),
    _mma("tf32", _PRODUCTS, priority=18, precision="tf32"),
    _mma("bf16", _PRODUCTS, precision="bfloat16"),
    _mma("f16", _PRODUCTS, precision="float16"),
    _mma("integer", ("matmul_integer",)),
    _strategy(
        "conv2d_winograd",
        ("conv2d",),
        _CONVOLUTIONS,
        priority=8,
        direct_error=False,
        revision=2,
    ),
    _strategy("conv2d_depthwise", ("conv2d",), _CONVOLUTIONS),
    _strategy("conv2d_transpose", ("conv2d_transpose",), _CONVOLUTIONS),
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
"""Named as AutoTVM names templates, `MODULE.cuda`; `make(operators)` gives the implementation."""
