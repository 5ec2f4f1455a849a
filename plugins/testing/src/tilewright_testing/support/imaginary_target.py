"""A target whose kernels do what their config says, right or harmful. A plugin file.

It needs no hardware. The suites of builders and runners load it, and so do the worker processes of
what they test. A task is `imaginary(SIZE)`: y = 2 x + c, where c is a constant.
"""

from __future__ import annotations

import json
import os
import random
import time
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from typing import Any

from tilewright.errors import UsageError
from tilewright.plugins.plugin import Component, hookimpl
from tilewright.roles import Artifact
from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.strategies.strategy import Strategy
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import DeviceFaultError
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import TensorSpec, Workload

NAME = "imaginary"


def _refuse() -> None:
    raise ValueError("refused as asked")


def _fail() -> None:
    raise RuntimeError("failed as asked")


def _hang() -> None:
    time.sleep(3600)


_HARM: Mapping[str, Callable[[], None]] = {
    "refuse": _refuse,
    "fail": _fail,
    "crash": os.abort,
    "hang": _hang,
}


def imaginary_config(lower: str = "right", launch: str = "right", time: Any = 1e-3) -> ConfigEntity:
    """A candidate.

    lower    `right`, `refuse` (ValueError), `fail` (another error), `crash` or `hang`
    launch   these, or `wrong` (one element is off), `silent` (nothing is written), `overrun` (it
             wrote elsewhere, too) or `fault` (from then on no launch of this process works)
    time     seconds of a launch, or `copies`: as many milliseconds as the constant has copies, or
             `handed`: one, and another for each operand that is handed over
    """
    return ConfigEntity(NAME, {"time": time, "launch": launch, "lower": lower})


class ImaginaryReference:
    """Inputs and answers; arrays are those of the standard library."""

    operator = NAME

    def inputs(self, workload: Workload, seed: int, precision: str = "float32") -> Sequence[Any]:
        rng = random.Random(seed)
        return [array("f", (rng.random() for _ in range(*s.shape))) for s in workload.inputs]

    def outputs(self, _workload: Workload, inputs: Sequence[Any]) -> Sequence[Any]:
        return [array("f", (2 * x + c for x, c in zip(*inputs, strict=True)))]

    def output_shapes(self, workload: Workload) -> Sequence[tuple[tuple[int, ...], str]]:
        return [(workload.inputs[0].shape, "float32")]

    def tolerance(self, workload: Workload, precision: str = "float32") -> float:
        return 1e-5

    def operations(self, workload: Workload) -> int:
        return 2 * workload.inputs[0].shape[0]

    def bytes(self, workload: Workload) -> int:
        return 12 * workload.inputs[0].shape[0]

    def pack(self, values: Any, layout: str) -> Any:
        return values[::-1] if layout == "backward" else values

    def unpack(self, values: Any, layout: str, _shape: tuple[int, ...]) -> Any:
        return self.pack(values, layout)

    def parse(self, arguments: str, where: str) -> Workload:
        size = arguments.strip("()")
        if not size.isdecimal():
            raise UsageError(f"{size!r} is no size", where=where, remedy=f"write {NAME}(37)")
        shape = (int(size),)
        return Workload(NAME, (TensorSpec(shape), TensorSpec(shape, role="constant")))

    def format(self, workload: Workload) -> str:
        return f"{NAME}({workload.inputs[0].shape[0]})"

    def checked(self, workload: Workload, where: str) -> Workload:
        return self.parse(f"({workload.inputs[0].shape[0]})", where)


class ImaginarySchedule:
    """The config is the program, with the size."""

    def applies(self, _task: Task) -> bool:
        return True

    def alternatives(self, _task: Task) -> Sequence[Alternative]:
        knobs = Knobs(NAME)
        knobs.define_knob("time", [1e-3, 2e-3, -1.0, "copies", "handed"])
        knobs.define_knob("launch", ["right", "wrong", "silent", "overrun", "fault", *_HARM])
        knobs.define_knob("lower", ["right", *_HARM])
        return [knobs.alternative()]

    def lower(self, task: Task, config: ConfigEntity) -> Any:
        _HARM.get(config["lower"], lambda: None)()
        return {**config.values, "size": task.workload.inputs[0].shape[0]}

    def layouts(self, _task: Task, _config: ConfigEntity) -> Layouts:
        return Layouts(("forward", "backward"), ("forward",), frozenset({1}))

    def fallback(self, _task: Task) -> ConfigEntity | None:
        return imaginary_config()


