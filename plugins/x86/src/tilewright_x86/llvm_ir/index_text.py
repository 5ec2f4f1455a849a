"""Index arithmetic of one function: affine maps resolved against the loops that are open.

A variable of an unrolled loop is a number, one of a rolled loop an SSA name, the variable of the
vectorised loop a number (or name) plus the lane. Resolving an affine index gives a `Linear`; only
divisions that do not simplify become instructions, and every instruction is hoisted to the loop
that defines its deepest variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

from tilewright_tensor.expressions.affine import Affine, Atom, Element, FloorDiv, Mod, Var
from tilewright_tensor.expressions.expr import Value
from tilewright_x86.llvm_ir.llvm_text import FunctionText

_HERE = 1 << 30
"""Depth of names that are known nowhere but where they were written: deeper than any scope."""


class Linear(NamedTuple):
    """`constant + sum of coefficient * name + stride * lane`.

    Terms sorted by the depth of their names.
    """

    constant: int
    terms: tuple[tuple[str, int], ...] = ()
    stride: int = 0


@dataclass(frozen=True, slots=True)
class Lanes:
    """The piece of a vectorised loop that is being written.

    width   elements of the vectors, a power of two
    valid   how many of them lie inside the loop
    mask    name of a `<width x i1>` of the lanes that guards leave, or None for all
    """

    var: Var
    width: int
    valid: int
    mask: str | None = None

    @property
    def tail(self) -> str | None:
        """Constant mask of the valid lanes, None where all are."""
        if self.valid == self.width:
            return None
        return f"<{', '.join('i1 ' + ('1' if i < self.valid else '0') for i in range(self.width))}>"


class LaneVaryingDivisionError(Exception):
    """A division differs from lane to lane in no regular way; the access goes lane by lane."""


class Indexes:
    """Values, ranges and depths of the names that indexes are made of."""

    def __init__(self, function: FunctionText) -> None:
        self.function = function
        self.lanes: Lanes | None = None
        self._values: dict[str, Linear] = {}  # by name: a text's hash is cached, a Var's is not
        # Names are never used again, so that what was made of some cannot become stale.
        self._pointers: dict[tuple[str, tuple[tuple[str, int], ...]], str] = {}
        self._quotients: dict[tuple[type[Atom], Linear, int, int], Linear] = {}
        self._orders: dict[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]] = {}
        self._ranges: dict[str, tuple[int, int]] = {}
        self._depths: dict[str, int] = {}
        self.element: Callable[[Value], str]  # writes what is found in memory
        # By counter of a loop from 0: (base, stride, element type) to the pointer it moves on.
        self._running: dict[str, dict[tuple[str, int, str], str]] = {}

    def bind(self, variable: str, value: Linear) -> None:
        """The variable of this name has this value until bound again."""
        self._values[variable] = value

    def name(self, name: str, low: int, high: int, depth: int) -> str:
        """An SSA name of type i64 may now be used in linears: its inclusive range and its scope."""
        self._ranges[name] = (low, high)
        self._depths[name] = depth
        return name

    def run(self, counter: str) -> None:
        """The counter is that of a loop from 0, which can move pointers on by itself."""
        self._running[counter] = {}

    def moved_on(self, counter: str, before: str, latch: str) -> list[str]:
        """Phis of the pointers that its loop moves on; the moves are written here, in the latch."""
        phis = []
        for (base, stride, item_type), pointer in self._running.pop(counter).items():
            step = f"getelementptr {item_type}, ptr {pointer}, i64 {stride}"
            following = self.function.value(step)
            phis.append(f"  {pointer} = phi ptr [ {base}, %{before} ], [ {following}, %{latch} ]")
        return phis

    @property
    def open_names(self) -> dict[str, tuple[Linear, dict[str, tuple[int, int]]]]:
        """Every bound variable with its value and the ranges of the names in it.

        What an outlined function inherits.
        """
        return {
            var: (value, {name: self._ranges[name] for name, _ in value.terms})
            for var, value in self._values.items()
        }

    @contextmanager
    def at_lane(self, lane: int) -> Iterator[None]:
        """Inside, there is one lane of the vector context instead of it."""
        lanes = self.lanes
        assert lanes is not None
        value = self._values[lanes.var.name]
        self._values[lanes.var.name] = Linear(value.constant + lane, value.terms)
        self.lanes = None
        try:
            yield
        finally:
            self._values[lanes.var.name] = value
            self.lanes = lanes

    # --- resolving ---

    def linear(self, affine: Affine) -> Linear:
        """The index as it stands here. Raises LaneVaryingDivisionError."""
        constant, stride = affine.constant, 0
        terms: dict[str, int] = {}
        lane_name = self.lanes.var.name if self.lanes else None
        for atom, coefficient in affine.terms:
            if type(atom) is Var:
                value = self._values[atom.name]
                if atom.name == lane_name:
                    stride += coefficient
            else:
                value = self._found(atom) if isinstance(atom, Element) else self._division(atom)
                stride += coefficient * value.stride
            constant += coefficient * value.constant
            for name, factor in value.terms:
                terms[name] = terms.get(name, 0) + coefficient * factor
        if not terms:
            return Linear(constant, (), stride)
        return Linear(constant, self._sorted(terms), stride)

    def _sorted(self, terms: dict[str, int]) -> tuple[tuple[str, int], ...]:
        unsorted = tuple(terms.items())
        known = self._orders.get(unsorted)
        if known is None:
            items = [item for item in unsorted if item[1]]
            items.sort(key=lambda item: self._depths[item[0]])
            known = self._orders[unsorted] = tuple(items)
        return known

    def _found(self, atom: Element) -> Linear:
        """An index read from memory, which is known from here on only."""
        if self.lanes and self.lanes.var in atom.variables():
            raise LaneVaryingDivisionError
        name = self.name(self.element(atom.value), 0, atom.extent - 1, _HERE)
        return Linear(0, ((name, 1),))

    def _division(self, atom: Atom) -> Linear:
        assert not isinstance(atom, Var | Element)
        inner = self.linear(atom.value)
        if self.depth(inner) == _HERE:
            return self._divided(atom, inner)
        width = self.lanes.width if self.lanes and inner.stride else 0
        key = (type(atom), inner, atom.divisor, width)
        quotient = self._quotients.get(key)
        if quotient is None:
            quotient = self._quotients[key] = self._divided(atom, inner)
        return quotient

    def _divided(self, atom: FloorDiv | Mod, inner: Linear) -> Linear:
        divisor = atom.divisor
        quotient = [(name, c // divisor) for name, c in inner.terms if c % divisor == 0]
        rest_terms = tuple((name, c) for name, c in inner.terms if c % divisor)
        whole, part = divmod(inner.constant, divisor)
        whole_stride, part_stride = divmod(inner.stride, divisor)
        rest = Linear(part, rest_terms, part_stride)
        low, high = self.range(rest)
        if low // divisor == high // divisor:
            steps = low // divisor
            if isinstance(atom, FloorDiv):
                return Linear(whole + steps, tuple(quotient), whole_stride)
            return Linear(part - steps * divisor, rest_terms, part_stride)
        if part_stride:
            raise LaneVaryingDivisionError
        dividend, depth = self.text(rest), self.depth(rest)
        if isinstance(atom, FloorDiv):
            name = self._floor_div(dividend, divisor, low, depth)
            self.name(name, low // divisor, high // divisor, depth)
            merged = dict(quotient)
            merged[name] = merged.get(name, 0) + 1
            return Linear(whole, self._sorted(merged), whole_stride)
        return Linear(0, ((self._mod(dividend, divisor, low, depth), 1),))

    def _floor_div(self, dividend: str, divisor: int, low: int, depth: int) -> str:
        hoist = self.function.hoist
        if low >= 0:
            return hoist(f"udiv i64 {dividend}, {divisor}", depth)
        # floor((x) / d) = (x - floor_mod(x, d)) / d, and that division is exact
        remainder = self._mod(dividend, divisor, low, depth)
        exact = hoist(f"sub i64 {dividend}, {remainder}", depth)
        return hoist(f"sdiv exact i64 {exact}, {divisor}", depth)

    def _mod(self, dividend: str, divisor: int, low: int, depth: int) -> str:
        hoist = self.function.hoist
        if low >= 0:
            name = hoist(f"urem i64 {dividend}, {divisor}", depth)
        else:
            signed = hoist(f"srem i64 {dividend}, {divisor}", depth)
            shifted = hoist(f"add i64 {signed}, {divisor}", depth)
            name = hoist(f"urem i64 {shifted}, {divisor}", depth)
        return self.name(name, 0, divisor - 1, depth)

    # --- what is known of a linear ---

    def range(self, linear: Linear) -> tuple[int, int]:
        """Smallest and largest value over all names and all lanes, padding lanes included."""
        low = high = linear.constant
        for name, coefficient in linear.terms:
            lo, hi = self._ranges[name]
            low += coefficient * (lo if coefficient > 0 else hi)
            high += coefficient * (hi if coefficient > 0 else lo)
        if linear.stride and self.lanes:
            span = linear.stride * (self.lanes.width - 1)
            low, high = low + min(span, 0), high + max(span, 0)
        return low, high

    def depth(self, linear: Linear) -> int:
        """Depth of the scope where all of it is known."""
        return self._depths[linear.terms[-1][0]] if linear.terms else 0

    def text(self, linear: Linear) -> str:
        """An i64 operand with the value of lane 0."""
        total = ""
        for name, coefficient in linear.terms:
            depth = self._depths[name]
            scaled = (
                name
                if coefficient == 1
                else self.function.hoist(f"mul i64 {name}, {coefficient}", depth)
            )
            total = self.function.hoist(f"add i64 {total}, {scaled}", depth) if total else scaled
        if not total:
            return str(linear.constant)
        if not linear.constant:
            return total
        return self.function.hoist(f"add i64 {total}, {linear.constant}", self.depth(linear))

    def pointer(self, base: str, terms: tuple[tuple[str, int], ...], item_type: str) -> str:
        """`base` moved by the terms, in elements.

        One step a loop, each written in the loop that defines it. Where the stride is a power of
        two, the counter is shifted, once for all pointers; by any other stride the loop moves the
        pointer on. One of the two ports by which Intel's cores multiply vectors multiplies integers
        too: an address would wait there behind the vectors, and the next loads for the address (up
        to a seventh of the time of convolutions for AVX2).
        """
        if terms and self._depths[terms[-1][0]] == _HERE:
            return self._pointer(base, terms, item_type)
        key = (base, terms)
        pointer = self._pointers.get(key)
        if pointer is None:
            pointer = self._pointers[key] = self._pointer(base, terms, item_type)
        return pointer

    def _pointer(self, base: str, terms: tuple[tuple[str, int], ...], item_type: str) -> str:
        outside = -1
        for name, coefficient in terms:
            depth = self._depths[name]
            running = self._running.get(name)
            if running is not None and depth > outside and coefficient & (coefficient - 1):
                moved = base, coefficient, item_type
                if moved not in running:
                    running[moved] = f"%{self.function.fresh('p')}"
                base = running[moved]
            elif coefficient > 0:
                step = f"getelementptr [{coefficient} x {item_type}], ptr {base}, i64 {name}"
                base = self.function.hoist(step, depth)
            else:
                scaled = self.function.hoist(f"mul i64 {name}, {coefficient}", depth)
                step = f"getelementptr {item_type}, ptr {base}, i64 {scaled}"
                base = self.function.hoist(step, depth)
            outside = depth
        return base

    def masked(self, mask: str) -> Lanes | None:
        """Narrow the vector context to lanes of a mask; returns the context before."""
        before = self.lanes
        assert before is not None
        if before.mask:
            mask = self.function.define(f"and <{before.width} x i1> {before.mask}, {mask}")
        self.lanes = replace(before, mask=mask)
        return before
