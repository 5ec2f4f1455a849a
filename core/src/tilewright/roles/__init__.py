"""The roles that plugins play. Core calls these and knows nothing of who is behind them."""

from tilewright.roles.array import Array
from tilewright.roles.measurement import Builder, BuildResult, MeasureContext, Runner
from tilewright.roles.oracle import Oracle
from tilewright.roles.record_reader import RecordReader
from tilewright.roles.reference import Reference
from tilewright.roles.search import TaskScheduler, TaskState, Tuner, TunerContext
from tilewright.roles.stage import RunContext, Stage, StageResult
from tilewright.roles.target import Artifact, Kernel, TargetBackend, TellsItsParts, TellsOverruns

__all__ = [
    "Array",
    "Artifact",
    "BuildResult",
    "Builder",
    "Kernel",
    "MeasureContext",
    "Oracle",
    "RecordReader",
    "Reference",
    "RunContext",
    "Runner",
    "Stage",
    "StageResult",
    "TargetBackend",
    "TaskScheduler",
    "TaskState",
    "TellsItsParts",
    "TellsOverruns",
    "Tuner",
    "TunerContext",
]
