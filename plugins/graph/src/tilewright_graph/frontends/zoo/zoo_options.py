"""Options of the frontend `zoo`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tilewright.options import Options


class ZooOptions(Options):
    """Options of the frontend `zoo`."""

    batch: int = Field(1, ge=1, description="Images or texts at a time.")
    size: int | None = Field(
        None,
        ge=32,
        description="Height and width of the image of those that see one; default: the published.",
    )
    layout: Literal["NCHW", "NHWC"] = Field(
        "NCHW",
        description="Axis order of that image; within, tensors have the order that every network "
        "has.",
    )
    sequence: int = Field(128, ge=1, description="Tokens of those that read a text.")
