"""CUDA C as a dialect: its helpers are templates, which the prelude defines."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright_cuda.text.prelude import HELPERS
from tilewright_tensor.c_text.dialect import Dialect
from tilewright_tensor.expressions.expr import Const, Op, dtype_of

_STORED = {"bfloat16": "unsigned short", "float16": "unsigned short", "tf32": "float"}
"""What only memory and tensor instructions have: their C types."""


class CudaC(Dialect):
    """The dialect of kernels.

    It has no arithmetic of floats that are narrower than float32: they are stored, and converted
    from and to float32.
    """

    reserved = frozenset({
        "abs", "max", "min", "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize",
        *(
            f"{make}{kind}{lanes}"
            for make in ("", "make_")
            for kind in ("float", "int", "ushort", "char", "uchar")
            for lanes in (2, 4)
        ),
        "tw_shared", *HELPERS, *Dialect.functions, *Dialect.functions.values(),
        *(f"{name}f" for name in Dialect.functions.values()),
    })  # fmt: skip

    def type_of(self, dtype: str) -> str:
        return _STORED.get(dtype) or super().type_of(dtype)

    def operation(self, value: Op, args: Sequence[str], helpers: set[str]) -> str:
        source, result = dtype_of(value.args[0]), value.dtype
        if source not in _STORED and result not in _STORED:
            return super().operation(value, args, helpers)
        if value.name != "cast":
            raise ValueError(f"kernels have no {value.name} of {source}")
        (text,) = args
        if source in _STORED:
            text = self.call(f"tw_from_{source}", source, [text], helpers)
        if result in _STORED:
            return self.call(f"tw_to_{result}", source, [text], helpers)
        return f"({self.type_of(result)}){text}"

    def constant(self, value: Const, helpers: set[str]) -> str:
        if value.dtype in _STORED:
            raise ValueError(f"kernels have no numbers of dtype {value.dtype}")
        return super().constant(value, helpers)

    def call(
        self, name: str, dtype: str, args: Sequence[str], helpers: set[str], result: str = ""
    ) -> str:
        """A call of a template, which finds the types of its operands by itself."""
        helpers.add(name)
        kind = f"<{self.type_of(result)}>" if result else ""
        return f"{name}{kind}({', '.join(args)})"

    def index_division(
        self, name: str, text: str, divisor: int, helpers: set[str], *, wide: bool
    ) -> str:
        """As wide as the index: a divisor is an int."""
        helpers.add(name)
        return f"{name}{'<long long>' if wide else ''}({text}, {divisor})"

    def absolute(self, text: str, dtype: str, helpers: set[str]) -> str:
        """CUDA's own, which is overloaded."""
        return self.wrapped(f"abs({text})", dtype)


CUDA_C = CudaC()
"""The one there is: it holds nothing of a text."""
