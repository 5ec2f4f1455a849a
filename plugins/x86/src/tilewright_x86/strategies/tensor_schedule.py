"""What every strategy here shares: from a task and a config to a loop program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from tilewright.config import ConfigEntity
from tilewright.layouts import Layouts
from tilewright.space.alternative import Alternative
from tilewright.task import Task
from tilewright_tensor.layout import Layout
from tilewright_tensor.loop_ir import LoopProgram
from tilewright_tensor.lower import lower
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.schedule import Schedule
from tilewright_x86.isa import isa_of


class TensorSchedule(ABC):
    """A strategy's working half: schedules over the compute DAG of the operator's definition."""

    name: str

    def __init__(self, operators: Operators) -> None:
        self.operators = operators

    @abstractmethod
    def applies(self, task: Task) -> bool: ...

    @abstractmethod
    def alternatives(self, task: Task) -> Sequence[Alternative]: ...

    @abstractmethod
    def layouts(self, task: Task, config: ConfigEntity) -> Layouts: ...

    @abstractmethod
    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """The steps on top of a schedule in which the layouts are set."""

    @abstractmethod
    def fallback(self, task: Task) -> ConfigEntity | None: ...

    def lower(self, task: Task, config: ConfigEntity) -> LoopProgram:
        """The loop program of a config; operands in the layouts that `layouts` names."""
        dag = self.operators.compute_dag(task.workload)
        layouts = self.layouts(task, config)
        schedule = Schedule.of(dag)
        operands = zip(
            (*dag.inputs, *dag.outputs), (*layouts.inputs, *layouts.outputs), strict=True
        )
        for tensor, layout in operands:
            if Layout.parse(layout) != Layout.logical(len(tensor.shape)):
                schedule = schedule.transform_layout(tensor, layout)
        return lower(self.scheduled(task, config, schedule), f"{self.name}_{task.workload.key}")


def lanes(task: Task) -> int:
    """float32 elements of a vector register of the target."""
    return isa_of(task.target).lanes(4)


def registers(task: Task) -> int:
    """Vector registers of the target: 32 with AVX-512, else 16."""
    return 32 if isa_of(task.target).vector_bits == 512 else 16


def is_float32(task: Task) -> bool:
    """Whether every operand is float32."""
    return all(spec.dtype == "float32" for spec in task.workload.inputs)


def largest_divisor(number: int, limit: int) -> int:
    """The largest divisor that is at most the limit."""
    return next(n for n in range(min(number, limit), 0, -1) if number % n == 0)


def channel_blocks(channels: int, lane_count: int) -> list[int]:
    """Blocks c of NCHW[c]c that divide the channels; 1 stands for plain NCHW.

    They hold whole vectors; where none does, the largest that fits into one vector.
    """
    whole = [lane_count * n for n in (1, 2, 4) if channels % (lane_count * n) == 0]
    return whole or [largest_divisor(channels, lane_count)]


def vector_counts(channels: int, lane_count: int, most: int) -> list[int]:
    """How many whole vectors of channels a tile may hold; 1 where the channels fill none."""
    counts = range(1, most + 1)
    return [n for n in counts if channels % (n * lane_count) == 0] or [1]


def blocked(block: int) -> str:
    """`NCHW16c` for 16, `NCHW` for 1."""
    return f"NCHW{block}c" if block > 1 else "NCHW"


def epilogue_layouts(task: Task, first: int, output: str) -> tuple[str, ...]:
    """Layouts of operands from `first` on: the output's, where its blocks divide them."""
    layout = Layout.parse(output)
    return tuple(
        output if layout.divides(spec.shape) else Layout.logical(len(spec.shape)).text
        for spec in task.workload.inputs[first:]
    )


def constants(task: Task) -> frozenset[int]:
    """Numbers of the constant operands, which are packed at compile time."""
    return frozenset(i for i, spec in enumerate(task.workload.inputs) if spec.role == "constant")


def padded(schedule: Schedule, block: int) -> Schedule:
    """A padded image, where there is one, is a stage of its own in the layout of the image."""
    if "pad" not in schedule.stages:
        return schedule
    n, c, h, w = schedule.loops("pad")
    if block == 1:
        s = schedule.fuse("pad", [n, c, h])
        return s.parallel("pad", f"{n}@{c}@{h}").vectorize("pad", w)
    s = schedule.transform_layout("pad", blocked(block)).split("pad", c, [block])
    around = [n, f"{c}.0", h]
    s = s.reorder("pad", [*around, w, f"{c}.1"]).vectorize("pad", f"{c}.1")
    return s.fuse("pad", around).parallel("pad", "@".join(around))
