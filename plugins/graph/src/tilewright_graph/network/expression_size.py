"""How large a kernel may become, and how its expression grows as nodes are fused into it."""

from __future__ import annotations

from tilewright.vocabulary.workload import Workload
from tilewright_graph.network.network import Network, Node
from tilewright_tensor.expressions.expr import Op, Read
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.operators.operators import Operators

MOST_OPERATIONS = 256
"""Operations and reads for one element of a kernel; what schedules write out, they write out whole.

A node that reads its operand twice, as `x * sigmoid(x)` does, doubles what it is fused to, so that
some nodes of that kind are more than hundreds that read it once.
"""

MOST_OPERANDS = 60
"""Of a kernel that is put together: far below what any target launches one with (CUDA, 512).

The concats of DenseNet have up to 50.
"""


class ExpressionSizes:
    """Sizes of nodes; equal nodes are looked at once."""

    def __init__(self, network: Network, operators: Operators) -> None:
        self._network = network
        self._operators = operators
        self._known: dict[Workload, tuple[int, tuple[int, ...]]] = {}

    def alone(self, node: Node) -> int:
        """Operations and reads of one element; 1 for a reduction."""
        size, reads = self._of(node)
        return size if reads else 1

    def fused(self, node: Node, running: str, before: int) -> int:
        """The size with the node after an expression of a given size, one of its operands."""
        size, reads = self._of(node)
        return size + (before - 1) * sum(
            count for name, count in zip(node.inputs, reads, strict=False) if name == running
        )

    def _of(self, node: Node) -> tuple[int, tuple[int, ...]]:
        """(operations and reads, of which reads of each operand), none of these for a sum."""
        specs = tuple(self._network.specs[name] for name in node.inputs)
        workload = Workload(node.operator, specs, node.attributes)
        if workload not in self._known:
            if self._operators[node.operator].program is not None:
                return 1, ()
            dag = self._operators.compute_dag(workload)
            size = sum(map(_size, dag.computes))
            adds_up = any(stage.combiner for stage in dag.computes)
            read = [one.tensor for stage in dag.computes for one in stage.reads]
            self._known[workload] = size, () if adds_up else tuple(map(read.count, dag.inputs))
        return self._known[workload]


def _size(tensor: Tensor) -> int:
    """Operations and reads in a tensor's body."""
    count, pending = 0, [tensor.body]
    while pending:
        one = pending.pop()
        if isinstance(one, Op):
            pending += one.args
        count += isinstance(one, Op | Read)
    return count
