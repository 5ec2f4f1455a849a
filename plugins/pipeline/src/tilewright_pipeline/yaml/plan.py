"""The checked plan: every component known, every option valid, every input made by someone."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.target import Target
from tilewright_pipeline.stages.planned_stage import PlannedStage
from tilewright_pipeline.yaml.file_model import PipelineFile


@dataclass(frozen=True, slots=True)
class Plan:
    """A pipeline file that can be run: its checked content and its stages in order.

    target_place   where the target stands, for messages
    """

    file: PipelineFile
    target: Target
    target_place: str
    stages: tuple[PlannedStage, ...]
    host: PluginHost
