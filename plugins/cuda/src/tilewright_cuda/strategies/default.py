"""Any operator with a definition: a thread an element, every stage in a launch of its own."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task
from tilewright_cuda.strategies.tiles.thread_loops import one_thread_an_element
from tilewright_cuda.text.cuda_c import CUDA_C
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.strategies.default_implementation import DefaultImplementation


class Default(DefaultImplementation):
    """The schedule of last resort; what is tuned is the number of threads only.

    Of a program, parallel loops become blocks of one thread.
    """

    kinds = {"parallel": "blockIdx.x", "vectorized": "unrolled"}

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Threads of a block."""
        knobs = Knobs(self.name)
        knobs.define_knob("block", [256] if self.own_program(task) else [64, 128, 256, 512])
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """256 threads."""
        return ConfigEntity(self.name, {"block": 256})

    def nest(self, task: Task, config: ConfigEntity, schedule: Schedule, stage: str) -> Schedule:
        """A launch."""
        return one_thread_an_element(schedule, stage, config["block"])


def make(operators: Operators) -> Default:
    """The strategy's implementation."""
    return Default(operators, "default.cuda", CUDA_C.types)
