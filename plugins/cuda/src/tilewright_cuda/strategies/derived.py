"""Schedules derived from the compute DAG by Ansor's rules for GPUs."""

from __future__ import annotations

from tilewright.vocabulary.task import Task
from tilewright_cuda.program.arch import SHARED_EVERYWHERE
from tilewright_cuda.strategies.sketches.gpu_rules import GPU_RULES
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.sketches.strategy import Derived
from tilewright_tensor.sketches.structure.sketch_input import Limits


def limits(_task: Task) -> Limits:
    """What a thread of a block has; the same for every GPU."""
    return Limits(lanes=1, registers=255, cache_bytes=SHARED_EVERYWHERE, threads=1024)


def make(operators: Operators) -> Derived:
    """The strategy's implementation."""
    return Derived(operators, "derived.cuda", limits, GPU_RULES)
