"""Loop programs in few words, for tests that write many."""

from __future__ import annotations

from typing import Any

from tilewright_tensor.expressions.affine import Affine, Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Load, Op, Value, dtype_of
from tilewright_tensor.ir.loop_ir import Loop, Statement, Store


def i(name: str) -> Affine:
    return index(Var(name))


def loop(name: str, extent: int, body: Statement, kind: Any = "serial") -> Loop:
    return Loop(Var(name), extent, kind, body)


def op(name: str, *args: Value, dtype: str = "") -> Op:
    return Op(name, args, dtype or dtype_of(args[-1]))


def at(buffer: Buffer, *indices: Any) -> Load:
    return Load(buffer, tuple(index(n) for n in indices))


def put(buffer: Buffer, indices: tuple[Any, ...], value: Value) -> Store:
    return Store(buffer, tuple(index(n) for n in indices), value)
