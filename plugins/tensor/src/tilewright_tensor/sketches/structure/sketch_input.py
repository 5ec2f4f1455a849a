"""The input of rules: a DAG, which of its operands are constants, and the target's limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright_tensor.ir.dag import Dag
from tilewright_tensor.sketches.structure.limits import Limits


@dataclass(frozen=True, eq=False)
class SketchInput:
    """The input of every rule.

    constants   the placeholders that are rearranged once, before anything runs, and the letters
                of their axes
    """

    dag: Dag
    constants: Mapping[str, str]
    limits: Limits

    @property
    def output(self) -> str:
        """Name of the stage that writes the result."""
        return self.dag.outputs[0].name

    @property
    def activations(self) -> tuple[str, ...]:
        """Names of the placeholders that are no constants, in operand order."""
        return tuple(t.name for t in self.dag.inputs if t.name not in self.constants)
