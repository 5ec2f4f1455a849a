"""The hook that tilewright-onnx adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright.plugins.plugin import hookspec

if TYPE_CHECKING:
    from tilewright_onnx.onnx_reader import OnnxReader


@hookspec
def tilewright_onnx_readers() -> Sequence[OnnxReader]:
    """Readers of ONNX nodes of other domains than ONNX's. First: onnx, for ONNX Runtime's own.

    Without one, a node of a user's domain becomes the operator of its name, its attributes by name.
    """
    raise NotImplementedError
