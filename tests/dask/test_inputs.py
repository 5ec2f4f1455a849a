"""The candidates of a batch as they cross between driver and workers."""

from __future__ import annotations

import random

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import Conditions, MeasureInput
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import TensorSpec, Workload
from tilewright_dask.inputs import inputs_from_json, inputs_to_json
from tilewright_dask.messages import decode, encode


def test_candidates_come_over_as_they_are_and_each_task_once():
    generator = random.Random(0)
    target = Target("x86", {"threads": "1"})
    tasks = [
        Task(Workload("scale", (TensorSpec((size, 3)),), {"axes": [0, size]}), target)
        for size in (1, 7, 64)
    ]
    conditions = [Conditions(), Conditions(turns=3, constants="warm")]
    values = [{"tile": (size, 2, 1), "word": None, "also": {"nested": [1.5]}} for size in range(9)]
    for count in (0, 1, 16, 33):
        inputs = [
            MeasureInput(
                generator.choice(tasks),
                ConfigEntity(generator.choice("ab"), generator.choice(values)),
                generator.choice(conditions),
            )
            for _ in range(count)
        ]
        crossing = encode(inputs_to_json(inputs))
        came = inputs_from_json(decode(crossing))
        assert came == inputs
        assert [list(each.config.values) for each in came] == [[*values[0]]] * count
        assert crossing.count(b'"operator"') == len({each.task for each in inputs})
