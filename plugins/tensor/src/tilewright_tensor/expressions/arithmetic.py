"""Python's operators on values: each builds an operation of `expr`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright_tensor.expressions.comparisons import Comparable
from tilewright_tensor.expressions.dtype import is_float

if TYPE_CHECKING:
    from tilewright_tensor.expressions.expr import Op, Value


class Arithmetic(Comparable):
    """Lets values be computed with and compared. Numbers take the other side's dtype."""

    __slots__ = ()

    def __add__(self, other: Any) -> Op:
        return _built("add", self, other)

    def __radd__(self, other: Any) -> Op:
        return _built("add", other, self)

    def __sub__(self, other: Any) -> Op:
        return _built("sub", self, other)

    def __rsub__(self, other: Any) -> Op:
        return _built("sub", other, self)

    def __mul__(self, other: Any) -> Op:
        return _built("mul", self, other)

    def __rmul__(self, other: Any) -> Op:
        return _built("mul", other, self)

    def __truediv__(self, other: Any) -> Op:
        return _quotient(self, other)

    def __rtruediv__(self, other: Any) -> Op:
        return _quotient(other, self)

    def __floordiv__(self, other: Any) -> Op:
        return _floored(self, other)

    def __rfloordiv__(self, other: Any) -> Op:
        return _floored(other, self)

    def __mod__(self, other: Any) -> Op:
        return _built("mod", self, other)

    def __rmod__(self, other: Any) -> Op:
        return _built("mod", other, self)

    def __pow__(self, other: Any) -> Op:
        return _built("pow", self, other)

    def __rpow__(self, other: Any) -> Op:
        return _built("pow", other, self)

    def __neg__(self) -> Op:
        from tilewright_tensor.expressions.expr import unary

        return unary("neg", self)

    def __abs__(self) -> Op:
        from tilewright_tensor.expressions.expr import unary

        return unary("abs", self)

    def __round__(self) -> Op:
        from tilewright_tensor.expressions.expr import unary

        return unary("round", self)

    def __and__(self, other: Any) -> Value:
        return _joined("and", self, other)

    def __rand__(self, other: Any) -> Value:
        return _joined("and", other, self)

    def __or__(self, other: Any) -> Value:
        return _joined("or", self, other)

    def __ror__(self, other: Any) -> Value:
        return _joined("or", other, self)

    def __invert__(self) -> Op:
        from tilewright_tensor.expressions.expr import logical_not

        return logical_not(self)


def _built(name: str, left: Any, right: Any) -> Op:
    from tilewright_tensor.expressions.expr import binary

    return binary(name, left, right)


def _quotient(left: Any, right: Any) -> Op:
    result = _built("div", left, right)
    if not is_float(result.dtype):
        raise ValueError(f"/ of {result.dtype}: write x // y, or cast(x, 'float32') / y")
    return result


def _floored(left: Any, right: Any) -> Op:
    result = _built("div", left, right)
    if is_float(result.dtype):  # floor(1.0 / 0.1) is 10, and 1.0 // 0.1 is 9
        raise ValueError(f"// of {result.dtype}: write floor(x / y)")
    return result


def _joined(name: str, left: Any, right: Any) -> Value:
    from tilewright_tensor.expressions.expr import logical_and, logical_or

    return (logical_and if name == "and" else logical_or)(left, right)
