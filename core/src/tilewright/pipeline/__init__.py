"""Pipelines: a YAML file, its checked plan, and the run of its stages."""

from __future__ import annotations

from tilewright.pipeline.pipeline import Pipeline, RunResult

__all__ = ["Pipeline", "RunResult"]
