"""Scalar expressions as instructions, for one element or for all lanes of a vectorised loop."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright_tensor.expressions.affine import Affine
from tilewright_tensor.expressions.dtype import is_float, is_unsigned
from tilewright_tensor.expressions.expr import Const, IndexValue, Load, Op, Value, dtype_of, leaves
from tilewright_x86.llvm_ir.index_text import Indexes, LaneVaryingDivisionError, Linear
from tilewright_x86.llvm_ir.llvm_text import LLVM_TYPES, FunctionText, constant, type_of
from tilewright_x86.llvm_ir.memory_text import Memory, SsaValue
from tilewright_x86.text.arithmetic_text import Arithmetic
from tilewright_x86.text.needs import Needs

_LOGIC = {"and": "and", "or": "or"}
_FLOAT_COMPARE = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}
_INT_COMPARE = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}


class Values:
    """Writes expressions into a function."""

    def __init__(
        self,
        function: FunctionText,
        indexes: Indexes,
        memory: Memory,
        needs: Needs,
    ) -> None:
        self.function = function
        self.indexes = indexes
        self.memory = memory
        self.needs = needs
        self.arithmetic = Arithmetic(function, needs)
        indexes.element = lambda value: self.emit(value).text

    # --- entry points ---

    def emit(self, value: Value) -> SsaValue:
        """The expression's value at the present place."""
        if isinstance(value, Load):
            return self.memory.load(value)
        if isinstance(value, Op):
            return self._operation(value)
        if isinstance(value, Const):
            return SsaValue(constant(value.value, value.dtype), False)
        if isinstance(value, IndexValue):
            return self._index(value)
        raise ValueError(f"a loop program holds no {type(value).__name__}")

    def emit_all_lanes(self, value: Value) -> SsaValue:
        """As `emit`, with a value that is the same in all lanes repeated."""
        return SsaValue(self.spread(self.emit(value), dtype_of(value)), True)

    def less(self, linear: Linear, limit: int) -> SsaValue:
        """`linear < limit`; "true" or "false" where the ranges of the loops decide it."""
        low, high = self.indexes.range(linear)
        if high < limit:
            return SsaValue("true", False)
        if low >= limit:
            return SsaValue("false", False)
        if not linear.stride:
            left, depth = self.indexes.text(linear), self.indexes.depth(linear)
            return SsaValue(self.function.hoist(f"icmp slt i64 {left}, {limit}", depth), False)
        lanes = self.indexes.lanes
        assert lanes is not None
        # room + lane * stride < 0
        room = self.indexes.text(Linear(linear.constant - limit, linear.terms))
        item = "i32" if low - limit >= -(2**31) and high - limit < 2**31 else "i64"
        if item == "i32" and room.startswith("%"):
            room = self.function.hoist(f"trunc i64 {room} to i32", self.indexes.depth(linear))
        steps = ", ".join(f"{item} {lane * linear.stride}" for lane in range(lanes.width))
        kind = f"<{lanes.width} x {item}>"
        base = self._splat(room, item, lanes.width)
        position = self.function.define(f"add {kind} {base}, <{steps}>")
        return SsaValue(self.function.define(f"icmp slt {kind} {position}, zeroinitializer"), True)

    def less_lane_by_lane(self, affine: Affine, limit: int) -> SsaValue:
        """`less` for an index whose divisions differ from lane to lane."""
        return self.memory.lane_by_lane(
            "i1", lambda: self.less(self.indexes.linear(affine), limit).text
        )

    def width(self, varies: bool) -> int:
        """Lanes of an operand, 0 for a scalar."""
        return self.indexes.lanes.width if varies and self.indexes.lanes else 0

    def spread(self, operand: SsaValue, dtype: str) -> str:
        """The operand with one element a lane; itself outside a vectorised loop."""
        if operand.varies or self.indexes.lanes is None:
            return operand.text
        return self._splat(operand.text, LLVM_TYPES[dtype], self.indexes.lanes.width)

    def _alike(self, operands: Sequence[SsaValue], dtypes: Sequence[str]) -> tuple[list[str], bool]:
        """(their texts, whether they vary): where one does, each with one element a lane."""
        if not any(operand.varies for operand in operands):
            return [operand.text for operand in operands], False
        return [self.spread(o, dtype) for o, dtype in zip(operands, dtypes, strict=True)], True

    def _splat(self, text: str, item: str, width: int) -> str:
        if not text.startswith("%"):
            return f"splat ({item} {text})"
        one = self.function.define(f"insertelement <{width} x {item}> poison, {item} {text}, i32 0")
        return self.function.define(
            f"shufflevector <{width} x {item}> {one}, <{width} x {item}> poison, "
            f"<{width} x i32> zeroinitializer"
        )

    # --- indexes as values ---

    def _index(self, value: IndexValue) -> SsaValue:
        try:
            linear = self.indexes.linear(value.value)
        except LaneVaryingDivisionError:
            return self.memory.lane_by_lane(
                "i64", lambda: self.indexes.text(self.indexes.linear(value.value))
            )
        base = self.indexes.text(linear._replace(stride=0))
        lanes = self.indexes.lanes
        if lanes is None or not linear.stride:
            return SsaValue(base, False)
        steps = ", ".join(f"i64 {lane * linear.stride}" for lane in range(lanes.width))
        kind = f"<{lanes.width} x i64>"
        spread = self._splat(base, "i64", lanes.width)
        return SsaValue(self.function.define(f"add {kind} {spread}, <{steps}>"), True)

    def _index_comparison(self, value: Op) -> SsaValue | None:
        """A comparison of indexes that ranges or one `less` decide, None if it is none."""
        sides: list[Affine | int] = []
        for arg in value.args:
            if isinstance(arg, IndexValue):
                sides.append(arg.value)
            elif isinstance(arg, Const) and not is_float(arg.dtype):
                sides.append(int(arg.value))
            else:
                return None
        left, right = sides
        difference = left - right if not isinstance(left, int) else -(right - left)
        if isinstance(difference, int):
            return None
        try:
            linear = self.indexes.linear(-difference if value.name in ("gt", "ge") else difference)
        except LaneVaryingDivisionError:
            return None
        if value.name not in ("eq", "ne"):
            return self.less(linear, 0 if value.name in ("lt", "gt") else 1)
        low, high = self.indexes.range(linear)
        if low > 0 or high < 0:
            return SsaValue("false" if value.name == "eq" else "true", False)
        if low == high:
            return SsaValue("true" if value.name == "eq" else "false", False)
        return None

    # --- operations ---

    def _operation(self, value: Op) -> SsaValue:
        name = value.name
        if name in _FLOAT_COMPARE:
            return self._comparison(value)
        if name == "select":
            return self._select(value)
        if name in ("add", "sub") and self.needs.isa.fma and value.dtype in ("float32", "float64"):
            fused = self._fused(value)
            if fused:
                return fused
        if name in _LOGIC or name == "not":
            return self._logic(value)
        operands = [self.emit(arg) for arg in value.args]
        if name == "mul" and self._is_zero(value, operands):
            return SsaValue(constant(0.0, value.dtype), False)
        texts, varies = self._alike(operands, [dtype_of(arg) for arg in value.args])
        width, arithmetic = self.width(varies), self.arithmetic
        if name == "cast":
            source = dtype_of(value.args[0])
            return SsaValue(arithmetic.cast(texts[0], source, value.dtype, width), varies)
        if is_float(value.dtype):
            return SsaValue(arithmetic.float_(name, texts, value.dtype, width), varies)
        return SsaValue(arithmetic.integer(name, texts, value.dtype, width), varies)

    def _is_zero(self, product: Op, operands: Sequence[SsaValue]) -> bool:
        """Whether a product has a factor that is found to be 0, which is then its value, as in TVM.

        So it is with what padding adds, and with elements of constant tensors. A number that the
        definition itself multiplies by, such as an attribute, makes NaN of an infinity or NaN.
        """
        zero = constant(0.0, product.dtype)
        return is_float(product.dtype) and any(
            operand.text == zero and not isinstance(factor, Const)
            for factor, operand in zip(product.args, operands, strict=True)
        )

    def _fused(self, value: Op) -> SsaValue | None:
        """`a*b + c` and its kin as one rounding; None where no argument is a product."""
        left, right = value.args
        if isinstance(right, Op) and right.name == "mul":
            product, rest, product_first = right, left, False
        elif isinstance(left, Op) and left.name == "mul":
            product, rest, product_first = left, right, True
        else:
            return None
        first, second = self.emit(product.args[0]), self.emit(product.args[1])
        third = self.emit(rest)
        is_zero = self._is_zero(product, [first, second])
        if is_zero and (not product_first or value.name == "add"):
            return third
        (a, b, c), varies = self._alike([first, second, third], [value.dtype] * 3)
        kind = type_of(value.dtype, self.width(varies))
        if value.name == "sub":
            if product_first:
                c = self.function.define(f"fneg {kind} {c}")
            else:
                a = self.function.define(f"fneg {kind} {a}")
        return SsaValue(
            self.arithmetic.intrinsic("fma", [a, b, c], value.dtype, self.width(varies)), varies
        )

    def _comparison(self, value: Op) -> SsaValue:
        decided = self._index_comparison(value)
        if decided:
            return decided
        dtype = dtype_of(value.args[0])
        texts, varies = self._alike([self.emit(arg) for arg in value.args], [dtype] * 2)
        if dtype == "bfloat16":
            width = self.width(varies)
            texts = [self.arithmetic.cast(text, dtype, "float32", width) for text in texts]
            dtype = "float32"
        kind = type_of(dtype, self.width(varies))
        if is_float(dtype):
            compare = f"fcmp {_FLOAT_COMPARE[value.name]}"
        elif value.name in ("eq", "ne"):
            compare = f"icmp {value.name}"
        else:
            unsigned = is_unsigned(dtype)
            compare = f"icmp {'u' if unsigned else 's'}{_INT_COMPARE[value.name]}"
        return SsaValue(self.function.define(f"{compare} {kind} {texts[0]}, {texts[1]}"), varies)

    def _logic(self, value: Op) -> SsaValue:
        operands = [self.emit(arg) for arg in value.args]
        if value.name == "not":
            operands.append(SsaValue("true", False))
            word = "xor"
        else:
            word = _LOGIC[value.name]
            absorbing, neutral = ("false", "true") if word == "and" else ("true", "false")
            if any(o.text == absorbing for o in operands):
                return SsaValue(absorbing, False)
            left = [o for o in operands if o.text != neutral]
            if len(left) < 2:
                return left[0] if left else operands[0]
        texts, varies = self._alike(operands, ["bool"] * 2)
        kind = type_of("bool", self.width(varies))
        return SsaValue(self.function.define(f"{word} {kind} {texts[0]}, {texts[1]}"), varies)

    # --- select ---

    def _select(self, value: Op) -> SsaValue:
        condition = self.emit(value.args[0])
        if condition.text in ("true", "false"):
            return self.emit(value.args[1 if condition.text == "true" else 2])
        sides = value.args[1:]
        if all(self._harmless(side) for side in sides):
            operands = [self.emit(side) for side in sides]
            return self._choose(condition, operands, value.dtype)
        if not condition.varies:
            return self._branch(condition.text, sides, value.dtype)
        before = self.indexes.masked(condition.text)
        then = self.emit(sides[0])
        self.indexes.lanes = before
        kind = type_of("bool", self.width(True))
        opposite = self.function.define(f"xor {kind} {condition.text}, splat (i1 true)")
        self.indexes.masked(opposite)
        other = self.emit(sides[1])
        self.indexes.lanes = before
        return self._choose(condition, [then, other], value.dtype)

    def _choose(self, condition: SsaValue, sides: list[SsaValue], dtype: str) -> SsaValue:
        varies = condition.varies or any(side.varies for side in sides)
        then, other = (self.spread(side, dtype) if varies else side.text for side in sides)
        kind = type_of(dtype, self.width(varies))
        mask = type_of("bool", self.width(condition.varies))
        return SsaValue(
            self.function.define(f"select {mask} {condition.text}, {kind} {then}, {kind} {other}"),
            varies,
        )

    def _harmless(self, value: Value) -> bool:
        """Whether evaluating where it is not wanted cannot fault."""
        return all(self.memory.in_bounds(one) for one in leaves(value) if isinstance(one, Load))

    def _branch(self, condition: str, sides: tuple[Value, ...], dtype: str) -> SsaValue:
        function = self.function
        *labels, join = [function.fresh(name) for name in ("then", "else", "join")]
        function.effect(f"br i1 {condition}, label %{labels[0]}, label %{labels[1]}")
        arms = []
        for label, side in zip(labels, sides, strict=True):
            function.block(label)
            function.open_scope()
            before = self.memory.enter(())
            operand = SsaValue(self.spread(self.emit(side), dtype), self.indexes.lanes is not None)
            self.memory.leave(before, ())
            arms.append((operand, function.label))
            function.effect(f"br label %{join}")
            function.close_scope()
        function.block(join)
        varies = self.indexes.lanes is not None
        incoming = ", ".join(f"[ {operand.text}, %{label} ]" for operand, label in arms)
        return SsaValue(
            function.value(f"phi {type_of(dtype, self.width(varies))} {incoming}"), varies
        )
