"""Registers what tilewright-onnx offers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.plugin import Component, hookimpl


def _late(module: str, name: str) -> Callable[[], Any]:
    """A thunk that imports `tilewright_onnx.MODULE` and returns one name of it."""
    from importlib import import_module

    return lambda: getattr(import_module(f"tilewright_onnx.{module}"), name)


@hookimpl
def tilewright_frontends() -> Sequence[Component[Any]]:
    """`onnx`."""
    return [
        Component(
            "onnx",
            "ONNX files, and the light models of the onnx package",
            _late("reader", "OnnxFrontend"),
            capabilities=frozenset({"onnx-light:", ".onnx"}),
        )
    ]


@hookimpl
def tilewright_oracles() -> Sequence[Component[Any]]:
    """`onnxruntime`."""
    return [Component("onnxruntime", "ONNX Runtime on the CPU", _late("runtime", "OnnxRuntime"))]