class ImaginaryBackend:
    """Implements `TargetBackend`, but for networks."""

    def probe(self) -> Sequence[Device]:
        return [Device(NAME, {"l1_bytes": 512, "l2_bytes": 4096})]

    def check_target(self, target: Target, device: Device) -> None:
        """Runs anything."""

    def build(self, program: Any, target: Target) -> Artifact:
        return Artifact(str(target), NAME, json.dumps(program).encode())

    def link(self, network_program: Any, target: Target) -> Artifact:
        raise NotImplementedError

    def load(self, artifact: Artifact, _device: Device) -> ImaginaryKernel:
        if artifact.format != NAME:
            raise UsageError(f"artefact of format {artifact.format!r}, expected {NAME!r}")
        return ImaginaryKernel(json.loads(artifact.data))

    def measure_peak(self, _device: Device, target: Target) -> tuple[float, float]:
        return 1e9 * target.threads, 1e9


class ImaginaryKernel:
    """Implements `Kernel`, `TellsOverruns` and `HandsOver` on arrays of one axis, of any kind."""

    device_is_lost = False  # to this process, as after a fault on a GPU

    def __init__(self, program: Mapping[str, Any]) -> None:
        self.program = program
        self.places: list[list[Any]] = []
        self.turn = 0
        self.handed: Collection[int] = ()

    def bind(self, arrays: Sequence[Any], copies: Mapping[int, int]) -> None:
        self.places = [
            [copy(values) for _ in range(copies.get(operand, 1))]
            for operand, values in enumerate(arrays)
        ]

    def write(self, operand: int, array: Any) -> None:
        for place in self.places[operand]:
            place[:] = array

    def read(self, operand: int) -> Any:
        return copy(self.places[operand][0])

    def launch(self) -> None:
        """Once, on the next place of each operand."""
        x, c, y = (places[self.turn % len(places)] for places in self.places)
        self.turn += 1
        does = self.program["launch"]
        if does == "fault":
            ImaginaryKernel.device_is_lost = True
        if self.device_is_lost:
            raise DeviceFaultError("no launch of this process works any more")
        _HARM.get(does, lambda: None)()
        if does != "silent":
            self.compute(x, c, y)
        if does == "wrong":
            y[len(y) // 2] += 1

    def compute(self, x: Any, c: Any, y: Any) -> None:
        """The right answer; the constant is packed backward."""
        last = len(y) - 1
        for place in range(len(y)):
            y[place] = 2 * x[place] + c[last - place]

    def find_overrun(self) -> str:
        """Where it says that it wrote."""
        return "the neighbour's" if self.program["launch"] == "overrun" else ""

    def hand_over(self, operands: Collection[int]) -> None:
        self.handed = operands

    def time(self, number: int) -> float:
        told = self.program["time"]
        counted = {"copies": len(self.places[1]), "handed": 1 + len(self.handed)}
        return float(number * (1e-3 * counted[told] if told in counted else told))

    def flush(self) -> None:
        """Nothing is cached."""

    def close(self) -> None:
        self.places = []


@hookimpl
def tilewright_targets() -> Sequence[Component[Any]]:
    """The one target."""
    return [Component(NAME, "does as it is told", lambda: lambda *_: ImaginaryBackend())]


@hookimpl
def tilewright_strategies() -> Sequence[Strategy]:
    """The one way to compute the operator."""
    return [Strategy(NAME, 1, (NAME,), (NAME,), lambda _host: ImaginarySchedule())]


@hookimpl
def tilewright_references() -> Sequence[ImaginaryReference]:
    """The reference of the operator."""
    return [ImaginaryReference()]
