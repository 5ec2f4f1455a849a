"""The levels of x86 that this machine runs and that tests tell apart."""

from __future__ import annotations

from tilewright_x86.machine.isa import available

WIDTHS = [isa.name for isa in {isa.vector_bits: isa for isa in available()}.values()]
"""One for each width of vectors, widest first: the levels between differ in tensor instructions."""

ROUNDING = [isa.name for isa in available() if isa.name == "avx512_bf16"]
"""Those that round to bfloat16 by an instruction."""
