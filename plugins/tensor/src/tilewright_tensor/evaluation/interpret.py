"""The numpy interpreter of loop programs: the third opinion for every code generator.

It follows the program to the letter, in the dtypes of the program: scratch starts poisoned, an
access outside a buffer is an IndexError. Threads of a block run in phases between barriers; a
barrier that not all of them reach is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from tilewright_tensor.evaluation.numpy_value import Array, element, index_at, value_at
from tilewright_tensor.expressions.affine import Affine, Var
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.dtype import is_float, numpy_type
from tilewright_tensor.expressions.expr import Load, Read, Value, leaves
from tilewright_tensor.ir.facts import Condition
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Barrier,
    Block,
    CopyGroup,
    CopyWait,
    Guard,
    Loop,
    LoopProgram,
    Prefetch,
    Statement,
    Store,
    Tensorized,
    synchronises,
)

_Points = dict[Var, Any]
_Memory = dict[str, Array]


def interpret(program: LoopProgram, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """The outputs for the inputs, both in physical layout, in the program's order."""
    memory: _Memory = {}
    for buffer, array in zip(program.inputs, inputs, strict=True):
        if array.shape != buffer.shape or array.dtype != numpy_type(buffer.dtype):
            raise ValueError(
                f"{buffer.name}: expected {buffer.dtype}{buffer.shape}, "
                f"got {array.dtype}{array.shape}"
            )
        memory[buffer.name] = array
    for buffer in program.outputs + program.workspace:
        memory[buffer.name] = _poisoned(buffer)
    for _ in _Interpreter().phases(program.body, {}, memory, _Thread({})):
        pass
    return tuple(memory[buffer.name] for buffer in program.outputs)


def _poisoned(buffer: Buffer) -> Array:
    """NaN, or a value that is unlikely to be right."""
    if is_float(buffer.dtype):
        return np.full(buffer.shape, np.nan, numpy_type(buffer.dtype))
    return np.full(buffer.shape, 77, buffer.dtype)


@dataclass
class _Thread:
    """What a thread sees besides its private memory.

    shared    the block's
    copies    its groups of copies that have not happened yet, oldest first, as work to do
    """

    shared: _Memory
    copies: list[Callable[[], None]] = field(default_factory=list)


class _Interpreter:
    def __init__(self) -> None:
        self._synchronises: dict[int, bool] = {}

    def phases(
        self, statement: Statement, points: _Points, memory: _Memory, thread: _Thread
    ) -> Iterator[None]:
        """Runs the statement, pausing at every barrier; copies happen when they are waited for."""
        if not self._has_barrier(statement):
            self._run(statement, points, memory)
        elif isinstance(statement, Barrier):
            yield
        elif isinstance(statement, CopyGroup):
            thread.copies.append(partial(self._run, statement.body, points, memory))
        elif isinstance(statement, CopyWait):
            while len(thread.copies) > statement.pending:
                thread.copies.pop(0)()
        elif isinstance(statement, Block):
            for one in statement.statements:
                yield from self.phases(one, points, memory, thread)
        elif isinstance(statement, Allocate):
            buffer = statement.buffer
            array = (
                _poisoned(buffer)
                if buffer.scope != "shared"
                else thread.shared.setdefault(buffer.name, _poisoned(buffer))
            )
            yield from self.phases(statement.body, points, {**memory, buffer.name: array}, thread)
        elif isinstance(statement, Guard):
            if _hold(statement.conditions, points, memory):
                yield from self.phases(statement.body, points, memory, thread)
        elif isinstance(statement, Loop):
            turns = [{**points, statement.var: value} for value in range(statement.extent)]
            if statement.kind.startswith("blockIdx"):
                for turn in turns:
                    for _ in self.phases(statement.body, turn, memory, _Thread({})):
                        pass
            elif statement.kind.startswith("threadIdx") or statement.kind == "vthread":
                yield from _in_step(
                    [
                        self.phases(statement.body, turn, dict(memory), _Thread(thread.shared))
                        for turn in turns
                    ]
                )
            else:
                for turn in turns:
                    yield from self.phases(statement.body, turn, memory, thread)

    def _has_barrier(self, statement: Statement) -> bool:
        known = self._synchronises.get(id(statement))
        if known is None:
            known = self._synchronises[id(statement)] = synchronises(statement)
        return known

    def _run(self, statement: Statement, points: _Points, memory: _Memory) -> None:
        if isinstance(statement, Block):
            for one in statement.statements:
                self._run(one, points, memory)
        elif isinstance(statement, Allocate):
            self._run(
                statement.body,
                points,
                {**memory, statement.buffer.name: _poisoned(statement.buffer)},
            )
        elif isinstance(statement, Loop) and not _run_at_once(statement, points, memory):
            for value in range(statement.extent):
                self._run(statement.body, {**points, statement.var: value}, memory)
        elif isinstance(statement, Guard) and _hold(statement.conditions, points, memory):
            self._run(statement.body, points, memory)
        elif isinstance(statement, Store):
            _store(statement, points, memory, 1)
        elif isinstance(statement, Tensorized):
            self._run(statement.body, points, memory)
        else:
            assert isinstance(statement, Prefetch | Loop | Guard)


