"""C11, as every compiler has it: the functions that texts call, one for each dtype."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from tilewright_tensor.c_text.dialect import Dialect
from tilewright_tensor.expressions.dtype import ITEM_BYTES, is_float, is_whole, limits
from tilewright_tensor.expressions.expr import Const

_EXTREME = """\
static inline {T} {name}({T} a, {T} b) {{ return a {sign} b{or_nan} ? a : b; }}
"""
_QUO = """\
static inline {T} {name}({T} a, {T} b) {{
  if (b == 0) return 0;
  return {negative} && b == ({T})-1 ? ({T})(0ULL - (unsigned long long)a) : ({T})(a / b);
}}
"""
_REM = """\
static inline {T} {name}({T} a, {T} b) {{
  return b == 0 || ({negative} && b == ({T})-1) ? 0 : ({T})(a % b);
}}
"""
_FLOOR_DIV = """\
static inline {T} {name}({T} a, {T} b) {{
  {T} rest = tw_rem_{dtype}(a, b);
  return tw_quo_{dtype}(a, b) - (rest != 0 && (rest < 0) != (b < 0));
}}
"""
_FLOOR_MOD = """\
static inline {T} {name}({T} a, {T} b) {{
  {T} rest = tw_rem_{dtype}(a, b);
  return rest + (rest != 0 && (rest < 0) != (b < 0) ? b : 0);
}}
"""
_ABS = """\
static inline {T} {name}({T} a) {{ return a < 0 ? ({T})(0ULL - (unsigned long long)a) : a; }}
"""
_WHOLE = """\
static inline {T} {name}({F} x) {{
  if (x != x) return 0;
  return x >= {beyond} ? ({T}){high}ULL : x <= {low} ? ({T})({low}) : ({T})x;
}}
"""


class PlainC(Dialect):
    """C11 with the mathematics of its library."""

    reserved = frozenset({
        "at", "main", "NAN", "INFINITY", *Dialect.functions, *Dialect.functions.values(),
        *(f"{name}f" for name in Dialect.functions.values()),
    })  # fmt: skip

    def constant(self, value: Const, helpers: set[str]) -> str:
        """A literal, which is no int where it does not fit into one."""
        if value.dtype == "uint64":
            return f"{int(value.value)}ULL"
        if value.dtype == "int64" and value.value == limits("int64")[0]:
            return f"({int(value.value) + 1}LL - 1)"
        return super().constant(value, helpers)

    def prelude(self, used: Collection[str]) -> str:
        """What stands before functions that use these helpers."""
        wanted = set(used)
        for name in used:
            for short in ("tw_floor_div_", "tw_floor_mod_"):
                if name.startswith(short):
                    dtype = name.removeprefix(short)
                    wanted |= {f"tw_quo_{dtype}", f"tw_rem_{dtype}"}
        texts = (text for name, text in _definitions().items() if name in wanted)
        return "".join(("#include <math.h>\n#include <stdbool.h>\n", *texts))


@cache
def _definitions() -> dict[str, str]:
    """Every helper, each after those that it calls."""
    found: dict[str, str] = {}

    def define(name: str, text: str, dtype: str, **words: object) -> None:
        kind = Dialect.types[dtype]
        found[name] = text.format(name=name, T=kind, dtype=dtype, **words)

    for dtype in Dialect.types:
        or_nan = " || a != a" if is_float(dtype) else ""
        define(f"tw_max_{dtype}", _EXTREME, dtype, sign=">", or_nan=or_nan)
        define(f"tw_min_{dtype}", _EXTREME, dtype, sign="<", or_nan=or_nan)
        if not is_whole(dtype):
            continue
        low, high = limits(dtype)
        negative = "1" if low < 0 else "0"
        for name, text in (("quo", _QUO), ("rem", _REM)):
            define(f"tw_{name}_{dtype}", text, dtype, negative=negative)
        define(f"tw_floor_div_{dtype}", _FLOOR_DIV, dtype)
        define(f"tw_floor_mod_{dtype}", _FLOOR_MOD, dtype)
        if low < 0:
            define(f"tw_abs_{dtype}", _ABS, dtype)
        bits = 8 * ITEM_BYTES[dtype] - (low < 0)
        for source in ("float32", "float64"):
            literal = f"-0x1p{bits}" if low < 0 else "0.0"
            words = {"F": Dialect.types[source], "beyond": f"0x1p{bits}", "low": literal}
            define(f"tw_whole_{source}_{dtype}", _WHOLE, dtype, high=high, **words)
    return found
