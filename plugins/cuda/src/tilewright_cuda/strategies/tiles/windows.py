"""Sums and maxima over windows of an image: a thread makes some pixels of some channels."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.strategies.strategy import variant_of
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task
from tilewright_cuda.strategies.tiles.image_layouts import IMAGE_LAYOUTS
from tilewright_cuda.strategies.tiles.thread_loops import over_threads
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.strategies.scheduled_implementation import ScheduledImplementation

_MOST_SUMS = 32


class WindowSchedule(ScheduledImplementation):
    """What such strategies have in common: their choices."""

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """A product of knobs a layout: threads of a block, channels and pixels of a thread."""
        _, channels, _, width = self.operators.output(task.workload).shape
        found = []
        for layout in IMAGE_LAYOUTS:
            knobs = Knobs(f"{self.name}/{layout}")
            knobs.define_knob("block", [32, 64, 128, 256, 512])
            widths = [n for n in (1, 2, 4) if layout == "NHWC" and channels % n == 0]
            vec = knobs.define_knob("vec", widths or [1])
            rows = knobs.define_knob("rows", [1, 2, 4])
            columns = knobs.define_knob("columns", [n for n in (1, 2, 4, 7, 8) if n <= width])
            knobs.define_knob("unroll", [True, False])
            knobs.constrain(vec * rows * columns <= _MOST_SUMS)
            found.append(knobs.alternative())
        return found

    def fallback(self, task: Task) -> ConfigEntity:
        """One pixel of as many channels as one instruction loads."""
        channels = self.operators.output(task.workload).shape[1]
        vec = next(n for n in (4, 2, 1) if channels % n == 0)
        values = {"block": 128, "vec": vec, "rows": 1, "columns": 1, "unroll": True}
        return ConfigEntity(f"{self.name}/NHWC", values)


def windows_scheduled(s: Schedule, anchor: str, config: ConfigEntity) -> Schedule:
    """The anchor's reduction in registers of the thread that stores its result."""
    final, total = s.dag.outputs[0].name, anchor
    for tensor in s.dag.computes:
        if tensor.name not in (anchor, final):
            s = s.inline(tensor)
    if anchor == final:
        s, total = s.cache_write(anchor, "register"), f"{anchor}.register"
    n, c, h, w = s.loops(final)
    s = s.split(final, c, [config["vec"]]).split(final, h, [config["rows"]])
    s = s.split(final, w, [config["columns"]])
    blocks = [n, f"{h}.0", f"{w}.0"]
    blocks.insert(3 if variant_of(config.strategy) == "NHWC" else 1, f"{c}.0")
    inside = [f"{h}.1", f"{w}.1", f"{c}.1"]
    s = s.reorder(final, [*blocks, *inside])
    s = s.unroll(final, inside[0], inside[1]).vectorize(final, inside[2])
    s, thread = over_threads(s, final, blocks, config["block"])
    s = s.compute_at(total, final, thread, "register")
    n, c, h, w, *window = s.loops(total)
    s = s.reorder(total, [n, *window, h, w, c])
    return s.unroll(total, *(window if config["unroll"] else []), h, w).vectorize(total, c)
