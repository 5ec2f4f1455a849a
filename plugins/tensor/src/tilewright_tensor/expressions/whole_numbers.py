"""Operations of whole numbers: divisions that are exact, and bits."""

from __future__ import annotations

from tilewright_tensor.expressions.expr import of_two

quotient = of_two("quo", "Cut towards zero; 0 where the divisor is.")
remainder = of_two("rem", "What `quotient` leaves, of floats too, with the sign of `left`.")
modulo = of_two("mod", "What `divide` leaves, with the sign of `right`; 0 by 0.")
bitwise_and = of_two("bitand", "The bits that both have.")
bitwise_or = of_two("bitor", "The bits that either has.")
bitwise_xor = of_two("bitxor", "The bits that one of the two has.")
shift_left = of_two("shl", "`left` by `right` bits, fewer than it has; zeros come in.")
shift_right = of_two("shr", "`left` by `right` bits, fewer than it has; its sign comes in.")
