"""Pipelines: a YAML file, its checked plan, and the run of its stages."""

from __future__ import annotations

from tilewright.pipeline.pipeline import Pipeline
from tilewright.pipeline.running import RunResult

__all__ = ["Pipeline", "RunResult"]
