"""Any operator with a definition, on any target: the schedule of last resort."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.expressions.dtype import DTYPES
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import Dag, operations_per_element
from tilewright_tensor.ir.loop_ir import LoopKind, LoopProgram, buffers, changed_kinds
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.operators.builtin.padding import pad_stage
from tilewright_tensor.operators.definition.attribute import Attributes
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    logical_layouts,
)


class DefaultImplementation(ScheduledImplementation):
    """Every stage in a nest of its own, layouts logical: with it any network runs.

    An operator that is a program is computed by its loops, of which a target may change the kinds.

    As it is, nests are plain loops and there is nothing to tune. A target's own says in `nest` how
    a stage is spread over vectors or threads, and in `alternatives` what of that is open.

    kinds    what loops of a program become, by their kind
    dtypes   that the target has; tasks with values of others are not for it
    """

    kinds: ClassVar[Mapping[LoopKind, LoopKind]] = {}

    def __init__(self, operators: Operators, name: str, dtypes: Collection[str] = DTYPES) -> None:
        super().__init__(operators)
        self.name = name
        self.dtypes = dtypes

    def applies(self, task: Task) -> bool:
        """Every operator that has values of these dtypes only."""
        if task.workload.operator not in self.operators:
            return False
        if self.dtypes is DTYPES:
            return True
        stored = (*task.workload.inputs, self.operators.output(task.workload))
        used = {spec.dtype for spec in stored}
        if program := self.own_program(task):
            return used.union(one.dtype for one in buffers(program)).issubset(self.dtypes)
        used |= {tensor.dtype for tensor in self._start(task, None).dag.tensors}
        return used.issubset(self.dtypes)

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """One, without knobs."""
        return [Knobs(self.name).alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """The only config."""
        return ConfigEntity(self.name)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Logical throughout, but for a layout transform, which is between the two it names."""
        workload = task.workload
        found = logical_layouts(task, len(self.operators.output(workload).shape))
        if workload.operator != "layout_transform":
            return found
        source, target = workload.attributes["src"], workload.attributes["dst"]
        return Layouts((source, *found.inputs[1:]), (target,), found.packed - {0})

    def lower(self, task: Task, config: ConfigEntity) -> LoopProgram:
        """The loop program of a config; where the operator is one, that."""
        program = self.own_program(task)
        if program is None:
            return super().lower(task, config)
        body = changed_kinds(program.body, self.kinds)
        return replace(program, name=f"{program.name}_{task.workload.key}", body=body)

    def own_program(self, task: Task) -> LoopProgram | None:
        """That of the operator, where it is one."""
        workload = task.workload
        definition = self.operators.find(workload.operator)
        if definition.program is None:
            return None
        return definition.program(workload.inputs, definition.complete(workload.attributes))

    def dag(self, task: Task, variant: Any) -> Dag:
        """The definition; a layout transform makes the margin of its target, too, of zeros.

        Readers multiply with it and add what comes of that.
        """
        workload = task.workload
        if workload.operator != "layout_transform" or workload.epilogue:
            return super().dag(task, variant)
        target = Layout.parse(workload.attributes["dst"])
        margin = [-n % b for n, b in zip(workload.inputs[0].shape, target.blocks, strict=True)]

        def computed(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
            (data,) = tensors
            whole = pad_stage(data, [0] * len(margin), margin, 0.0)
            return self.operators.find(workload.operator).compute([whole], attributes)

        return self.operators.compute_dag(workload, computed)

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Stages that rearrange or are cheap are inlined; each other becomes a nest."""
        s = schedule
        for tensor in s.dag.computes:
            if _inlined(tensor, s.dag):
                s = s.inline(tensor)
        for stage in tuple(s.stages):
            s = self.nest(task, config, s, stage)
        return s

    def nest(self, task: Task, config: ConfigEntity, schedule: Schedule, stage: str) -> Schedule:
        """The steps for one stage; none here."""
        return schedule


def _inlined(tensor: Tensor, dag: Dag) -> bool:
    """Whether readers compute it: it only moves data, or one reader reads it outside a sum."""
    if tensor in dag.outputs or tensor.reduce_axes:
        return False
    readers = dag.readers(tensor)
    alone = len(readers) == 1 and not readers[0].reduce_axes
    return alone or operations_per_element(tensor) == 0
