"""A runner of several devices for the toy world, as a plugin object whose doings a test sees."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import Future
from fnmatch import fnmatch

from tilewright import Component, hookimpl
from tilewright.errors import UsageError
from tilewright.options import Options
from tilewright.roles import Reached
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Failure, FailureKind, MeasureResult
from tilewright.vocabulary.target import Target

WORKERS = ("toy9@a", "toy9@b")


def toy_seconds(asked):
    """Least at unroll=8, width=32, as in the runner `toy`."""
    size = asked.task.workload.inputs[0].shape[0]
    return size * 1e-6 * (1 + 8 / asked.config["unroll"] + 32 / asked.config["width"])


def lost(_asked, _number):
    """An answer: there is no device."""
    return MeasureResult(failure=Failure(FailureKind.DEVICE_LOST, "gone"))


class ToyFleet:
    """Offers the runner `fleet`, which takes `batches` at a time, and `reaching`, whose devices are elsewhere.

    before   called with each batch's number, from 0, on its thread before it is answered
    answer   called with an input and that number
    most     the largest number of batches that were under way at a time
    full     set once as many as the runner takes were so
    faults   what the runner tells of its devices, as `uses`; `builder_faults`, of its builders
    """

    def __init__(self, batches=4, before=lambda number: None, answer=None):
        self.batches, self.before = batches, before
        self.answer = answer or self.measured
        self.lock, self.full, self.closed = threading.Lock(), threading.Event(), threading.Event()
        self.began, self.under_way, self.most = 0, 0, 0
        self.asked = Counter()
        self.reached = []
        self.faults, self.uses, self.builder_faults = {}, {}, {}

    @staticmethod
    def measured(asked, number):
        cost = toy_seconds(asked)
        return MeasureResult((cost,) * 3, device=WORKERS[number % len(WORKERS)])

    @hookimpl
    def tilewright_runners(self):
        def made(_options, _context):
            return FleetRunner(self)

        fleet = self

        class ReachingOptions(Options):
            def resolve_target(self, text):
                if text not in (None, "toynative", "toy:threads=1", "toy:threads=3"):
                    raise UsageError(f"no target {text!r} in the fleet")
                return Target("toy", {"threads": "3"})

            def reach(self, target, pattern):
                fleet.reached.append((target, pattern))
                names = tuple(name for name in WORKERS if fnmatch(name, pattern or "*"))
                if not names:
                    raise UsageError(f"no device of the fleet matches '{pattern}'")
                device = Device("toy9", {"model": "far"}, {3: 5e9}, {3: 5e9})
                return Reached(target, device, names)

        return [
            Component("fleet", "several at a time", lambda: made),
            Component("reaching", "elsewhere", lambda: made, lambda: ReachingOptions),
        ]


class FleetRunner:
    def __init__(self, fleet):
        self.fleet = fleet

    @property
    def batches_at_once(self):
        return self.fleet.batches

    def run(self, inputs, builds):
        futures = [Future() for _ in inputs]
        with self.fleet.lock:
            number = self.fleet.began
            self.fleet.began += 1
            self.fleet.under_way += 1
            self.fleet.most = max(self.fleet.most, self.fleet.under_way)
            if self.fleet.under_way >= self.fleet.batches:
                self.fleet.full.set()
        threading.Thread(target=self._work, args=(number, inputs, futures), daemon=True).start()
        return futures

    def _work(self, number, inputs, futures):
        self.fleet.before(number)
        with self.fleet.lock:
            self.fleet.under_way -= 1
            self.fleet.asked.update((asked.task.key, asked.config) for asked in inputs)
        stopped = MeasureResult(failure=Failure(FailureKind.CANCELLED, "stopped"))
        for asked, future in zip(inputs, futures, strict=True):
            closed = self.fleet.closed.is_set()
            future.set_result(stopped if closed else self.fleet.answer(asked, number))

    def device_faults(self):
        return self.fleet.faults

    def device_uses(self):
        return self.fleet.uses

    def builder_faults(self):
        return self.fleet.builder_faults

    def close(self):
        self.fleet.closed.set()