def _in_step(threads: list[Iterator[None]]) -> Iterator[None]:
    """All threads to the next barrier, again and again."""
    while True:
        arrived = [next(thread, threads) is None for thread in threads]
        if not any(arrived):
            return
        if not all(arrived):
            raise RuntimeError(
                f"{arrived.count(False)} of {len(threads)} threads do not reach a barrier"
            )
        yield


def _hold(conditions: Sequence[Condition], points: _Points, memory: _Memory) -> bool:
    return all(_index(index, points, memory) < limit for index, limit in conditions)


def _run_at_once(loop: Loop, points: _Points, memory: _Memory) -> bool:
    """Runs a perfect nest around one store, its spatial loops as arrays; False where it may not be.

    Elements of the store are independent, so their order is free; loops that do not select the
    element stay outside, in order. The store must not read its buffer but at the element itself,
    and no two points may write one element.
    """
    loops: list[Loop] = []
    conditions: list[Condition] = []
    statement: Statement = loop
    while isinstance(statement, Loop | Guard | Tensorized):
        if isinstance(statement, Loop):
            loops.append(statement)
        elif isinstance(statement, Guard):
            conditions += statement.conditions
        statement = statement.body
    if not isinstance(statement, Store):
        return False
    store = statement
    own = [x for x in leaves(store.value) if isinstance(x, Load) and x.buffer == store.buffer]
    if any(load.indices != store.indices for load in own):
        return False
    variables = frozenset[Var]().union(*(index.variables() for index in store.indices))
    spatial = [one for one in loops if one.var in variables]
    serial = [one for one in loops if one.var not in variables]
    if not spatial:
        return False
    grid = np.indices([one.extent for one in spatial]).reshape(len(spatial), -1)
    everywhere = {**points, **{one.var: axis for one, axis in zip(spatial, grid, strict=True)}}
    size = grid.shape[1]
    flat = np.zeros(size, np.int64)
    for index, extent in zip(store.indices, store.buffer.shape, strict=True):
        # guarded points may lie outside: any injective number will do
        flat = flat * (2 * extent + 1) + _index(index, everywhere, memory)
    if np.unique(flat).size != size:
        return False
    for values in product(*(range(one.extent) for one in serial)):
        at = {**everywhere, **{one.var: value for one, value in zip(serial, values, strict=True)}}
        count = size
        if conditions:
            keep = np.ones(size, bool)
            for index, limit in conditions:
                keep &= _index(index, at, memory) < limit
            at = {
                var: value[keep] if isinstance(value, np.ndarray) else value
                for var, value in at.items()
            }
            count = int(keep.sum())
        if count:
            _store(store, at, memory, count)
    return True


def _store(store: Store, points: _Points, memory: _Memory, count: int) -> None:
    value = _value(store.value, points, memory)
    target = memory[store.buffer.name]
    places = (_index(index, points, memory) for index in store.indices)
    indices = tuple(np.broadcast_to(place, (count,)) for place in places)
    element(target, store.buffer.name, indices, None)
    target[indices] = value


def _value(value: Value, points: _Points, memory: _Memory) -> Any:
    def fetch(load: Read | Load, indices: tuple[Any, ...], active: Any) -> Any:
        assert isinstance(load, Load)
        return element(memory[load.buffer.name], load.buffer.name, indices, active)

    return value_at(value, points, fetch, lambda name: numpy_type(name).type)


def _index(index: Affine, points: _Points, memory: _Memory) -> Any:
    """The index at every point, with what is found in memory."""
    return index_at(index, points, lambda value: _value(value, points, memory))
