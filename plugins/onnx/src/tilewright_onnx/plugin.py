"""Registers what tilewright-onnx offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.plugin import Component, hookimpl, late


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
def tilewright_oracles() -> Sequence[Component[Any]]:
    """`onnxruntime`."""
    runtime = late("tilewright_onnx.runtime", "OnnxRuntime")
    return [Component("onnxruntime", "ONNX Runtime on the CPU", runtime)]
