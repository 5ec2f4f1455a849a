"""What strategies of every target share: from a task and a config to a loop program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import Any

from tilewright.space.alternative import Alternative
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.expressions.dtype import DATA_TYPES
from tilewright_tensor.ir.dag import Dag
from tilewright_tensor.ir.loop_ir import LoopProgram
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.lowering.program_pass import ProgramPass, apply_passes
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.schedule.schedule import Schedule


class ScheduledImplementation(ABC):
    """A strategy's implementation: schedules over a compute DAG of the task."""

    name: str

    def __init__(self, operators: Operators) -> None:
        self.operators = operators
        self._start = lru_cache(maxsize=64)(self.start)

    @abstractmethod
    def applies(self, task: Task) -> bool: ...

    @abstractmethod
    def alternatives(self, task: Task) -> Sequence[Alternative]: ...

    @abstractmethod
    def layouts(self, task: Task, config: ConfigEntity) -> Layouts: ...

    @abstractmethod
    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """The steps on top of `start`, with the operands' layouts set."""

    @abstractmethod
    def fallback(self, task: Task) -> ConfigEntity | None: ...

    def variant(self, task: Task, config: ConfigEntity) -> Hashable:
        """What `dag` and `start` depend on besides the task: configs of one variant share them."""
        del task, config
        return None

    def dag(self, task: Task, variant: Any) -> Dag:
        """The DAG to schedule: the operator's definition, unless another algorithm computes it."""
        del variant
        return self.operators.compute_dag(task.workload)

    def start(self, task: Task, variant: Any) -> Schedule:
        """The steps that all configs of a variant begin with; none here."""
        return Schedule.of(self.dag(task, variant))

    def viewed(self, task: Task) -> Task:
        """The task that is scheduled: another where the same memory is seen in another shape."""
        return task

    def passes(self, task: Task, config: ConfigEntity) -> Sequence[ProgramPass]:
        """What the lowered program goes through, in order."""
        del task, config
        return ()

    def lower(self, task: Task, config: ConfigEntity) -> LoopProgram:
        """The loop program of a config; operands in the layouts that `layouts` names."""
        name = f"{self.name.partition('.')[0]}_{self.viewed(task).workload.key}"
        return apply_passes(lower(self.schedule(task, config), name), self.passes(task, config))

    def schedule(self, task: Task, config: ConfigEntity) -> Schedule:
        """The schedule of a config, as steps that replay."""
        task = self.viewed(task)
        schedule = self._start(task, self.variant(task, config))
        dag, layouts = schedule.dag, self.layouts(task, config)
        specs = (*task.workload.inputs, self.operators.output(task.workload))
        operands = zip(
            (*dag.inputs, *dag.outputs), specs, (*layouts.inputs, *layouts.outputs), strict=True
        )
        for tensor, spec, text in operands:
            layout = Layout.parse(text).memory
            stored = layout.storage(spec.dtype)
            layout = layout.stored_as("" if stored == tensor.dtype else stored)
            if layout != Layout.logical(len(tensor.shape)):
                schedule = schedule.transform_layout(tensor, layout.text)
        return self.scheduled(task, config, schedule)


def logical_layouts(task: Task, output_rank: int) -> Layouts:
    """Every operand and the output in logical order."""
    inputs = tuple(Layout.logical(len(spec.shape)).text for spec in task.workload.inputs)
    return Layouts(inputs, (Layout.logical(output_rank).text,), constants(task))


def epilogue_layouts(task: Task, first: int, output: str) -> tuple[str, ...]:
    """Layouts of operands from `first` on: the output's, where its rank and blocks fit them."""
    layout = Layout.parse(output)
    return tuple(
        output
        if len(spec.shape) == layout.rank and layout.divides(spec.shape)
        else Layout.logical(len(spec.shape)).text
        for spec in task.workload.inputs[first:]
    )


def is_float32(task: Task) -> bool:
    """Whether every operand is float32."""
    return all(spec.dtype == "float32" for spec in task.workload.inputs)


def computes_in_float32(task: Task) -> bool:
    """Whether every operand is float32, or a float of 16 bits, which is computed in float32."""
    return all(DATA_TYPES[spec.dtype].accumulator == "float32" for spec in task.workload.inputs)


def is_elementwise(task: Task, operators: Operators) -> bool:
    """Whether the anchor is element-wise and has an axis."""
    definition = operators.get(task.workload.operator)
    return definition is not None and definition.elementwise and bool(task.workload.inputs[0].shape)


def constants(task: Task) -> frozenset[int]:
    """Numbers of the constant operands, which are packed at compile time."""
    return frozenset(i for i, spec in enumerate(task.workload.inputs) if spec.role == "constant")
