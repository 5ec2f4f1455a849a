"""What differs between runs: their kernels, matched by what they compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright_pipeline.measuring.significance import mann_whitney, verdict
from tilewright_report.data.kernels import Kernel
from tilewright_report.data.run_folder import Run


@dataclass(frozen=True, slots=True)
class Change:
    """One node's kernel in two runs.

    p        of the test that both take the same time; None where there are too few samples
    """

    node: str
    before: Kernel
    after: Kernel
    p: float | None

    @property
    def ratio(self) -> float:
        return self.after.seconds / self.before.seconds if self.before.seconds else 1.0

    @property
    def gain(self) -> float:
        """Seconds a launch."""
        return self.before.seconds - self.after.seconds

    @property
    def same_config(self) -> bool:
        return self.before.config == self.after.config and self.before.config is not None

    @property
    def verdict(self) -> str:
        """In a word."""
        return verdict(self.p, self.before.seconds, self.after.seconds)


def changes(before: Run, after: Run) -> list[Change]:
    """Those that matter most first; equal pairs of kernels once, with the first node.

    Matched by node; in runs of different models by task, as their nodes are called alike by chance.
    """
    named = _by_task if before.is_of_other_models(after) else _by_node
    old, new = named(before.kernels), named(after.kernels)
    pairs: dict[tuple[int, int], str] = {}
    for node, kernel in old.items():
        if node in new:
            pairs.setdefault((kernel.number, new[node].number), node)
    found = []
    for (first, second), node in pairs.items():
        one, other = before.kernels[first], after.kernels[second]
        p = mann_whitney(one.samples, other.samples)
        found.append(Change(one.name if named is _by_task else node, one, other, p))
    return sorted(found, key=lambda change: -abs(change.gain) * len(change.before.nodes))


def _by_task(kernels: Sequence[Kernel]) -> dict[str, Kernel]:
    """Of several kernels of a task, that which takes longest."""
    return {kernel.task: kernel for kernel in reversed(kernels)}


def _by_node(kernels: Sequence[Kernel]) -> dict[str, Kernel]:
    return {node: kernel for kernel in kernels for node in kernel.nodes}
