"""Suppression of overlapping boxes, compiled: at every level, by one thread and several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from answers import host
from isa_levels import WIDTHS
from suppression_cases import FEW, MANY, Case, drawn, workload_of

from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright_tensor.operators.operators import Operators


def kept(case: Case, inputs: list[Any], isa: str, threads: int) -> Any:
    target = Target("x86", {"isa": isa, "threads": str(threads)})
    task = Task(workload_of(case, Operators.of(host())), target)
    config = host().fallback_config(task, host().space(task))
    backend = host().backend("x86")
    artifact = backend.build(host().lower(task, config), target)
    kernel = backend.load(artifact, backend.probe()[0])
    count = case.images * case.classes * min(case.most, case.boxes)
    kernel.bind([*inputs, np.full((count, 3), 77)], {})
    kernel.launch()
    rows = np.array(kernel.read(2))
    kernel.launch()
    np.testing.assert_array_equal(kernel.read(2), rows)
    kernel.close()
    return rows


@pytest.mark.parametrize("isa", WIDTHS)
@pytest.mark.parametrize("case", FEW + MANY, ids=str)
def test_it_keeps_what_the_reference_keeps(case: Case, isa: str) -> None:
    operators, inputs = Operators.of(host()), drawn(case)
    expected = operators.evaluate(workload_of(case, operators), inputs)
    for threads in (1, 2):
        np.testing.assert_array_equal(kept(case, inputs, isa, threads), expected)


@pytest.mark.parametrize("isa", WIDTHS)
def test_what_is_no_number_is_not_kept_and_strikes_nothing_out(isa: str) -> None:
    case = Case(1, 1, 5, 5, threshold=None)
    boxes = np.float32([[0, 0, 1, 1], [np.nan, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [0, 0, 9, 9]])
    scores = np.float32([0.5, 0.9, 0.4, np.nan, -np.inf])
    rows = kept(case, [boxes[None], scores[None, None]], isa, 1)
    assert rows[:, 2].tolist() == [1, 0, -1, -1, -1]
