"""Random loop programs: x86 code agrees with the interpreter."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from isa_levels import WIDTHS

from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.expressions.affine import Affine, Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Const, IndexValue, Load, Op, Value
from tilewright_tensor.ir.loop_ir import Allocate, Block, Guard, Loop, LoopProgram, Statement, Store

X = Buffer("x", (7, 41))
EXTENTS = (1, 2, 3, 5, 17)


class _Draw:
    """A nest of three loops over an output, with a reduction into a scratch buffer in its middle."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        kinds = ("serial", "parallel", "unrolled", "vectorized")
        self.loops = [
            (Var(f"v{n}"), self.random.choice(EXTENTS), self.random.choice(kinds)) for n in range(3)
        ]
        self.vars = [var for var, _, _ in self.loops]

    def program(self) -> LoopProgram:
        y = Buffer("y", tuple(extent for _, extent, _ in self.loops))
        scope = self.random.choice(("register", "local"))
        lanes, terms = self.random.choice(EXTENTS), self.random.choice((1, 2, 3, 20))
        scratch = Buffer("scratch", (lanes,), scope=scope)
        lane, term, last = Var("lane"), Var("term"), Var("last")

        def over_lanes(statement: Statement, var: Var) -> Statement:
            kind = (
                "vectorized"
                if scope == "register"
                else self.random.choice(("vectorized", "serial"))
            )
            return Loop(var, lanes, kind, statement)

        here = (index(lane),)
        added = Op(
            "add", (Load(scratch, here), self.value([*self.vars[:2], lane, term], 2)), "float32"
        )
        guarded = self.guarded(Store(scratch, here, added), [*self.vars[:2], term, lane])
        outer, (middle, middle_extent, middle_kind), (inner, inner_extent, inner_kind) = self.loops
        result = Op("add", (Load(scratch, (index(last),)), self.value(self.vars[:2], 2)), "float32")
        out = Store(y, tuple(index(var) for var in self.vars), self.value(self.vars, 3))
        final = Store(
            y,
            (index(outer[0]), index(middle), index(inner_extent - 1)),
            Op("max", (result, Const(0.25)), "float32"),
        )
        body = Block(
            (
                over_lanes(Store(scratch, here, self.value([*self.vars[:2], lane], 1)), lane),
                Loop(
                    term,
                    terms,
                    self.random.choice(("serial", "unrolled")),
                    over_lanes(guarded, lane),
                ),
                Loop(inner, inner_extent, inner_kind, out),
                Loop(last, lanes, self.random.choice(("unrolled", "unrolled", "serial")), final),
            )
        )
        if middle_kind == "vectorized":  # such a loop holds stores only
            middle_kind = "serial"
        nest: Statement = Loop(middle, middle_extent, middle_kind, Allocate(scratch, body))
        outer_kind = outer[2] if outer[2] != "vectorized" else "serial"
        return LoopProgram("random", (X,), (y,), Loop(outer[0], outer[1], outer_kind, nest))

    def guarded(self, statement: Store, variables: list[Var]) -> Statement:
        if self.random.random() < 0.5:
            return statement
        conditions = tuple(
            (self.affine(variables), self.random.randint(-3, 30))
            for _ in range(self.random.randint(1, 2))
        )
        return Guard(conditions, statement)

    def affine(self, variables: list[Var]) -> Affine:
        total = index(self.random.randint(-4, 4))
        for var in self.random.sample(variables, min(len(variables), self.random.randint(1, 3))):
            total = total + index(var) * self.random.choice((1, 1, 1, -1, 2, 3, -2))
        pick = self.random.random()
        if pick < 0.15:
            return total // self.random.choice((2, 3, 16))
        if pick < 0.3:
            return total % self.random.choice((2, 5, 16)) + self.affine(variables)
        return total

    def value(self, variables: list[Var], depth: int) -> Value:
        pick = self.random.random()
        if depth == 0 or pick < 0.3:
            row = self.affine(variables) % X.shape[0]
            column = self.affine(variables)
            if self.random.random() < 0.4:
                return Load(X, (row, column % X.shape[1]))
            inside = Op(
                "and",
                (
                    Op("ge", (IndexValue(column), Const(0, "int64")), "bool"),
                    Op("lt", (IndexValue(column), Const(X.shape[1], "int64")), "bool"),
                ),
                "bool",
            )
            return Op("select", (inside, Load(X, (row, column)), Const(0.5)), "float32")
        if pick < 0.4:
            return Op("cast", (IndexValue(self.affine(variables)),), "float32")
        if pick < 0.5:
            condition = Op("lt", (self.value(variables, depth - 1), Const(0.1)), "bool")
            sides = (self.value(variables, depth - 1), self.value(variables, depth - 1))
            return Op("select", (condition, *sides), "float32")
        name = self.random.choice(("add", "sub", "mul", "max", "min"))
        return Op(
            name, (self.value(variables, depth - 1), self.value(variables, depth - 1)), "float32"
        )


@pytest.mark.parametrize("seed", range(60))
def test_random_program_agrees_with_the_interpreter(seed: int, run_x86: Callable[..., Any]) -> None:
    program = _Draw(seed).program()
    x = np.random.default_rng(seed).uniform(-1, 1, X.shape).astype(np.float32)
    (expected,) = interpret(program, [x])
    (got,) = run_x86(program, [x], WIDTHS[seed % len(WIDTHS)], threads=1 + seed % 2)
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(got / scale, expected / scale, atol=3e-6)
