"""What every tensor instruction keeps to. Subclass and give a target that has it, or emulates it.

>>> class TestMine(TensorInstructionContract):
...     target, names = "TARGET", "GLOB"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import product
from typing import Any

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.target import Target
from tilewright_tensor.evaluation.evaluate import evaluate
from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.evaluation.numpy_value import Array
from tilewright_tensor.expressions.dtype import DATA_TYPES, is_float, limits, numpy_type, stored
from tilewright_tensor.expressions.expr import Read, Value, map_value
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import Dag, placeholder, reduce_axis
from tilewright_tensor.ir.loop_ir import LoopProgram
from tilewright_tensor.ir.tensor_instruction import TensorInstruction
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.lowering.verify import verify
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_testing.support.on_target import OnTarget

_STEPS = 3
"""How often the instruction adds to one result."""
_ERROR = 1e-5
_SMALL = 1e-4
"""Above the denormals of every float that instructions multiply."""
_RESULT = "result"


class TensorInstructionContract(OnTarget):
    """The target's text computes what an instruction means, at any values; nothing else is taken.

    names   glob over the names of the instructions to try
    """

    tasks = ()
    names = "*"

    def placed(self, schedule: Schedule) -> Schedule:
        """Override to bind the loop `once` around everything, as a GPU needs it."""
        return schedule

    @pytest.fixture
    def instructions(
        self, host: PluginHost, resolved: Target, device: Device
    ) -> list[TensorInstruction]:
        try:
            host.backend(resolved.kind).check_target(resolved, device)
        except UsageError as error:
            pytest.skip(f"{self.names} as it is: {error}")
        found: Sequence[Any] = list(host.components("tensor_instruction").values())
        mine = [x for x in found if x.target == resolved.kind and fnmatchcase(x.name, self.names)]
        assert mine, f"no instruction {self.names} of {resolved.kind}"
        return mine

    def test_its_text_computes_what_it_means(
        self,
        host: PluginHost,
        resolved: Target,
        device: Device,
        instructions: list[TensorInstruction],
    ) -> None:
        rng = np.random.default_rng(0)
        for instruction in instructions:
            schedule = self.placed(using(instruction))
            dag, program = schedule.dag, lower(schedule, "instruction")
            assert verify(program) == [], instruction
            arrays = [_random(tensor, rng) for tensor in dag.inputs]
            (expected,) = evaluate(dag, arrays)
            packed = _packed(schedule, arrays)
            _compare(interpret(program, packed)[0], expected, instruction)
            got = _run(host, resolved, device, program, packed)
            _compare(got, expected, instruction)

    def test_extreme_values_give_what_the_numbers_do(
        self,
        host: PluginHost,
        resolved: Target,
        device: Device,
        instructions: list[TensorInstruction],
    ) -> None:
        for instruction in instructions:
            schedule = self.placed(using(instruction))
            program = lower(schedule, "instruction")
            for arrays in _extremes(schedule.dag.inputs):
                with np.errstate(all="ignore"):
                    (expected,) = evaluate(schedule.dag, arrays)
                    expected = expected.astype(numpy_type(schedule.dag.outputs[0].dtype))
                got = _run(host, resolved, device, program, _packed(schedule, arrays))
                _compare(got, expected, instruction)

    def test_operands_that_lie_otherwise_are_refused(
        self, instructions: list[TensorInstruction]
    ) -> None:
        for instruction in instructions:
            for read in instruction.meaning.reads:
                if len(read.tensor.shape) > 1:
                    schedule = using(instruction, reversed_operand=read.tensor.name)
                    with pytest.raises(ValueError, match="elements apart, expected"):
                        lower(schedule, "instruction")

    def test_another_data_type_is_refused(self, instructions: list[TensorInstruction]) -> None:
        for instruction in instructions:
            with pytest.raises(ValueError, match="expected"):
                lower(using(instruction, dtype="float64"), "instruction")

    def test_its_step_replays(self, instructions: list[TensorInstruction]) -> None:
        for instruction in instructions:
            schedule, parts = using(instruction), (instruction, instruction.stores)
            known = {one.name: one for one in parts if one}
            again = Schedule.replay(schedule.dag, schedule.steps, known)
            assert str(lower(again, "instruction")) == str(lower(schedule, "instruction"))


def using(
    instruction: TensorInstruction, *, reversed_operand: str = "", dtype: str = ""
) -> Schedule:
    """A sum of its results over a few operands, each computed by one such instruction.

    One operand with its axes the other way round, or all of another data type, for what is to be
    refused.
    """
    dag = _repeated(instruction.meaning, dtype)
    schedule = Schedule.of(dag)
    for tensor in dag.inputs:
        layout = _layout(instruction.strides[tensor.name], tensor.name == reversed_operand)
        if Layout.parse(layout) != Layout.logical(len(tensor.shape)):
            schedule = schedule.transform_layout(tensor, layout)
    scope = instruction.scope
    total = f"{_RESULT}.{scope}"
    s = schedule.cache_write(_RESULT, scope)
    if instruction.stores:
        held = instruction.stores.scope
        s = s.cache_read(total, held, [_RESULT])
    axes = s.loops(_RESULT)
    s = s.fuse(_RESULT, [*axes]) if len(axes) > 1 else s
    (elements,) = s.loops(_RESULT)
    s = s.split(_RESULT, elements, [s.stages[_RESULT].full_extents()[elements]])
    once, elements = s.loops(_RESULT)
    if scope == "register":
        s = s.vectorize(_RESULT, elements)
    if instruction.stores:
        copy = f"{total}.{held}"
        s = s.compute_at(copy, _RESULT, once, held)
        s = s.tensorize(copy, s.loops(copy)[0], instruction.stores)
    s = s.compute_at(total, _RESULT, once, scope)
    count = len(instruction.meaning.axes)
    *spatial, step = s.loops(total)[: count + 1]
    s = s.reorder(total, [step, *spatial])
    if scope == "register":
        s = s.vectorize(total, spatial[-1])
    return s.tensorize(total, spatial[0], instruction)


def _repeated(meaning: Tensor, dtype: str) -> Dag:
    """The meaning, summed over a new first axis of its operands."""
    step = reduce_axis(_STEPS, "step")
    operands = {
        read.tensor.name: placeholder(
            read.tensor.name, (_STEPS, *read.tensor.shape), dtype or read.tensor.dtype
        )
        for read in meaning.reads
    }

    def leaf(value: Value) -> Value:
        if isinstance(value, Read):
            return Read(operands[value.tensor.name], (step.var.affine(), *value.indices))
        return value

    assert meaning.body is not None
    body, axes = map_value(meaning.body, leaf), (step, *meaning.reduce_axes)
    return Dag(
        [replace(meaning, name=_RESULT, body=body, reduce_axes=axes)], list(operands.values())
    )


def _layout(strides: Sequence[int | None], reverse: bool) -> str:
    """Axes by their strides, farthest first, behind that of the steps."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[1 : len(strides) + 1]
    far = float("inf")
    order = sorted(
        range(len(strides)), key=lambda i: far if strides[i] is None else strides[i] or 0,
        reverse=True,
    )  # fmt: skip
    inner = [letters[i] for i in order]
    return "A" + "".join(inner[::-1] if reverse else inner)


