"""Whether a kernel's outputs are right, looked at more than once."""

from __future__ import annotations

import numpy as np

from tilewright.roles import Kernel, TellsOverruns
from tilewright.vocabulary.config import Layouts
from tilewright.vocabulary.measure import FailureKind
from tilewright_measure.timing.answer import Case
from tilewright_measure.worker.failures import RefusedError


class AnswerCheck:
    """Looks at what a bound kernel has written.

    >>> check.poison()     # no output holds a right value any more
    >>> kernel.launch()
    >>> check.look()       # RefusedError (`wrong_answer`): an output is wrong, or a launch wrote
    ...                    # outside the operands

    Outputs that are bit for bit those of the last look are right without more arithmetic, so that
    looking again costs a copy.
    """

    def __init__(self, kernel: Kernel, case: Case, layouts: Layouts) -> None:
        self._kernel = kernel
        self._telling = kernel if isinstance(kernel, TellsOverruns) else None
        self._case = case
        self._outputs = dict(enumerate(layouts.outputs, len(layouts.inputs)))
        self._right: dict[int, np.ndarray] = {}

    def poison(self) -> None:
        for output, (operand, layout) in enumerate(self._outputs.items()):
            self._kernel.write(operand, self._case.poison(output, layout))

    def look(self) -> None:
        if self._telling is not None and (overrun := self._telling.find_overrun()):
            raise RefusedError(FailureKind.WRONG_ANSWER, f"it wrote to {overrun}")
        for output, (operand, layout) in enumerate(self._outputs.items()):
            found = np.asarray(self._kernel.read(operand))
            bits, right = found.view(f"u{found.itemsize}"), self._right.get(operand)
            if right is None or not np.array_equal(bits, right):
                self._case.check(output, layout, found)
                self._right[operand] = bits
