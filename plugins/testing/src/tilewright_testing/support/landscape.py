"""A made-up task with a known answer: tuners and schedulers are tested on it without hardware."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from functools import cached_property

from tilewright.space.alternative import Alternative
from tilewright.space.config_space import ConfigSpace
from tilewright.space.feasible.constraint import Knob
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import Failure, FailureKind, MeasureInput, MeasureResult, Trial
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import TensorSpec, Workload

_WORDS = {"none": 0.3, "outer": 0.0, "inner": 0.15}


class Landscape:
    """A space, and the seconds of its points by a formula with noise, equal in every process.

    Two alternatives (`hill/narrow`, `hill/wide`) with two splits, a number, a word and a flag; a
    constraint cuts off about a third of the points, and points with a large tile fail as a real
    build would. Seconds have one broad valley with interactions between knobs; the noise of a
    sample is up to a hundredth and depends on the config alone.
    """

    def __init__(self, size: int = 96) -> None:
        self.size = size
        workload = Workload("landscape", (TensorSpec((size, size)),), {"scale": 1})
        self.task = Task(workload, Target("imaginary"))
        self.space = ConfigSpace(
            [
                self._alternative("hill/narrow", (1, 2, 4)),
                self._alternative("hill/wide", (4, 8, 16)),
            ]
        )

    def _alternative(self, name: str, lanes: Sequence[int]) -> Alternative:
        knobs = Knobs(name)
        rows = knobs.define_split("rows", self.size, num_outputs=3)
        columns = knobs.define_split("columns", self.size, num_outputs=2)
        knobs.define_knob("lanes", lanes)
        knobs.define_knob("place", list(_WORDS))
        knobs.define_knob("ahead", [False, True])
        knobs.constrain(rows[-1] * columns[-1] * Knob("lanes") <= 6 * self.size)
        return knobs.alternative()

    def true_seconds(self, config: ConfigEntity) -> float | None:
        """Seconds without noise, None where the config fails."""
        rows, columns, lanes = config["rows"], config["columns"], config["lanes"]
        if rows[2] * columns[1] > self.size:
            return None
        tile = math.log2(rows[2] * lanes) - math.log2(self.size) / 2 - 1
        block = math.log2(rows[1] * columns[1]) - math.log2(self.size)
        loss = 0.12 * tile**2 + 0.08 * block**2 + _WORDS[config["place"]]
        loss += 0.1 * (config["ahead"] is (lanes >= 8)) + 0.05 * abs(math.log2(lanes) - 2.5)
        return 1e-3 * (1 + loss)

    def measure(self, config: ConfigEntity) -> Trial:
        """The trial that a runner would bring back for a config."""
        seconds = self.true_seconds(config)
        if seconds is None:
            result = MeasureResult(failure=Failure(FailureKind.BUILD_ERROR, "tile too large"))
        else:
            digest = hashlib.sha256(config.text.encode()).digest()
            costs = tuple(seconds * (1 + 0.01 * byte / 255) for byte in digest[:3])
            result = MeasureResult(costs)
        return Trial(MeasureInput(self.task, config), result)

    def measure_all(self, configs: Iterable[ConfigEntity]) -> list[Trial]:
        """A batch, in order."""
        return [self.measure(config) for config in configs]

    @cached_property
    def best_seconds(self) -> float:
        """The least true seconds over the whole space."""
        times = (self.true_seconds(config) for config in self.space.points())
        return min(seconds for seconds in times if seconds is not None)
