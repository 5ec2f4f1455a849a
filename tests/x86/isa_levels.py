"""The levels of x86 that this machine runs and that tests tell apart."""

from __future__ import annotations

from tilewright_x86.machine.isa import available

WIDTHS = [isa.name for isa in {isa.vector_bits: isa for isa in available()}.values()]
"""One for each width of vectors, widest first: the levels between differ in tensor instructions."""

ROUNDING = [isa.name for isa in available() if isa.name in ("avx512_bf16", "amx")]
"""Those that have products of bfloat16, rounded by an instruction."""

BYTE_DOTS = [isa.name for isa in available() if isa.name in ("avx2_vnni", "avx512_vnni", "amx")]
"""Those that have products of bytes."""
