"""Compares a numpy reference with the definition, where the output begins and where it ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.errors import UsageError
from tilewright_tensor.evaluation.evaluate import evaluate
from tilewright_tensor.evaluation.numpy_value import Array
from tilewright_tensor.ir.dag import Dag
from tilewright_tensor.operators.trials.corners import corners

_POINTS = 1 << 24
"""A definition with helping stages larger than this is not evaluated: that would take seconds."""


def spot_check(dag: Dag, arrays: Sequence[Array], result: Array) -> None:
    """Raises UsageError where the reference's result is not what the definition gives.

    Two corners of the output are computed, float64 like the result; helping stages as a whole.
    """
    output = dag.outputs[0]
    if result.shape != output.shape:
        raise UsageError(
            f"the reference of {output.name} gives shape {list(result.shape)}, "
            f"its definition {list(output.shape)}"
        )
    for where, part in corners(dag, _POINTS):
        (expected,) = evaluate(part, arrays)
        got = result[where]
        close = np.isclose(got, expected, rtol=1e-6, atol=1e-9, equal_nan=True)
        if not close.all():
            place = tuple(int(i) for i in np.argwhere(~close)[0])
            index = [one.start + i for one, i in zip(where, place, strict=True)]
            raise UsageError(
                f"{output.name}: at {index} the reference gives {got[place]:.9g}, "
                f"the definition {expected[place]:.9g}",
                remedy="one of the two is wrong",
            )
