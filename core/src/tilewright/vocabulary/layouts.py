"""The memory layouts that a strategy and a config give operands and outputs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layouts:
    """One opaque text per operand and per output; to core only equality matters.

    `packed` lists the operands (constants) that are rearranged at compile time, so that their
    layout costs nothing at run time and need not match any other kernel's. In AutoTVM this is
    infer_layout.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    packed: frozenset[int] = frozenset()

    @property
    def signature(self) -> tuple[tuple[str | None, ...], tuple[str, ...]]:
        """What neighbours see: the layouts with packed constants left out."""
        seen = tuple(None if i in self.packed else text for i, text in enumerate(self.inputs))
        return seen, self.outputs
