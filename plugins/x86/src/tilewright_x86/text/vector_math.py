"""Functions of float32 written out as vector instructions, since LLVM would call libm once a lane.

Errors are against the exact result, over all finite float32 in a function's domain: exp 1 ulp (1.2
without fused multiply-adds; 0 in place of denormal results), log 1 ulp, tanh 3 ulp, erf 5.5 ulp (7
without), expm1 and log1p 4 ulp. Infinities and NaN give what IEEE asks for. The method is the usual
one: reduce the argument, evaluate a minimax polynomial with fused multiply-adds, put the exponent
back; erf is a quotient of two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright_x86.llvm_ir.llvm_text import FunctionText, constant
from tilewright_x86.text.needs import Needs

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 0.693359375
_LN2_LOW = -2.12194440e-4
_ROUND = (
    12582912.0  # 1.5 * 2**23: adding it leaves the nearest integer in the low bits of the mantissa
)


class Float32:
    """Instructions on float32 scalars (width 0) or vectors of a width."""

    def __init__(self, function: FunctionText, width: int, needs: Needs) -> None:
        self._function = function
        self._width = width
        self._fma = needs.isa.fma
        self._declare = needs.declare
        self.float = f"<{width} x float>" if width else "float"
        self.int = f"<{width} x i32>" if width else "i32"
        self.bool = f"<{width} x i1>" if width else "i1"

    def of(self, value: float) -> str:
        """A float literal."""
        text = constant(value, "float32")
        return f"splat (float {text})" if self._width else text

    def of_int(self, value: int) -> str:
        """An i32 literal."""
        return f"splat (i32 {value})" if self._width else str(value)

    def op(self, name: str, left: str, right: str) -> str:
        """`fadd`, `fsub`, `fmul`, `fdiv`."""
        return self._function.define(f"{name} {self.float} {left}, {right}")

    def int_op(self, name: str, left: str, right: str) -> str:
        """`add`, `sub`, `shl`, `lshr`, `ashr`, `and`, `or`."""
        return self._function.define(f"{name} {self.int} {left}, {right}")

    def multiply_add(self, a: str, b: str, c: str) -> str:
        """`a*b + c`, fused where the ISA can."""
        if not self._fma:
            return self.op("fadd", self.op("fmul", a, b), c)
        return self.call("fma", a, b, c)

    def call(self, intrinsic: str, *args: str) -> str:
        """An LLVM intrinsic on floats."""
        suffix = f"v{self._width}f32" if self._width else "f32"
        name = f"@llvm.{intrinsic}.{suffix}"
        self._declare(f"{self.float} {name}({', '.join([self.float] * len(args))})")
        return self._function.define(
            f"call {self.float} {name}({', '.join(f'{self.float} {a}' for a in args)})"
        )

    def compare(self, predicate: str, left: str, right: str) -> str:
        """`fcmp`."""
        return self._function.define(f"fcmp {predicate} {self.float} {left}, {right}")

    def select(self, condition: str, then: str, other: str) -> str:
        """Lanes of `then` where the condition holds."""
        return self._function.define(
            f"select {self.bool} {condition}, {self.float} {then}, {self.float} {other}"
        )

    def bits(self, value: str) -> str:
        """A float's bits as i32."""
        return self._function.define(f"bitcast {self.float} {value} to {self.int}")

    def from_bits(self, value: str) -> str:
        """The float with these bits."""
        return self._function.define(f"bitcast {self.int} {value} to {self.float}")

    def from_int(self, value: str) -> str:
        """An i32 converted."""
        return self._function.define(f"sitofp {self.int} {value} to {self.float}")

    def polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        """Horner's rule, highest coefficient first."""
        result = self.of(coefficients[0])
        for coefficient in coefficients[1:]:
            result = self.multiply_add(result, x, self.of(coefficient))
        return result


def exp(f: Float32, x: str) -> str:
    """e**x = 2**n * e**r with r from -ln(2)/2 on; 0 where that is no normal number.

    What a mask has left out in front of a softmax comes to that. Making a denormal number takes a
    hundred times as long as a normal one, and so does each product with it afterwards.

    r ends at ln(2)/2 but for the largest x: n stays below 128, since 2**n is to be a normal number,
    and e**r overflows in its product where e**x does.
    """
    shifted = f.multiply_add(x, f.of(_LOG2_E), f.of(_ROUND_BIASED))
    most = f.of(_ROUND_BIASED + 127)
    shifted = f.select(f.compare("ogt", shifted, most), most, shifted)
    n = f.op("fsub", shifted, f.of(_ROUND_BIASED))
    r = f.multiply_add(n, f.of(-_LN2_HIGH), x)
    r = f.multiply_add(n, f.of(-_LN2_LOW), r)
    power = f.from_bits(f.int_op("shl", f.bits(shifted), f.of_int(23)))
    result = f.op("fmul", f.polynomial(r, (*_EXPM1, 1.0)), power)
    is_normal = f.compare("uge", x, f.of(_LEAST_EXPONENT))  # unordered: NaN passes
    return f.select(is_normal, result, f.of(0.0))


_LEAST_EXPONENT = -87.33654022216797  # the least float32 whose exponential is a normal number
_ROUND_BIASED = _ROUND + 127  # its lowest bits are the exponent of 2**n
# a minimax fit of e**r, relative to it, on [-ln(2)/2, ln(2)], the last three coefficients given
_EXPM1 = (2.2968678e-4, 1.3862860e-3, 8.3274134e-3, 4.1667350e-2, 1.6666697e-1, 0.5, 1.0)


