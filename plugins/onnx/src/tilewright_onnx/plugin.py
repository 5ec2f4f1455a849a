"""Registers what tilewright-onnx offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.plugins.plugin import Component, hookimpl, late

if TYPE_CHECKING:
    from types import ModuleType

    from tilewright_onnx.onnx_reader import OnnxReader


@hookimpl
def tilewright_hookspecs() -> Sequence[ModuleType]:
    """Readers of nodes of other domains."""
    from tilewright_onnx import hookspecs

    return [hookspecs]


@hookimpl
def tilewright_frontends() -> Sequence[Component[Any]]:
    """`onnx`."""
    return [
        Component(
            "onnx",
            "ONNX files, and the light models of the onnx package",
            late("tilewright_onnx.reader", "OnnxFrontend"),
            capabilities=frozenset({"onnx-light:", ".onnx"}),
        )
    ]


@hookimpl
def tilewright_network_writers() -> Sequence[Component[Any]]:
    """`onnx`."""
    return [Component("onnx", "ONNX files", late("tilewright_onnx.model.writer", "OnnxWriter"))]


@hookimpl
def tilewright_oracles() -> Sequence[Component[Any]]:
    """`onnxruntime`."""
    runtime = late("tilewright_onnx.runtime.runtime", "OnnxRuntime")
    return [Component("onnxruntime", "ONNX Runtime on the CPU", runtime, lacks=_runtime_lacks)]


def _runtime_lacks() -> str:
    from tilewright_onnx.runtime.silent_runtime import what_runtime_lacks

    return what_runtime_lacks()


@hookimpl
def tilewright_onnx_readers() -> Sequence[OnnxReader]:
    """Operators that ONNX Runtime makes of others."""
    from tilewright_onnx.onnx_reader import OnnxReader

    home = "tilewright_onnx.nodes.runtime_operators"
    return [
        OnnxReader("com.microsoft.BiasGelu", late(home, "read_bias_gelu")),
        OnnxReader("com.microsoft.Gelu", late(home, "read_gelu")),
        OnnxReader("com.microsoft.QuickGelu", late(home, "read_quick_gelu")),
    ]
