"""What a file that people may write has to say of a workload."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from tilewright.vocabulary.workload import Role

Extent = Annotated[int, Field(strict=True, ge=1)]
Place = Annotated[int, Field(strict=True, ge=0)]
Step = tuple[str, dict[str, Any], tuple[Place, ...], Place]
DefinedStep = tuple[str, dict[str, Any], tuple[Place, ...], Place, str]


class WorkloadFile(BaseModel):
    """The members of `Workload.to_json`; others are left alone."""

    operator: str
    inputs: tuple[tuple[tuple[Extent, ...], str, Role], ...]
    attributes: dict[str, Any]
    epilogue: tuple[Step | DefinedStep, ...]
    definition: str = ""
