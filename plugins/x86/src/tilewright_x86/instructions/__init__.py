"""Tensor instructions of x86: what they mean."""

from __future__ import annotations

from tilewright_x86.instructions.dot_products import VDPBF16PS, VPDPBUSD
from tilewright_x86.instructions.tiles import PRODUCTS

INSTRUCTIONS = (*VDPBF16PS.values(), *VPDPBUSD.values(), *PRODUCTS.values())
"""All of them; those of AMX name what clears and stores their sums."""
