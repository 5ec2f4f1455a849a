"""Operations on scalars (width 0) and vectors of a width, as instructions."""

from __future__ import annotations

from tilewright_tensor.expressions.dtype import is_float, is_unsigned
from tilewright_x86.llvm_ir.llvm_text import LLVM_TYPES, FunctionText, constant, mangled, type_of
from tilewright_x86.llvm_ir.narrowing import low_bits
from tilewright_x86.machine.isa import Isa
from tilewright_x86.text import vector_math
from tilewright_x86.text.bfloat_text import rounded_bfloat, widened_bfloat
from tilewright_x86.text.needs import Needs

_FLOAT_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "rem": "frem"}
_LIBM = ("erf", "expm1", "log1p")  # of float64, where LLVM has no intrinsic
_INT_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "bitand": "and", "bitor": "or", "bitxor": "xor",
    "shl": "shl",
}  # fmt: skip
_DIVISIONS = {"div": "div", "mod": "rem", "quo": "div", "rem": "rem"}
_BOOL_BINARY = {"add": "or", "mul": "and"}  # as numpy has them
_FLOAT_INTRINSICS = {
    "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "round": "roundeven", "abs": "fabs",
    "exp": "exp", "log": "log", "tanh": "tanh", "sin": "sin", "cos": "cos", "pow": "pow",
}  # fmt: skip


def check_dtype(dtype: str, isa: Isa) -> None:
    """Raises ValueError for one that there are no values of."""
    if dtype not in LLVM_TYPES:
        raise ValueError(f"x86 has no {dtype}; there is {', '.join(LLVM_TYPES)}")
    if dtype == "float16" and not isa.fma:
        raise ValueError(f"float16 needs isa=avx2 or above, not {isa.name}")


