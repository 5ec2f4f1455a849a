"""Tensor instructions of CUDA: what they mean."""

from __future__ import annotations

from tilewright_cuda.instructions.mma import PRODUCTS

INSTRUCTIONS = tuple(PRODUCTS.values())
"""All of them; each names what clears and stores its sums."""
