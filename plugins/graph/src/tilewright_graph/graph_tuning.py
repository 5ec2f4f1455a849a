"""The choice of one config for each kernel, over the whole network, kept as records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tilewright.config import ConfigEntity
from tilewright.records import GraphRecord
from tilewright.roles import RunContext
from tilewright.task import Task
from tilewright.task_set import TaskSet, WeightedTask
from tilewright.tuning.loop import measure_incumbents
from tilewright_graph.assembly import Call, assemble
from tilewright_graph.candidates import (
    Accuracy,
    Candidate,
    find_candidates,
)
from tilewright_graph.extraction import ExtractedNetwork
from tilewright_graph.layout_problem import layout_problem
from tilewright_graph.prediction import recorded_seconds
from tilewright_graph.problem import GraphTuner, Solution

_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class GraphChoice:
    """A config for each kernel by its key, the solver's account, the number of transforms."""

    configs: Mapping[str, ConfigEntity]
    solution: Solution
    transforms: int


@dataclass(slots=True)
class Measured:
    """What was measured on the way, as run.json has it."""

    counts: Counter[str] = field(default_factory=Counter)
    split: Counter[str] = field(default_factory=Counter)

    def add(self, measurement: Mapping[str, Any]) -> None:
        self.counts.update({name: measurement[name] for name in ("trials", "failures", "seconds")})
        self.split.update(measurement.get("split", {}))

    def to_json(self) -> dict[str, Any]:
        trials, seconds = self.counts["trials"], float(self.counts["seconds"])
        return {
            "trials": trials,
            "failures": self.counts["failures"],
            "seconds": seconds,
            "trials_per_second": trials / seconds if trials else 0.0,
            "split": dict(self.split),
        }


def tune_graph(
    extracted: ExtractedNetwork,
    tuner: GraphTuner,
    context: RunContext,
    measured: Measured,
    accuracy: Accuracy = "default",
) -> GraphChoice:
    """The tuner's choice, kept as records.

    Transforms, and kernels without a record, count with an estimate at first; those that the choice
    needs are measured and the choice is made again, until it rests on records alone (or no more can
    be had).
    """
    tried: set[Task] = set()
    for _ in range(_ROUNDS):
        choice, calls = _solve(extracted, tuner, context, accuracy)
        unknown = {
            call.task: None
            for call in calls
            if call.task not in tried and recorded_seconds(call.task, call.config, context) is None
        }
        if not unknown:
            break
        tried.update(unknown)
        tasks = TaskSet(tuple(WeightedTask(task, name=task.workload.operator) for task in unknown))
        measured.add(measure_incumbents(tasks, context).measurement)
    _keep(extracted, choice, context)
    return choice


def _solve(
    extracted: ExtractedNetwork, tuner: GraphTuner, context: RunContext, accuracy: Accuracy
) -> tuple[GraphChoice, tuple[Call, ...]]:
    candidates: dict[Task, tuple[Candidate, ...]] = {
        task: find_candidates(task, context, accuracy)
        for task in dict.fromkeys(kernel.task for kernel in extracted.kernels)
    }
    transforms: dict[Task, Candidate] = {}

    def transform(task: Task) -> Candidate:
        if task not in transforms:
            transforms[task] = find_candidates(task, context, accuracy)[0]
        return transforms[task]

    layouts = layout_problem(extracted, candidates, lambda task: transform(task).seconds)
    solution = tuner.solve(layouts.problem)
    configs = {
        kernel.key: own[pick].config
        for kernel, own, pick in zip(
            extracted.kernels, layouts.candidates, solution.choice, strict=True
        )
    }

    def choose(task: Task, node: str) -> ConfigEntity:
        return configs[node] if node else transform(task).config

    calls = assemble(extracted, choose, context.host).calls
    return GraphChoice(configs, solution, len(calls) - len(extracted.kernels)), calls


def _keep(extracted: ExtractedNetwork, choice: GraphChoice, context: RunContext) -> None:
    """Write what differs from the choices that the store holds."""
    device, revisions = context.device, context.host.revisions
    known = context.store.graph_choices(device.fingerprint, revisions)
    records = []
    for kernel in extracted.kernels:
        config = choice.configs[kernel.key]
        held = known.get(kernel.key)
        if held is None or (held.task, held.config) != (kernel.task, config):
            revision = revisions[config.strategy.partition("/")[0]]
            records.append(
                GraphRecord(
                    kernel.key, kernel.task, config, device.name, device.fingerprint, revision
                )
            )
    if records:
        context.store.append(records)
