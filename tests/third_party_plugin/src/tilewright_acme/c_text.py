"""Loop programs as functions in C."""

from __future__ import annotations

import math

from tilewright_tensor.affine import Affine, Atom, Element, FloorDiv, Var
from tilewright_tensor.expr import Const, IndexValue, Load, Op, Value, dtype_of
from tilewright_tensor.loop_ir import (
    Allocate,
    Block,
    Buffer,
    Guard,
    Loop,
    LoopProgram,
    Prefetch,
    Statement,
    Store,
)

_TYPES = {
    "float32": "float", "float64": "double", "bool": "_Bool",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip
_ITEM_BYTES = {"float32": 4, "float64": 8, "bool": 1} | {
    f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==",
    "ne": "!=", "and": "&&", "or": "||",
}  # fmt: skip
_FUNCTIONS = {
    "exp": "exp", "expm1": "expm1", "log": "log", "log1p": "log1p", "sqrt": "sqrt", "tanh": "tanh",
    "erf": "erf", "sin": "sin", "cos": "cos", "floor": "floor", "ceil": "ceil", "round": "rint",
    "abs": "fabs", "pow": "pow", "rem": "fmod",
}  # fmt: skip
_ALIGNMENT = 64

# Integers divide towards minus infinity; the larger and the smaller of NaN and a number are NaN.
_OF_NUMBERS = """\
static inline {type} max_{name}({type} a, {type} b) {{ return a > b || a != a ? a : b; }}
static inline {type} min_{name}({type} a, {type} b) {{ return a < b || a != a ? a : b; }}
"""
_OF_INTEGERS = """\
static inline {type} div_{name}({type} a, {type} b) {{
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}}
static inline {type} mod_{name}({type} a, {type} b) {{
  return a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0);
}}
"""
PRELUDE = "#include <math.h>\n#include <stdint.h>\n" + "".join(
    (_OF_NUMBERS if name in ("float32", "float64") else _OF_NUMBERS + _OF_INTEGERS).format(
        name=name, type=text
    )
    for name, text in _TYPES.items()
    if name != "bool"
)
"""What stands before the functions."""


def workspace_bytes(program: LoopProgram) -> int:
    """Bytes of all workspaces of a program, each on a cache line of its own."""
    return sum(_aligned(buffer) for buffer in program.workspace)


def function_text(program: LoopProgram, name: str) -> str:
    """`static void NAME(char *const *at)`: addresses of operands and, behind them, of workspace.

    Parallel and vectorised loops are plain ones. Raises ValueError for what only GPUs do.
    """
    return _Function(program).text(name)


class _Function:
    def __init__(self, program: LoopProgram) -> None:
        self._program = program
        self._names: dict[Var | Buffer, str] = {}
        self._lines: list[str] = []

    def text(self, name: str) -> str:
        operands = (*self._program.inputs, *self._program.outputs)
        for number, buffer in enumerate(operands):
            self._pointer(buffer, f"at[{number}]")
        start = 0
        for buffer in self._program.workspace:
            self._pointer(buffer, f"(at[{len(operands)}] + {start})")
            start += _aligned(buffer)
        self._statement(self._program.body)
        return "\n".join((f"static void {name}(char *const *at) {{", *self._lines, "}\n"))

    def _pointer(self, buffer: Buffer, address: str) -> None:
        kind = _type(buffer.dtype)
        self._lines.append(f"{kind} *restrict {self._name(buffer)} = ({kind} *){address};")

    def _name(self, thing: Var | Buffer) -> str:
        """Numbered: a loop variable of the program may have any name."""
        return self._names.setdefault(thing, f"v{len(self._names)}")

    def _statement(self, statement: Statement) -> None:
        if isinstance(statement, Block):
            for one in statement.statements:
                self._statement(one)
        elif isinstance(statement, Loop):
            if statement.kind not in ("serial", "parallel", "unrolled", "vectorized"):
                raise ValueError(f"a processor has no {statement.kind}")
            name = self._name(statement.var)
            head = f"for (int64_t {name} = 0; {name} < {statement.extent}; ++{name})"
            self._braced(head, statement.body)
        elif isinstance(statement, Guard):
            tests = (f"{self._index(index)} < {limit}" for index, limit in statement.conditions)
            self._braced(f"if ({' && '.join(tests)})", statement.body)
        elif isinstance(statement, Allocate):
            buffer = statement.buffer
            array = f"{_type(buffer.dtype)} {self._name(buffer)}[{buffer.size}]"
            self._braced("", statement.body, f"_Alignas({_ALIGNMENT}) {array};")
        elif isinstance(statement, Store):
            target = self._value(Load(statement.buffer, statement.indices))
            self._lines.append(f"{target} = {self._value(statement.value)};")
        elif not isinstance(statement, Prefetch):
            raise ValueError(f"a processor has no {type(statement).__name__}")

    def _braced(self, head: str, body: Statement, first: str = "") -> None:
        self._lines.append(f"{head} {{{first}")
        self._statement(body)
        self._lines.append("}")

    def _index(self, index: Affine) -> str:
        parts = [f"{coefficient} * {self._atom(atom)}" for atom, coefficient in index.terms]
        return f"({' + '.join([*parts, str(index.constant)])})"

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, Var):
            return self._name(atom)
        if isinstance(atom, Element):
            return self._value(atom.value)
        name = "div" if isinstance(atom, FloorDiv) else "mod"
        return f"{name}_int64({self._index(atom.value)}, {atom.divisor})"

    def _value(self, value: Value) -> str:
        if isinstance(value, Const):
            return _constant(value)
        if isinstance(value, IndexValue):
            return self._index(value.value)
        if isinstance(value, Load):
            flat = Affine()
            for index, extent in zip(value.indices, value.buffer.shape, strict=True):
                flat = flat * extent + index
            return f"{self._name(value.buffer)}[{self._index(flat)}]"
        assert isinstance(value, Op)
        # C computes small integers as int: they wrap when they are converted back
        return f"(({_type(value.dtype)})({self._operation(value)}))"

    def _operation(self, value: Op) -> str:
        args, dtype = [self._value(arg) for arg in value.args], dtype_of(value.args[0])
        floating = dtype.startswith("float")
        if value.name in _INFIX:
            return f"{args[0]} {_INFIX[value.name]} {args[1]}"
        if value.name == "select":
            return f"{args[0]} ? {args[1]} : {args[2]}"
        if value.name in ("neg", "not", "cast"):
            return f"{ {'neg': '-', 'not': '!', 'cast': ''}[value.name] }{args[0]}"
        if value.name == "div" and floating:
            return f"{args[0]} / {args[1]}"
        if value.name in ("max", "min") or (value.name in ("div", "mod") and not floating):
            return f"{value.name}_{dtype}({args[0]}, {args[1]})"
        if value.name in _FUNCTIONS and floating:
            suffix = "f" if dtype == "float32" else ""
            return f"{_FUNCTIONS[value.name]}{suffix}({', '.join(args)})"
        if value.name == "abs":
            return f"{args[0]} < 0 ? -{args[0]} : {args[0]}"
        raise ValueError(f"C has no {value.name} of {dtype}")


def _type(dtype: str) -> str:
    if dtype not in _TYPES:
        raise ValueError(f"C has no type for {dtype}")
    return _TYPES[dtype]


def _constant(value: Const) -> str:
    number = value.value
    if not value.dtype.startswith("float"):
        return f"(({_type(value.dtype)}){int(number)})"
    if math.isfinite(number):
        return f"(({_type(value.dtype)}){float(number).hex()})"
    return "NAN" if math.isnan(number) else "INFINITY" if number > 0 else "-INFINITY"


def _aligned(buffer: Buffer) -> int:
    return -(-buffer.size * _ITEM_BYTES[buffer.dtype] // _ALIGNMENT) * _ALIGNMENT
