"""Registers what tilewright-openvino offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.plugins.plugin import Component, hookimpl, late


@hookimpl
def tilewright_oracles() -> Sequence[Component[Any]]:
    """`openvino`."""
    home = "tilewright_openvino.runtime"
    return [
        Component(
            "openvino",
            "OpenVINO on the CPU",
            late(home, "OpenVinoRuntime"),
            options=late(home, "OpenVinoOptions"),
            capabilities=frozenset({"when-named"}),  # its own precision is no reference
            lacks=_runtime_lacks,
        )
    ]


def _runtime_lacks() -> str:
    from tilewright_openvino.runtime import what_runtime_lacks

    return what_runtime_lacks()
