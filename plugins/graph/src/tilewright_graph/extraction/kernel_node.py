"""One kernel of a network."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.vocabulary.task import Task


@dataclass(frozen=True, slots=True)
class KernelNode:
    """One kernel of the network: a task on named tensors, the workload's inputs in order.

    key   which kernel this is, the same in every run and whatever the tensors are called: a hash of
          the task, of the kernels that make its inputs, and of its rank among equals; graph records
          are found by it
    """

    name: str
    task: Task
    inputs: tuple[str, ...]
    output: str
    key: str
