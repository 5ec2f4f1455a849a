"""What a schedule is made of, and how a step makes the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import Dag
from tilewright_tensor.ir.loop_ir import LoopKind
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule.compute_stage import ComputeStage

Step = tuple[Any, ...]
"""`(primitive, argument, ...)`, names and ints and tuples of them: JSON values."""
Name = Tensor | str


@dataclass(frozen=True)
class ScheduleState:
    """The stages of a compute DAG, and the steps that led to them.

    layouts   of the tensors whose memory is arranged otherwise than in logical order
    """

    dag: Dag
    stages: Mapping[str, ComputeStage]
    layouts: Mapping[str, Layout]
    steps: tuple[Step, ...] = ()

    def _stage(
        self, primitive: str, stage: Name, argument: int = 1, parameter: str = "stage"
    ) -> ComputeStage:
        found = self.stages.get(name_of(stage))
        if found is None:
            raise ValueError(
                f"argument {argument}, '{parameter}' of {primitive}: "
                f"no stage named '{name_of(stage)}', "
                f"stages are {', '.join(self.stages)}"
            )
        return found

    def _loop(
        self,
        primitive: str,
        stage: ComputeStage,
        loop: str,
        parameter: str = "loop",
        position: int = 2,
    ) -> int:
        if loop not in stage.loops:
            raise ValueError(
                f"argument {position}, '{parameter}' of {primitive}: no loop named '{loop}', "
                f"loops of {stage.name} are {', '.join(stage.loops)}"
            )
        for other in self.stages.values() if primitive in ("split", "fuse") else ():
            if other.attach == (stage.name, loop):
                raise ValueError(
                    f"argument 2, '{parameter}' of {primitive}: "
                    f"{other.name} is computed at '{loop}'"
                )
        return stage.loops.index(loop)

    def _annotated(self, primitive: str, stage: Name, loops: Sequence[str], kind: LoopKind) -> Self:
        found = self._stage(primitive, stage)
        for loop in loops:
            self._loop(primitive, found, loop)
            if kind != "unrolled" and loop in found.reductions():
                raise ValueError(
                    f"argument 2, 'loop' of {primitive}: '{loop}' is a reduction, use rfactor first"
                )
        arguments = (kind,) if primitive == "bind" else ()
        return self._changed(
            (primitive, found.name, *loops, *arguments),
            found.changed(kinds={**found.kinds, **dict.fromkeys(loops, kind)}),
        )

    def _changed(self, step: Step, stage: ComputeStage) -> Self:
        return self._rewritten(step, {**self.stages, stage.name: stage})

    def _rewritten(self, step: Step, stages: Mapping[str, ComputeStage]) -> Self:
        return type(self)(self.dag, stages, self.layouts, (*self.steps, step))

    def __str__(self) -> str:
        return "\n".join(map(str, self.stages.values()))


def name_of(tensor: Name) -> str:
    """The name of a tensor that is given by itself or by name."""
    return tensor if isinstance(tensor, str) else tensor.name
