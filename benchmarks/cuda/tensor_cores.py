"""Part `tensor_cores`: products of matrices in every precision, right and beside cuBLAS."""

from __future__ import annotations

from correctness import candidates, in_turns
from layers import one_task
from peer import TorchPeer
from session import Session
from workloads import BYTES, PRODUCTS

STRATEGIES = {
    "tf32": "gemm_mma_tf32*",
    "bfloat16": "gemm_mma_bf16*",
    "float16": "gemm_mma_f16*",
    "float32": "gemm_mma_integer*",
}
"""Of a run of each precision; tf32's join those of the next two, bytes need none."""
_SAMPLES = 12


def measure(session: Session) -> None:
    """The candidates first, then the large products.

    Our operands are float32 in memory and rounded in the kernel; cuBLAS has bfloat16 and float16
    stored as such, half the bytes.
    """
    rehearsal = session.rehearsal
    samples, reserved = (1, 0.0) if rehearsal else (_SAMPLES, session.left / 2)
    for precision, strategies in STRATEGIES.items():
        texts = BYTES if precision == "float32" else PRODUCTS
        texts = texts[:2] if rehearsal else texts
        asked = list(in_turns(session, precision, texts, strategies, samples))
        step = candidates(session, precision, asked, reserved)
        session.attempt(f"candidates of {strategies}", step)
    size = 64 if rehearsal else 4096
    text = f"matmul({size}x{size}, {size}x{size})"
    precisions = [one for one in STRATEGIES if one != "float32"]
    with TorchPeer.of(session) as peer:
        share = session.left * 2 / 3 / len(precisions)
        for precision in precisions:
            cublas = {"cublas": {"matmul": size, "precision": precision}}
            step = one_task(session, text, cublas, peer, share, precision=precision)
            session.attempt(f"{text} in {precision}", step)
