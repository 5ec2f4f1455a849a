"""A whole toy world in one plugin file: target, strategies, reference, builder, runner, tuner, scheduler, stages.

The operator adds a number to a list; "time" is an arithmetic function of the config, so tuning is exact and instant.
That core runs it shows that core names no operator, layout or target kind.
"""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter
from concurrent.futures import Future
from typing import ClassVar

from tilewright import Component, Strategy, hookimpl
from tilewright.errors import UsageError
from tilewright.options import Options
from tilewright.roles import Artifact, BuildResult
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Failure, FailureKind, MeasureResult
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.task_set import TaskSet, WeightedTask
from tilewright.vocabulary.workload import TensorSpec, Workload
from tilewright_pipeline.stages.stage import StageResult

MEASURED: Counter = Counter()


def toy_workload(size):
    inputs = (TensorSpec((size,)), TensorSpec((1,), role="constant"))
    return Workload("toyadd", inputs, {"bias": 0})


class ToyBackend:
    def probe(self):
        name = os.environ.get("TOY_DEVICE", "toy0")
        found = [Device(name, {"model": name}), Device("toy1", {"model": "b"})]
        return found if name != "none" else []

    def check_target(self, target, device):
        if target.threads > 4:
            raise UsageError(f"{target}: {device.name} has 4 threads", remedy="ask for fewer")

    def build(self, program, target):
        return Artifact(str(target), "toy", repr(program).encode())

    def measure_peak(self, device, target):
        return 1e9 * target.threads, 1e9


class ToySchedule:
    def applies(self, task):
        return True

    def alternatives(self, task):
        """128 points; TOY_SPACE asks for `one` of them, `none`, or 1.28e15, a sixth of them feasible."""
        kind = os.environ.get("TOY_SPACE", "")
        knobs = Knobs("toy.loop")
        unroll = knobs.define_knob("unroll", [4] if kind == "one" else [1, 2, 4, 8])
        width = knobs.define_knob("width", [16] if kind == "one" else list(range(1, 33)))
        if kind == "none":
            knobs.constrain(unroll * width > 1000)
        if kind == "vast":
            others = [knobs.define_knob(f"k{place}", range(10)) for place in range(13)]
            for left, right in itertools.pairwise(others):
                knobs.constrain(left + right + unroll <= 24)
            knobs.constrain(others[0] * others[-1] <= width)
        return [knobs.alternative()]

    def lower(self, task, config):
        return ("program", config.text)

    def layouts(self, task, config):
        return Layouts(("A", "A"), ("A",))

    def fallback(self, task):
        advice = ConfigEntity("toy.loop", {"unroll": 1, "width": 1})
        return None if os.environ.get("TOY_SPACE") else advice


class ToyReference:
    operator = "toyadd"

    def operations(self, workload):
        return workload.inputs[0].shape[0]

    def parse(self, arguments, where):
        return toy_workload(int(arguments.strip("()")))

    def format(self, workload):
        return f"toyadd({workload.inputs[0].shape[0]})"

    def checked(self, workload, where):
        return workload


class BuilderOptions(Options):
    seconds: float = 0.0


class RunnerOptions(Options):
    """fails: `all`, `most` (nine in ten), or nothing; spoils_first: first runs end as device_lost.

    lost_after: so many runs, then every one ends as device_lost, or by a kill from outside if `killed`

    lucky: so many seconds are missing where a config of width 7 is measured for the first time

    claims: every time is this number
    """

    fails: str = ""
    claims: float | None = None
    lucky: float = 0.0
    seconds: float = 0.0
    spoils_first: bool = False
    lost_after: int = 2**31
    killed: bool = False
    close_seconds: float = 0.0


class ToyBuilder:
    def __init__(self, options, context):
        self.host, self.options = context.host, options

    def build(self, inputs):
        time.sleep(self.options.seconds)
        programs = [self.host.lower(asked.task, asked.config) for asked in inputs]
        built = Artifact("toy", "toy", b"", {"counts": {"built": 1}})
        return [BuildResult(built, timings={"lower": 1e-6}) for _ in programs]

    def close(self):
        pass


