"""Options of the frontend `zoo`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tilewright.options import Options


class ZooOptions(Options):
    """Options of the frontend `zoo`.

    size      height and width of the image of those that see one; by default the published
    layout    axis order of that image; within, tensors have the order that every network has
    sequence  tokens of those that read a text
    """

    batch: int = Field(1, ge=1)
    size: int | None = Field(None, ge=32)
    layout: Literal["NCHW", "NHWC"] = "NCHW"
    sequence: int = Field(128, ge=1)