def _random(tensor: Tensor, rng: np.random.Generator) -> Array:
    if is_float(tensor.dtype):
        return stored(rng.uniform(-1, 1, tensor.shape), tensor.dtype)
    least, greatest = map(int, limits(tensor.dtype))
    return stored(rng.integers(least, greatest, tensor.shape, endpoint=True), tensor.dtype)


def _extremes(operands: Sequence[Tensor]) -> Iterator[list[Array]]:
    """Every operand all at one extreme value.

    A denormal may count as 0: its products with infinities and large numbers are not told.
    """
    kinds = [_extreme_values(tensor.dtype) for tensor in operands]
    for values in product(*kinds):
        sizes = [abs(value) for value in values]
        if max(sizes) > 1 and any(0 < size < _SMALL for size in sizes):
            continue
        yield [
            stored(np.full(tensor.shape, value), tensor.dtype)
            for tensor, value in zip(operands, values, strict=True)
        ]


def _extreme_values(dtype: str) -> list[float]:
    if not is_float(dtype):
        return [*limits(dtype)]
    one = DATA_TYPES[dtype]
    most = 2 ** (one.exponent - 1) - 1
    greatest, denormal = (2 - one.eps) * 2.0**most, 2.0**-most
    return [0.0, -1.0, np.nan, np.inf, -np.inf, greatest, denormal]


def _packed(schedule: Schedule, arrays: Sequence[Array]) -> list[Array]:
    pairs = zip(schedule.dag.inputs, arrays, strict=True)
    layouts = schedule.layouts
    return [
        layouts[tensor.name].pack(array) if tensor.name in layouts else array
        for tensor, array in pairs
    ]


def _run(
    host: PluginHost,
    target: Target,
    device: Device,
    program: LoopProgram,
    arrays: Sequence[Array],
) -> Array:
    backend, output = host.backend(target.kind), program.outputs[0]
    kernel = backend.load(backend.build(program, target), device)
    try:
        wrong = np.full(output.shape, 77).astype(numpy_type(output.dtype))
        kernel.bind([*arrays, wrong], {})
        kernel.launch()
        return np.array(kernel.read(len(arrays)))
    finally:
        kernel.close()


def _compare(got: Array, expected: Array, instruction: TensorInstruction) -> None:
    """Whole numbers are exact, floats near; NaN and infinities where they are expected."""
    if not is_float(instruction.meaning.dtype):
        np.testing.assert_array_equal(got, expected, str(instruction))
        return
    np.testing.assert_allclose(got, expected, _ERROR, _ERROR, err_msg=str(instruction))
