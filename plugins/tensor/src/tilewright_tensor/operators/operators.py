"""The set of known operators, and what needs more than one of them: epilogues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from tilewright.errors import UsageError, did_you_mean
from tilewright.vocabulary.workload import EpilogueOp, TensorSpec, Workload
from tilewright_tensor.ir.accumulating import accumulating
from tilewright_tensor.ir.dag import Dag, placeholder
from tilewright_tensor.operators.builtin import (
    convolution,
    elementwise,
    extreme_place,
    gathering,
    movement,
    normalization,
    padding,
    pooling,
    product,
    reduction,
    reshaping,
    resizing,
)
from tilewright_tensor.operators.definition.attribute import Attributes
from tilewright_tensor.operators.definition.definition_key import definition_key
from tilewright_tensor.operators.definition.operator_def import OperatorDef
from tilewright_tensor.operators.definition.tail import Tail
from tilewright_tensor.operators.programs import suppression
from tilewright_tensor.operators.trials.checked_output import checked_output

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tilewright.plugins.component_host import ComponentHost
    from tilewright_tensor.expressions.tensor import Tensor
    from tilewright_tensor.layouts.constant_transform import Array

    Compute = Callable[[Sequence[Tensor], Attributes], Tensor]


class Operators(Mapping[str, OperatorDef]):
    """Operator definitions by name."""

    def __init__(
        self, definitions: Iterable[OperatorDef], host: ComponentHost | None = None
    ) -> None:
        self._host = host
        self._by_name: dict[str, OperatorDef] = {}
        for definition in definitions:
            if definition.name in self._by_name:
                raise UsageError(f"two definitions of the operator '{definition.name}'")
            self._by_name[definition.name] = definition

    @classmethod
    def of(cls, host: ComponentHost) -> Operators:
        """Those of all plugins; `OWNER/NAME` where several define an operator of a name.

        Such a name alone gives a UsageError that names both.
        """
        definitions: Mapping[str, Any] = host.components("operator")
        named = (
            definition if definition.name == name else replace(definition, name=name)
            for name, definition in definitions.items()
        )
        return cls(named, host)

    def __getitem__(self, name: str) -> OperatorDef:
        if name not in self._by_name and self._host is not None:
            name = self._host.catalogue("operator").find(name) or name
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def find(self, name: str, where: str = "") -> OperatorDef:
        """The definition of an operator. Raises UsageError with the nearest name."""
        try:
            return self[name]
        except UsageError as error:  # several have the name
            raise error.placed(where) from None
        except KeyError:
            remedy = f"{did_you_mean(name, list(self))}; --plugin FILE loads one of your own"
            raise UsageError(f"no operator named '{name}'", where=where, remedy=remedy) from None

    def workload(
        self,
        operator: str,
        inputs: Sequence[TensorSpec],
        attributes: Attributes | None = None,
        epilogue: Sequence[EpilogueOp] = (),
        where: str = "",
    ) -> Workload:
        """The canonical workload: attributes normalised, everything checked. Raises UsageError.

        The epilogue's operands are inputs of their own, behind the anchor's, each used once and in
        order.
        """
        canonical = [
            EpilogueOp(
                definition.name,
                definition.normalise(op.attributes, where),
                op.operands,
                op.position,
            )
            for op in epilogue
            for definition in [self.find(op.operator, where)]
        ]
        used = [i for op in epilogue for i in op.operands]
        anchor_count = len(inputs) - len(used)
        if used != list(range(anchor_count, len(inputs))):
            raise UsageError(
                f"{operator}: the epilogue reads inputs {used} of {len(inputs)}", where=where,
                remedy="its operands are the last inputs, each used once and in order",
            )  # fmt: skip
        rank = len(inputs[0].shape) if inputs else None
        definition = self.find(operator, where)
        complete = definition.normalise(attributes or {}, where, rank)
        workload = Workload(definition.name, tuple(inputs), complete, tuple(canonical))
        self.output(workload, where)
        return self.defined(workload)

    def defined(self, workload: Workload) -> Workload:
        """The workload with what tells its operators' definitions from earlier ones.

        Its key then changes with a definition; that of built-in operators' first ones is empty.
        """
        steps = (workload.operator, *(op.operator for op in workload.epilogue))
        if all(self.find(step).revision == 1 for step in steps):
            return workload
        anchor = workload.anchor
        running = self.find(anchor.operator).output(anchor.inputs, anchor.attributes)
        epilogue = []
        for op in workload.epilogue:
            operands = [workload.inputs[i] for i in op.operands]
            operands.insert(op.position, running)
            own = self._definition(op.operator, operands, op.attributes)
            epilogue.append(replace(op, definition=own))
            running = self.find(op.operator).output(operands, op.attributes)
        own = self._definition(anchor.operator, anchor.inputs, anchor.attributes)
        return replace(workload, definition=own, epilogue=tuple(epilogue))

    def _definition(
        self, operator: str, inputs: Sequence[TensorSpec], attributes: Attributes
    ) -> str:
        definition = self.find(operator)
        if definition.revision:
            return str(definition.revision) if definition.revision > 1 else ""
        operands = [
            placeholder(definition.operand(i).name, spec.shape, spec.dtype)
            for i, spec in enumerate(inputs)
        ]
        made = definition.compute(operands, definition.complete(attributes))
        return definition_key(Dag([made], operands))

    def output(self, workload: Workload, where: str = "") -> TensorSpec:
        """The output's specification. Raises UsageError for operands that do not fit."""
        return self.ended(workload, where)[0]

    def ended(self, workload: Workload, where: str = "") -> tuple[TensorSpec, Tail]:
        """(the output's specification, how it rounds). Raises UsageError as `output`."""
        anchor = workload.anchor
        definition = self.find(anchor.operator, where)
        running = checked_output(definition, anchor.inputs, anchor.attributes, where)
        tail = Tail.of_anchor(definition, anchor.inputs, running)
        if definition.program is not None and workload.epilogue:
            raise UsageError(f"{anchor.operator} is a program: it has no epilogue", where=where)
        for op in workload.epilogue:
            definition = self.find(op.operator, where)
            if not definition.elementwise:
                raise UsageError(
                    f"{op.operator} is not element-wise: no epilogue has it", where=where
                )
            if not 0 <= op.position <= len(op.operands):
                raise UsageError(
                    f"{op.operator} in the epilogue has no argument {op.position}", where=where
                )
            operands = [workload.inputs[i] for i in op.operands]
            operands.insert(op.position, running)
            result = definition.output(operands, op.attributes, where)
            if result.shape != running.shape:
                raise UsageError(
                    f"{op.operator} in the epilogue makes {list(result.shape)} "
                    f"of {list(running.shape)}",
                    where=where,
                    remedy="its other operands must have the output's rank, and its extents or 1",
                )
            try:
                tail = tail.after(definition, op.position, op.operands, running, result)
            except ValueError as error:
                raise UsageError(
                    f"{op.operator} in the epilogue {error}", where=where,
                    remedy="multiply or divide, add, round, clip and cast in this order",
                ) from None  # fmt: skip
            running = result
        return running, tail

    def compute_dag(
        self,
        workload: Workload,
        anchor_compute: Compute | None = None,
        shapes: Mapping[int, tuple[int, ...]] | None = None,
    ) -> Dag:
        """The workload in logical layout, one stage (or more) an operator.

        `anchor_compute` stands for the `compute` of the anchor's definition: another algorithm with
        the same result. `shapes` has those of constants that are transformed at compile time, by
        number.

        Placeholders come in the order of the inputs, named as the operator's operands (`data`,
        `weight`), those of the epilogue `e0`, `e1`, ... Stages are named after their operators
        (`conv2d`, `add`, a second one `add_1`), helping stages as their operator does (`pad`).
        `dag.outputs[0]` is the last stage.

        Floats of 16 bits are float32 in it, operands and result too, which are stored in formats of
        their dtypes: see `accumulating`.
        """
        anchor = workload.anchor
        definition = self.find(anchor.operator)
        count = len(anchor.inputs)
        names = [definition.operand(i).name for i in range(count)]
        names += [f"e{i}" for i in range(len(workload.inputs) - count)]
        changed = shapes or {}
        inputs = [
            placeholder(name, changed.get(number, spec.shape), spec.dtype)
            for number, (name, spec) in enumerate(zip(names, workload.inputs, strict=True))
        ]
        computed = anchor_compute or definition.compute
        running = computed(inputs[:count], definition.complete(anchor.attributes))
        used = Counter([_plain(anchor.operator)])
        for op in workload.epilogue:
            tensors = [inputs[i] for i in op.operands]
            tensors.insert(op.position, running)
            step = self.find(op.operator)
            stage = step.compute(tensors, step.complete(op.attributes))
            repeats = used[_plain(op.operator)]
            running = replace(stage, name=f"{stage.name}_{repeats}") if repeats else stage
            used[_plain(op.operator)] += 1
        return accumulating(Dag([running], inputs))

    def evaluate(self, workload: Workload, arrays: Sequence[Array]) -> Array:
        """The output without epilogue, by the numpy reference or by the compute DAG.

        Floats are float64 for every input dtype; whole numbers have the output's dtype.
        """
        from tilewright_tensor.evaluation.evaluate import evaluate, widened

        definition = self.find(workload.operator)
        if not definition.reference:
            return evaluate(self.compute_dag(workload), arrays)[0]
        wide = [widened(a, spec.dtype) for a, spec in zip(arrays, workload.inputs, strict=True)]
        result = definition.reference()(wide, definition.complete(workload.attributes))
        return widened(result, definition.output(workload.inputs, workload.attributes).dtype)


def _plain(operator: str) -> str:
    """An operator's name without its owner, as its stage has it."""
    return operator.rpartition("/")[2]


@cache
def builtin_operators() -> Operators:
    """The operators of this distribution."""
    families: tuple[Any, ...] = (
        convolution, product, pooling, normalization, reduction, extreme_place, elementwise,
        reshaping, padding, movement, gathering, resizing, suppression,
    )  # fmt: skip
    every = (definition for family in families for definition in family.OPERATORS)
    return Operators(replace(one, revision=one.revision or 1) for one in every)
