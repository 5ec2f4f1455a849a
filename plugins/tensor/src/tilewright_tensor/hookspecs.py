"""The hook that tensor adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright import hookspec

if TYPE_CHECKING:
    from tilewright_tensor.operators.operator_def import OperatorDef


@hookspec
def tilewright_operators() -> Sequence[OperatorDef]:
    """Operator definitions. First: tensor.

    One is enough for a new operator: reference, text form and answer check follow from it, any
    element-wise operator of any plugin may stand in its epilogue, and strategies without a list of
    operators serve it.
    """
    raise NotImplementedError
