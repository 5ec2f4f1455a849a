"""The input of rules: a DAG, which of its operands are constants, and the target's limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright_tensor.ir.dag import Dag
from tilewright_tensor.ir.tensor_instruction import TensorInstruction


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


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes of a processor that bound what is worth trying.

    lanes         elements of a vector
    registers     vector registers, one of which is left to addresses and broadcasts
    cache_bytes   scratch that one thread keeps close at hand
    threads       threads that share the work
    instructions  tensor instructions that sketches use where a stage is what they mean
    """

    lanes: int
    registers: int
    cache_bytes: int
    threads: int
    instructions: tuple[TensorInstruction, ...] = ()
