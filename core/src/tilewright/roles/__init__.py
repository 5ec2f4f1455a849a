"""The roles that plugins implement. Core calls these protocols and knows no implementation."""

from tilewright.roles.measurement import (
    Builder,
    BuildResult,
    Reached,
    ReachesDevices,
    Runner,
    TakesBatches,
    TellsBuilderFaults,
    TellsFaults,
)
from tilewright.roles.record_reader import RecordReader
from tilewright.roles.record_store import Count, Ranked, RecordStore, Spent
from tilewright.roles.reference import Array, Reference, RoundsToUnits, TellsLeastWork
from tilewright.roles.search import TaskScheduler, TaskState, Tuner
from tilewright.roles.target import (
    Artifact,
    EmulatesTargets,
    HandsOver,
    Kernel,
    MeasuresInstructions,
    ReadsInPlace,
    SharesCode,
    ShowsCode,
    SwapsKernels,
    TargetBackend,
    TellsItsParts,
    TellsOverruns,
    TellsReuseDistance,
)

__all__ = [
    "Array",
    "Artifact",
    "BuildResult",
    "Builder",
    "Count",
    "EmulatesTargets",
    "HandsOver",
    "Kernel",
    "MeasuresInstructions",
    "Ranked",
    "Reached",
    "ReachesDevices",
    "ReadsInPlace",
    "RecordReader",
    "RecordStore",
    "Reference",
    "RoundsToUnits",
    "Runner",
    "SharesCode",
    "ShowsCode",
    "Spent",
    "SwapsKernels",
    "TakesBatches",
    "TargetBackend",
    "TaskScheduler",
    "TaskState",
    "TellsBuilderFaults",
    "TellsFaults",
    "TellsItsParts",
    "TellsLeastWork",
    "TellsOverruns",
    "TellsReuseDistance",
    "Tuner",
]
