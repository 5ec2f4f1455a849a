"""The strategies of x86: hand-written ones, and those for any operator with a definition."""

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
) -> Strategy:
    load = implementation_of(f"{__name__}.{folder}{name}")
    recorded = f"{name}.x86"
    return Strategy(recorded, revision, ("x86",), operators, load, priority, aliases=(name,))


def _bfloat16(
    name: str,
    operators: tuple[str, ...],
    module: str = "bfloat16.stored",
    *,
    revision: int = 1,
    priority: int = 20,
    arithmetic: str = "float32",
) -> Strategy:
    load = implementation_of(f"{__name__}.{module}", name)
    return Strategy(
        f"{name}_bf16.x86",
        revision,
        ("x86",),
        operators,
        load,
        priority,
        precision="bfloat16",
        arithmetic=arithmetic,
    )


_DOTS, _IN_TILES = "bfloat16/vdpbf16ps", "bfloat16/tdpbf16ps"
_TILES = 25
"""Where there are tiles, they are several times as fast as dot products of vectors."""
_CONV2D = ("conv2d",)
_PRODUCTS = "matmul", "dense"
_POOLS = "max_pool2d", "avg_pool2d", "global_avg_pool2d"

STRATEGIES = (
    _strategy("conv2d_direct", _CONV2D, revision=3),
    _strategy("conv2d_taps", _CONV2D, priority=11),
    _bfloat16("conv2d_direct", _CONV2D, "bfloat16.conv2d_direct", arithmetic=_DOTS),
    _bfloat16(
        "conv2d_tiles",
        _CONV2D,
        "bfloat16.conv2d_tiles",
        revision=2,
        priority=_TILES,
        arithmetic=_IN_TILES,
    ),
    _bfloat16("conv2d_packed", _CONV2D, "bfloat16.conv2d_packed", arithmetic=_DOTS),
    _bfloat16("conv2d_pixels", _CONV2D, "bfloat16.conv2d_pixels", arithmetic=_DOTS),
    Strategy(
        "conv2d_winograd.x86",
        2,
        ("x86",),
        _CONV2D,
        implementation_of(f"{__name__}.winograd.conv2d_winograd"),
        priority=12,
        direct_error=False,
    ),
    Strategy(
        "conv3d_winograd.x86",
        1,
        ("x86",),
        ("conv3d",),
        implementation_of(f"{__name__}.winograd.conv3d_winograd"),
        priority=12,
        direct_error=False,
    ),
    _strategy("conv3d_direct", ("conv3d",), "images."),
    _bfloat16("conv3d_direct", ("conv3d",), "bfloat16.conv3d_direct", arithmetic=_DOTS),
    _strategy("conv2d_transpose", ("conv2d_transpose",), "images."),
    _strategy("conv2d_depthwise", _CONV2D, revision=2),
    _bfloat16("conv2d_depthwise", _CONV2D, revision=2),
    _strategy("planes", (*_CONV2D, "max_pool2d", "avg_pool2d"), "images.", priority=8),
    _strategy("conv2d_pixels", _CONV2D),
    _strategy("products_in_tiles", ("matmul_integer",), priority=_TILES),
    _strategy("products_of_dots", ("matmul_integer",)),
    _bfloat16(
        "products_in_tiles",
        _PRODUCTS,
        "products_in_tiles",
        revision=2,
        priority=_TILES,
        arithmetic=_IN_TILES,
    ),
    _bfloat16("products_of_dots", _PRODUCTS, "products_of_dots", revision=2, arithmetic=_DOTS),
    _strategy("dense_packed", ("dense",)),
    _bfloat16("dense_packed", ("dense",)),
    _strategy("pool2d", _POOLS, revision=3),
    _bfloat16("pool2d", _POOLS, revision=2),
    _strategy("resize", ("resize",), "images."),
    _bfloat16("resize", ("resize",)),
    _strategy("softmax_rows", ("softmax",), "lines."),
    _strategy("top_places", ("top_places",), "lines.", revision=2),
    _strategy("attention", ("attention",), "attention."),
    _bfloat16("attention", ("attention",)),
    _bfloat16(
        "attention_in_tiles",
        ("attention",),
        "attention.attention_in_tiles",
        priority=_TILES,
        arithmetic=_IN_TILES,
    ),
    _strategy("layout_transform", ("layout_transform",), revision=2),
    _strategy("concat", ("concat",), revision=2),
    _bfloat16("concat", ("concat",), revision=2),
    _strategy("elementwise", (), revision=2),
    _bfloat16("elementwise", ()),
    _bfloat16("rows", ("layer_norm", "softmax")),
    _strategy("transpose", ("transpose",), "attention."),
    _bfloat16("transpose", ("transpose",), "attention.transpose"),
    _bfloat16("pairs", ("layout_transform",), "bfloat16.pairs"),
    _strategy("derived", (), priority=5),
    _bfloat16("derived", (), "derived", priority=6, arithmetic=""),
    _strategy("default", (), priority=0),
)
"""Named `MODULE.x86`, before as the module alone; `make(operators)` gives the implementation."""