class Arithmetic:
    """Writes operations on operands that are there already."""

    def __init__(self, function: FunctionText, needs: Needs) -> None:
        self.function = function
        self.needs = needs

    def intrinsic(self, name: str, texts: list[str], dtype: str, width: int) -> str:
        kind = type_of(dtype, width)
        suffix = mangled(LLVM_TYPES[dtype])
        if width:
            suffix = f"v{width}{suffix}"
        full = f"@llvm.{name}.{suffix}"
        self.needs.declare(f"{kind} {full}({', '.join([kind] * len(texts))})")
        return self.function.define(
            f"call {kind} {full}({', '.join(f'{kind} {text}' for text in texts)})"
        )

    def float_(self, name: str, texts: list[str], dtype: str, width: int) -> str:
        define, kind = self.function.define, type_of(dtype, width)
        if dtype == "bfloat16":
            widened = [self.cast(text, dtype, "float32", width) for text in texts]
            result = self.float_(name, widened, "float32", width)
            return self.cast(result, "float32", dtype, width)
        if name in _FLOAT_BINARY:
            return define(f"{_FLOAT_BINARY[name]} {kind} {texts[0]}, {texts[1]}")
        if name in ("max", "min"):
            return self._extremum(name, texts, kind, width)
        if name == "neg":
            return define(f"fneg {kind} {texts[0]}")
        if name in vector_math.FUNCTIONS:
            if dtype == "float32":
                writer = vector_math.Float32(self.function, width, self.needs)
                return vector_math.FUNCTIONS[name](writer, texts[0])
            if dtype == "float16":
                wide = self.cast(texts[0], dtype, "float32", width)
                result = self.float_(name, [wide], "float32", width)
                return self.cast(result, "float32", dtype, width)
            if name in _LIBM:
                return self._libm(name, texts[0], dtype, width)
        return self.intrinsic(_FLOAT_INTRINSICS[name], texts, dtype, width)

    def folded(self, name: str, vector: str, dtype: str, width: int) -> str:
        """A float operation reduced over all lanes, whose number is a power of two.

        Halves are combined until one element is left: in a row, each lane would wait for the last.
        """
        kind, define = type_of(dtype, width), self.function.define
        if width == 2:
            ends = [define(f"extractelement {kind} {vector}, i32 {lane}") for lane in range(2)]
            return self.float_(name, ends, dtype, 0)
        half = width // 2
        halves = []
        for first in (0, half):
            lanes = ", ".join(f"i32 {first + lane}" for lane in range(half))
            halves.append(
                define(f"shufflevector {kind} {vector}, {kind} poison, <{half} x i32> <{lanes}>")
            )
        return self.folded(name, self.float_(name, halves, dtype, half), dtype, half)

    def _extremum(self, name: str, texts: list[str], kind: str, width: int) -> str:
        """Maximum or minimum that returns NaN if either side is NaN.

        `select(a > b, a, b)` is the machine's own maximum: it returns b where one side is NaN. So
        NaN in b passes, and only NaN in a needs care, which a literal does not.
        """
        predicate = "ogt" if name == "max" else "olt"
        left, right = texts
        if not right.startswith("%"):
            left, right = right, left
        mask = type_of("bool", width)
        chosen = self.function.define(f"fcmp {predicate} {kind} {left}, {right}")
        result = self.function.define(f"select {mask} {chosen}, {kind} {left}, {kind} {right}")
        if not left.startswith("%"):
            return result
        nan = self.function.define(f"fcmp uno {kind} {left}, {left}")
        return self.function.define(f"select {mask} {nan}, {kind} {left}, {kind} {result}")

    def _libm(self, name: str, text: str, dtype: str, width: int) -> str:
        """A function of libm that LLVM has no intrinsic for, once a lane."""
        item = LLVM_TYPES[dtype]
        self.needs.declare(f"{item} @{name}({item})")
        if not width:
            return self.function.define(f"call {item} @{name}({item} {text})")
        kind, vector = f"<{width} x {item}>", "poison"
        for lane in range(width):
            scalar = self.function.define(f"extractelement {kind} {text}, i32 {lane}")
            scalar = self.function.define(f"call {item} @{name}({item} {scalar})")
            vector = self.function.define(
                f"insertelement {kind} {vector}, {item} {scalar}, i32 {lane}"
            )
        return vector

    def integer(self, name: str, texts: list[str], dtype: str, width: int) -> str:
        define, kind = self.function.define, type_of(dtype, width)
        unsigned = is_unsigned(dtype)
        binary = _BOOL_BINARY if dtype == "bool" else _INT_BINARY
        if name in binary:
            return define(f"{binary[name]} {kind} {texts[0]}, {texts[1]}")
        if name == "shr":
            return define(f"{'lshr' if unsigned else 'ashr'} {kind} {texts[0]}, {texts[1]}")
        if name in ("max", "min"):
            return self.intrinsic(f"{'u' if unsigned else 's'}{name}", texts, dtype, width)
        if name == "neg":
            return define(f"sub {kind} {'zeroinitializer' if width else '0'}, {texts[0]}")
        if name == "abs":
            if unsigned:
                return texts[0]
            negative = define(f"sub {kind} {'zeroinitializer' if width else '0'}, {texts[0]}")
            return self.intrinsic("smax", [texts[0], negative], dtype, width)
        if name in _DIVISIONS and dtype != "bool":
            return self._integer_division(name, texts, dtype, width)
        raise ValueError(f"no operation {name!r} on {dtype}")

    def _integer_division(self, name: str, texts: list[str], dtype: str, width: int) -> str:
        """Division that floors or cuts, and the remainders of both; all are 0 where the divisor is.

        The processor traps there, and where the quotient is too large: the least number by -1.
        """
        left, right = texts
        known = right.removeprefix(f"splat ({LLVM_TYPES[dtype]} ").removesuffix(")")
        if not right.startswith("%") and known not in ("0", "-1"):
            return self._divided(name, left, right, dtype, width)
        define, kind = self.function.define, type_of(dtype, width)
        mask, item = type_of("bool", width), LLVM_TYPES[dtype]
        one = f"splat ({item} 1)" if width else "1"
        raised = right if is_unsigned(dtype) else define(f"add {kind} {right}, {one}")
        least = "ult" if is_unsigned(dtype) else "ule"
        traps = define(f"icmp {least} {kind} {raised}, {one}")  # 0, and -1 of signed numbers
        divisor = define(f"select {mask} {traps}, {kind} {one}, {kind} {right}")
        result = self._divided(name, left, divisor, dtype, width)
        if name in ("mod", "rem"):
            return result
        product = define(f"mul {kind} {left}, {right}")
        return define(f"select {mask} {traps}, {kind} {product}, {kind} {result}")

    def _divided(self, name: str, left: str, right: str, dtype: str, width: int) -> str:
        define, kind = self.function.define, type_of(dtype, width)
        mask, zero = type_of("bool", width), "zeroinitializer" if width else "0"
        sign = "u" if is_unsigned(dtype) else "s"
        if sign == "u" or name in ("quo", "rem"):
            return define(f"{sign}{_DIVISIONS[name]} {kind} {left}, {right}")
        rest = define(f"srem {kind} {left}, {right}")
        sign = define(f"xor {kind} {rest}, {right}")
        opposite = define(f"icmp slt {kind} {sign}, {zero}")
        nonzero = define(f"icmp ne {kind} {rest}, {zero}")
        wrong = define(f"and {mask} {opposite}, {nonzero}")
        if name == "mod":
            moved = define(f"add {kind} {rest}, {right}")
            return define(f"select {mask} {wrong}, {kind} {moved}, {kind} {rest}")
        quotient = define(f"sdiv {kind} {left}, {right}")
        step = define(f"sext {mask} {wrong} to {kind}")
        return define(f"add {kind} {quotient}, {step}")

    def cast(self, text: str, source: str, dtype: str, width: int) -> str:
        """Whole numbers are cut to their low bits; floats to them saturate, and NaN becomes 0."""
        if source == dtype:
            return text
        for one in (source, dtype):
            check_dtype(one, self.needs.isa)
        if source == "float64" and dtype in ("float16", "bfloat16"):
            return self.cast(self._rounded_to_odd(text, width), "float32", dtype, width)
        if source == "bfloat16":
            wide = widened_bfloat(self.function, text, width)
            return self.cast(wide, "float32", dtype, width)
        if dtype == "bfloat16":
            wide = self.cast(text, source, "float32", width)
            return rounded_bfloat(self.function, wide, width, self.needs.uses)
        before, after = type_of(source, width), type_of(dtype, width)
        if dtype == "bool":
            zero = "zeroinitializer" if width else constant(0, source)
            compare = "fcmp une" if is_float(source) else "icmp ne"
            return self.function.define(f"{compare} {before} {text}, {zero}")
        unsigned = is_unsigned(source)
        if is_float(source) and is_float(dtype):
            wider = ["float16", "float32", "float64"]
            word = "fpext" if wider.index(dtype) > wider.index(source) else "fptrunc"
        elif is_float(source):
            word = "fptoui" if is_unsigned(dtype) else "fptosi"
            kinds = [mangled(LLVM_TYPES[one]) for one in (dtype, source)]
            suffix = ".".join(f"v{width}{one}" if width else one for one in kinds)
            name = f"@llvm.{word}.sat.{suffix}"
            self.needs.declare(f"{after} {name}({before})")
            return self.function.define(f"call {after} {name}({before} {text})")
        elif is_float(dtype):
            word = "uitofp" if unsigned else "sitofp"
        else:
            have, want = (_bits(before), _bits(after))
            if have == want:
                return text
            if want < have:
                return low_bits(self.function, text, width, have, want)
            word = "zext" if unsigned else "sext"
        return self.function.define(f"{word} {before} {text} to {after}")

    def _rounded_to_odd(self, text: str, width: int) -> str:
        """A float64 as a float32 that rounds to the same 16 bits; LLVM would call a function.

        It is cut off, and its last bit says whether anything was.
        """
        define, mask, whole = self.function.define, type_of("bool", width), type_of("int32", width)
        wide, narrow = type_of("float64", width), type_of("float32", width)
        nearest = define(f"fptrunc {wide} {text} to {narrow}")
        back = define(f"fpext {narrow} {nearest} to {wide}")
        sizes = [self.intrinsic("fabs", [one], "float64", width) for one in (back, text)]
        larger = define(f"fcmp ogt {wide} {sizes[0]}, {sizes[1]}")
        inexact = define(f"fcmp une {wide} {back}, {text}")
        bits = define(f"bitcast {narrow} {nearest} to {whole}")
        step = define(f"sext {mask} {larger} to {whole}")
        bits = define(f"add {whole} {bits}, {step}")
        odd = define(f"zext {mask} {inexact} to {whole}")
        bits = define(f"or {whole} {bits}, {odd}")
        return define(f"bitcast {whole} {bits} to {narrow}")


def _bits(kind: str) -> int:
    return int(kind.rpartition("i")[2].rstrip(">"))
