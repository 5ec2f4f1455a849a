"""Options of the frontend `zoo`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tilewright.options import Options


class ZooOptions(Options):
    """Options of the frontend `zoo`.

    size    height and width of the image of those that see one
    layout  axis order of that image; within, tensors have the order that every network has
    """

    batch: int = Field(1, ge=1)
    size: int = Field(224, ge=32)
    layout: Literal["NCHW", "NHWC"] = "NCHW"
