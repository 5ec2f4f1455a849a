"""Operations of whole numbers: divisions that are exact, and bits."""

from __future__ import annotations

from collections.abc import Callable

from tilewright_tensor.expr import Op, Operand, binary


def _of_two(name: str, says: str) -> Callable[[Operand, Operand], Op]:
    def operation(left: Operand, right: Operand) -> Op:
        return binary(name, left, right)

    operation.__name__, operation.__doc__ = name, says
    return operation


quotient = _of_two("quo", "Cut towards zero; 0 where the divisor is.")
remainder = _of_two("rem", "What `quotient` leaves, of floats too, with the sign of `left`.")
modulo = _of_two("mod", "What `divide` leaves, with the sign of `right`; 0 by 0.")
bitwise_and = _of_two("bitand", "The bits that both have.")
bitwise_or = _of_two("bitor", "The bits that either has.")
bitwise_xor = _of_two("bitxor", "The bits that one of the two has.")
shift_left = _of_two("shl", "`left` by `right` bits, fewer than it has; zeros come in.")
shift_right = _of_two("shr", "`left` by `right` bits, fewer than it has; its sign comes in.")
