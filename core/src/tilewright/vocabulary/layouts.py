"""What a strategy with a config wants its operands to look like in memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layouts:
    """One opaque text per operand and per output; to core only equality matters.

    `packed` lists the operands (constants) that are rearranged at compile time, so that their
    layout costs nothing at run time and agrees with nobody else's. AutoTVM called this
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