def log(f: Float32, x: str) -> str:
    """Natural logarithm.

    It is n*ln(2) + log(m) with m in [sqrt(1/2), sqrt(2)); denormals are scaled up first.
    """
    tiny = f.compare("olt", x, f.of(1.17549435e-38))
    scaled = f.select(tiny, f.op("fmul", x, f.of(8388608.0)), x)
    # counted from sqrt(1/2) = 0x3F3504F3, so that the exponent belongs to m
    offset = f.int_op("sub", f.bits(scaled), f.of_int(0x3F3504F3))
    n = f.int_op("ashr", offset, f.of_int(23))
    mantissa = f.int_op("and", offset, f.of_int(0x007FFFFF))
    m = f.from_bits(f.int_op("add", mantissa, f.of_int(0x3F3504F3)))
    n_float = f.from_int(n)
    n_float = f.select(tiny, f.op("fsub", n_float, f.of(23.0)), n_float)
    r = f.op("fsub", m, f.of(1.0))
    square = f.op("fmul", r, r)
    tail = f.op("fmul", f.op("fmul", r, square), f.polynomial(r, _LOG))
    tail = f.multiply_add(n_float, f.of(_LN2_LOW), tail)
    tail = f.multiply_add(square, f.of(-0.5), tail)
    result = f.multiply_add(n_float, f.of(_LN2_HIGH), f.op("fadd", r, tail))
    infinity = f.of(float("inf"))
    result = f.select(f.compare("ult", x, infinity), result, x)  # inf and NaN stay
    result = f.select(f.compare("oeq", x, f.of(0.0)), f.of(float("-inf")), result)
    return f.select(f.compare("ult", x, f.of(0.0)), f.of(float("nan")), result)


_LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip


def tanh(f: Float32, x: str) -> str:
    """An odd polynomial near 0, beyond it 1 - 2/(e**2|x| + 1) with the sign of x."""
    size = f.call("fabs", x)
    square = f.op("fmul", x, x)
    near = f.multiply_add(f.op("fmul", square, f.polynomial(square, _TANH)), size, size)
    e = exp(f, f.op("fadd", size, size))
    far = f.op("fdiv", f.of(2.0), f.op("fadd", e, f.of(1.0)))
    result = f.select(f.compare("olt", size, f.of(0.625)), near, f.op("fsub", f.of(1.0), far))
    return f.call("copysign", result, x)


_TANH = (
    -5.70498872745e-3,
    2.06390887954e-2,
    -5.37397155531e-2,
    1.33314422036e-1,
    -3.33332819422e-1,
)


def erf(f: Float32, x: str) -> str:
    """A quotient of polynomials, cut off at -1 and 1: from 3.92 on the nearest float32 is 1.

    An odd polynomial and, for what is far out, an exponential would come within 3 ulp by three
    times as many instructions, which a GELU behind a product of few terms waits for.
    """
    square = f.op("fmul", x, x)
    most = f.of(_ERF_MOST)
    square = f.select(f.compare("ogt", square, most), most, square)
    numerator = f.op("fmul", x, f.polynomial(square, _ERF_NUMERATOR))
    result = f.op("fdiv", numerator, f.polynomial(square, _ERF_DENOMINATOR))
    result = f.select(f.compare("ogt", result, f.of(1.0)), f.of(1.0), result)
    return f.select(f.compare("olt", result, f.of(-1.0)), f.of(-1.0), result)


_ERF_MOST = 15.3664  # 3.92**2
# a minimax fit to erf(sqrt(s)) / sqrt(s), relative to it, on (0, 3.92**2]; both are multiplied by
# the number that makes the roundings least
_ERF_NUMERATOR = (
    4.0914355850e-06, 5.6854879949e-04, 7.5151170604e-03, 1.0527197272e-01, 3.7999853492e-01,
    2.2519369125e+00,
)  # fmt: skip
_ERF_DENOMINATOR = (
    7.6020915003e-05, 2.3200996220e-03, 2.9874414206e-02, 2.2773033380e-01, 1.0020061731e+00,
    1.9957270622e+00,
)  # fmt: skip


def expm1(f: Float32, x: str) -> str:
    """e**x - 1, near 0 by the polynomial of `exp` alone."""
    near = f.op("fmul", x, f.polynomial(x, _EXPM1))
    far = f.op("fsub", exp(f, x), f.of(1.0))
    size = f.call("fabs", x)
    return f.call("copysign", f.select(f.compare("olt", size, f.of(_HALF_LN2)), near, far), x)


_HALF_LN2 = 0.34657359


def log1p(f: Float32, x: str) -> str:
    """log(1 + x): what the sum loses to rounding, the quotient makes good (W. Kahan's way)."""
    total = f.op("fadd", x, f.of(1.0))
    quotient = f.op("fdiv", x, f.op("fsub", total, f.of(1.0)))
    result = f.op("fmul", log(f, total), quotient)
    result = f.select(f.compare("oeq", total, f.of(1.0)), x, result)
    return f.select(f.compare("ult", total, f.of(float("inf"))), result, total)


FUNCTIONS: dict[str, Callable[[Float32, str], str]] = {
    "exp": exp,
    "expm1": expm1,
    "log": log,
    "log1p": log1p,
    "tanh": tanh,
    "erf": erf,
}
