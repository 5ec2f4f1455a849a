"""Printable text of compute DAGs, schedules and loop programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright_tensor.expressions.expr import Const, IndexValue, Load, Op, Value
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Block,
    Buffer,
    CopyGroup,
    CopyWait,
    Guard,
    Loop,
    LoopProgram,
    Prefetch,
    Statement,
    Store,
)

if TYPE_CHECKING:
    from tilewright_tensor.ir.dag import Dag, Tensor
    from tilewright_tensor.schedule.schedule import Schedule

_INFIX = {
    "add": " + ", "sub": " - ", "mul": "*", "div": "/", "mod": " % ",
    "lt": " < ", "le": " <= ", "gt": " > ", "ge": " >= ", "eq": " == ", "ne": " != ",
    "and": " and ", "or": " or ",
}  # fmt: skip
_UPDATE = {"sum": "+=", "prod": "*="}


def value_text(value: Value) -> str:
    """A value as one line, every infix operation in parentheses."""
    if isinstance(value, Const):
        return str(value.value)
    if isinstance(value, IndexValue):
        return str(value.value)
    if isinstance(value, Op):
        args = [value_text(arg) for arg in value.args]
        if value.name in _INFIX:
            return f"({args[0]}{_INFIX[value.name]}{args[1]})"
        name = value.dtype if value.name == "cast" else value.name
        return f"{name}({', '.join(args)})"
    owner = value.buffer.name if isinstance(value, Load) else value.tensor.name
    return f"{owner}[{', '.join(map(str, value.indices))}]"


def tensor_text(tensor: Tensor) -> str:
    """A stage as `conv2d(n, f, y, x) += (pad[n, rc, y + ry]*w[f, rc, ry])`, or a shape."""
    if tensor.body is None:
        shape = ", ".join(map(str, tensor.shape))
        dtype = "" if tensor.dtype == "float32" else f", {tensor.dtype}"
        return f"{tensor.name} = placeholder({shape}{dtype})"
    update = (
        "="
        if tensor.combiner is None
        else _UPDATE.get(tensor.combiner.name, f"{tensor.combiner.name}=")
    )
    axes = ", ".join(axis.name for axis in tensor.axes)
    return f"{tensor.name}({axes}) {update} {value_text(tensor.body)}"


def dag_text(dag: Dag) -> str:
    """One line a tensor, producers first."""
    return "\n".join(tensor_text(tensor) for tensor in dag.tensors)


def schedule_text(schedule: Schedule) -> str:
    """The nest of every stage as planned, before extents are known."""
    lines: list[str] = []
    for stage in schedule.stages.values():
        where = (
            f" inside {stage.attach[0]} at {stage.attach[1]}, {stage.scope}" if stage.attach else ""
        )
        lines.append(f"stage {stage.name}{where}")
        for depth, loop in enumerate(stage.loops, 1):
            lines.append(f"{'  ' * depth}{stage.kinds.get(loop, 'serial')} {loop}")
    return "\n".join(lines)


def program_text(program: LoopProgram) -> str:
    """A loop program as indented text.

    A head with operands and workspace, then one line a statement.
    """
    operands = ", ".join(map(_buffer_text, program.inputs))
    results = ", ".join(map(_buffer_text, program.outputs))
    lines = [f"kernel {program.name}({operands}) -> {results}"]
    lines += [f"  workspace {_buffer_text(buffer)}" for buffer in program.workspace]
    _statement_lines(program.body, 1, lines)
    return "\n".join(lines)


def _buffer_text(buffer: Buffer) -> str:
    return f"{buffer.name}: {buffer.dtype}[{', '.join(map(str, buffer.shape))}]"


def _statement_lines(statement: Statement, depth: int, lines: list[str]) -> None:
    indent = "  " * depth
    if isinstance(statement, Block):
        for one in statement.statements:
            _statement_lines(one, depth, lines)
    elif isinstance(statement, Loop):
        kind = "for" if statement.kind == "serial" else statement.kind
        lines.append(f"{indent}{kind} {statement.var.name} in {statement.extent}:")
        _statement_lines(statement.body, depth + 1, lines)
    elif isinstance(statement, Guard):
        tests = " and ".join(f"{index} < {limit}" for index, limit in statement.conditions)
        lines.append(f"{indent}if {tests}:")
        _statement_lines(statement.body, depth + 1, lines)
    elif isinstance(statement, Allocate):
        lines.append(f"{indent}{statement.buffer.scope} {_buffer_text(statement.buffer)}")
        _statement_lines(statement.body, depth, lines)
    elif isinstance(statement, Store):
        target = f"{statement.buffer.name}[{', '.join(map(str, statement.indices))}]"
        lines.append(f"{indent}{target} = {value_text(statement.value)}")
    elif isinstance(statement, Prefetch):
        target = f"{statement.buffer.name}[{', '.join(map(str, statement.indices))}]"
        lines.append(f"{indent}prefetch {target} + {statement.offset_bytes} bytes")
    elif isinstance(statement, CopyGroup):
        lines.append(f"{indent}copies:")
        _statement_lines(statement.body, depth + 1, lines)
    elif isinstance(statement, CopyWait):
        lines.append(f"{indent}wait for copies, all but {statement.pending} groups")
    else:
        lines.append(f"{indent}barrier")
