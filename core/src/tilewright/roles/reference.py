"""The role of references: expected answers and counts of an operator, without any schedule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from tilewright.vocabulary.workload import Workload

Array = Any
"""An array of numpy; core passes it on unseen."""


class Reference(Protocol):
    """Expected answers and counts of one operator, without any schedule."""

    operator: str

    def inputs(self, workload: Workload, seed: int, precision: str = "float32") -> Sequence[Array]:
        """Seeded finite random inputs in logical layout, by role and operator.

        Floats have no more digits than the precision, so that kernels multiply what is given.
        """

    def outputs(self, workload: Workload, inputs: Sequence[Array]) -> Sequence[Array]:
        """Expected outputs in logical layout, epilogue included, accumulated in float64."""

    def output_shapes(self, workload: Workload) -> Sequence[tuple[tuple[int, ...], str]]:
        """(shape, dtype) of every output."""

    def tolerance(self, workload: Workload, precision: str = "float32") -> float:
        """Largest max|a-b| / max|b| of a right answer, which may be rounded to the precision."""

    def operations(self, workload: Workload) -> int:
        """Floating-point operations of the direct algorithm, a multiply-add counting two."""

    def bytes(self, workload: Workload) -> int:
        """Bytes of all operands and outputs, each once."""

    def pack(self, array: Array, layout: str) -> Array:
        """A logical array rearranged into a layout."""

    def unpack(self, array: Array, layout: str, shape: tuple[int, ...]) -> Array:
        """The inverse of `pack`."""

    def parse(self, arguments: str, where: str) -> Workload:
        """The workload of a text form from its first parenthesis to its end. Raises UsageError."""

    def format(self, workload: Workload) -> str:
        """Text form, `operator(arguments)`."""

    def checked(self, workload: Workload, where: str) -> Workload:
        """A workload written by hand in the form that `parse` gives. Raises UsageError."""


@runtime_checkable
class RoundsToUnits(Protocol):
    """An optional part of a `Reference`: answers that are rounded to whole numbers."""

    def rounding_unit(self, workload: Workload) -> float:
        """How far a right answer may be off besides its tolerance: 1, or 0 where none is."""


@runtime_checkable
class TellsLeastWork(Protocol):
    """An optional part of a `Reference`: what no kernel can do without, for bounds on its time."""

    def least_operations(self, workload: Workload) -> int:
        """That every kernel does by the direct algorithm, however it leaves out zeros of padding.

        A multiply-add counts two; 0 where nothing is certain.
        """

    def least_reads(self, workload: Workload) -> Sequence[int]:
        """Bytes of each input, in the workload's data type, that every kernel reads."""