class ToyRunner:
    """Slowest at unroll=1, width=1; best at unroll=8, width=32."""

    def __init__(self, options, context):
        self.options = options
        self.runs = 0

    def run(self, inputs, builds):
        return [self._one(asked) for asked in inputs]

    def _one(self, asked):
        time.sleep(self.options.seconds)
        MEASURED[asked.task.key, asked.config.text] += 1
        future = Future()
        self.runs += 1
        size = asked.task.workload.inputs[0].shape[0]
        cost = size * 1e-6 * (1 + 8 / asked.config["unroll"] + 32 / asked.config["width"])
        first = MEASURED[asked.task.key, asked.config.text] == 1
        if first and asked.config["width"] == 7:
            cost -= self.options.lucky
        working = self.options.fails == "most" and asked.config["width"] % 10 == 1
        if self.options.fails and not working:
            kind = (FailureKind.BUILD_ERROR, FailureKind.CRASH)[asked.config["unroll"] > 1]
            future.set_result(MeasureResult(failure=Failure(kind, "toy failure", "SIGTOY")))
        elif (self.options.spoils_first and first) or self.runs > self.options.lost_after:
            gone = Failure(FailureKind.DEVICE_LOST, "gone")
            killed = Failure(FailureKind.INTERNAL, "ended by SIGKILL", "SIGKILL")
            future.set_result(MeasureResult(failure=killed if self.options.killed else gone))
        else:
            cost = cost if self.options.claims is None else self.options.claims
            future.set_result(MeasureResult((cost,) * 3, timings={"time": 1e-3}))
        return future

    def close(self):
        time.sleep(self.options.close_seconds)


class TunerOptions(Options):
    """forgetful: proposes what was measured before, as a careless tuner would."""

    batch: int = 4
    fit_seconds: float = 0.0
    forgetful: bool = False


class ToyTuner:
    def __init__(self, options, context):
        self.options, self.space = options, context.space
        known = {t.input.config for t in context.history if t.input.task == context.task}
        self.seen = set() if options.forgetful else known

    def propose(self, count):
        fresh = (config for config in self.space.points() if config not in self.seen)
        found = list(itertools.islice(fresh, count))
        self.seen.update(found)
        return found

    def observe(self, trials):
        time.sleep(self.options.fit_seconds)
        self.seen.update(trial.input.config for trial in trials)


class ToyScheduler:
    def __init__(self, options, host):
        pass

    def next_task(self, states):
        open_tasks = [place for place, state in enumerate(states) if not state.exhausted]
        return min(open_tasks, key=lambda place: states[place].trials, default=None)


class SourceOptions(Options):
    sizes: tuple[int, ...] = (8, 16)


class SourceStage:
    consumes: ClassVar[tuple[type, ...]] = ()
    optional: ClassVar[tuple[type, ...]] = ()
    produces: ClassVar[tuple[type, ...]] = (TaskSet,)

    def __init__(self, options, context):
        self.options, self.context = options, context

    def run(self, values):
        target = self.context.target
        if min(self.options.sizes, default=0) < 0:
            raise UsageError("a negative size")
        tasks = [
            WeightedTask(Task(toy_workload(n), target), 1.0, f"layer{i}")
            for i, n in enumerate(self.options.sizes)
        ]
        return StageResult((TaskSet(tuple(tasks)),))


class CheckOptions(Options):
    """adds: a member of run.json, with no number in it."""

    passes: bool = True
    adds: str = ""


class CheckStage:
    consumes: ClassVar[tuple[type, ...]] = (TaskSet,)
    optional: ClassVar[tuple[type, ...]] = ()
    produces: ClassVar[tuple[type, ...]] = ()

    def __init__(self, options, context):
        self.options = options

    def run(self, values):
        passed = self.options.passes
        error = 0.0 if passed else 1.0
        verify = {"oracle": "toy", "max_abs_error": error, "max_rel_error": error, "passed": passed}
        added = {self.options.adds: float("nan")} if self.options.adds else {}
        return StageResult(report={"verify": verify, **added}, ok=passed)


@hookimpl
def tilewright_targets():
    return [Component("toy", "an arithmetic device", lambda: lambda options, host: ToyBackend())]


@hookimpl
def tilewright_strategies():
    return [
        Strategy(
            "toy.loop",
            int(os.environ.get("TOY_REVISION", "1")),
            ("toy",),
            ("toyadd",),
            lambda host: ToySchedule(),
        )
    ]


@hookimpl
def tilewright_references():
    return [ToyReference()]


@hookimpl
def tilewright_builders():
    return [Component("toy", "builds nothing", lambda: ToyBuilder, lambda: BuilderOptions)]


@hookimpl
def tilewright_runners():
    return [Component("toy", "computes times", lambda: ToyRunner, lambda: RunnerOptions)]


@hookimpl
def tilewright_tuners():
    return [Component("toy", "in order", lambda: ToyTuner, lambda: TunerOptions)]


@hookimpl
def tilewright_task_schedulers():
    return [Component("toy", "in turn", lambda: ToyScheduler)]


@hookimpl
def tilewright_stages():
    return [
        Component("source", "makes tasks", lambda: SourceStage, lambda: SourceOptions),
        Component("check", "passes or fails", lambda: CheckStage, lambda: CheckOptions),
    ]


@hookimpl
def tilewright_resolve_target(text):
    return Target("toy", {"threads": "1"}) if text == "toynative" else None
