"""What a worker does with a measure request."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tilewright.host.plugin_host import PluginHost
from tilewright.roles import HandsOver, Kernel
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Conditions, DeviceFaultError, FailureKind
from tilewright.vocabulary.task import Task
from tilewright_measure.local.building import artifact_from_json
from tilewright_measure.timing.answer import Case
from tilewright_measure.timing.answer_check import AnswerCheck
from tilewright_measure.timing.phases import phase
from tilewright_measure.timing.timing import take_samples
from tilewright_measure.worker.failures import failure_of, room_for_operands

_CASES = 4  # tasks whose arrays stay in memory
_CACHE_BYTES = 32 << 20  # for a device that tells none
_LOOKING_SECONDS = 1.0
_LONG_SECONDS = 0.05  # a call so long is no slower for being the first
_HOPELESS_ALONE = 8 / 3  # four times as slow as the best with racing 1.5, so without a sample
_MOST_COPIES = 1 << 16  # of a smaller constant than 1 KiB, which cold or warm is soon there


class Measurer:
    """Loads, checks and times candidates in this process."""

    def __init__(self, host: PluginHost) -> None:
        self._host = host
        self._cases: OrderedDict[tuple[str, int, str], Case] = OrderedDict()

    def prepare(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Have a task's target, inputs and expected outputs at hand; not on a candidate's time."""
        task = Task.from_json(request["task"])
        try:
            self._host.backend(task.target.kind)
            self._case(task, request)
        except Exception as error:  # noqa: BLE001  a reference that raises is reported, not fatal
            return {"failure": failure_of(error, FailureKind.INTERNAL).to_json()}
        return {}

    def measure(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """{"costs" or "failure", "timings"}: load, run on poisoned outputs and check, time, check.

        The answer must be right the first time, after the last timed launch, and in `launches`
        more: racing threads go wrong only sometimes. With "last" where the device is lost for this
        process, which is to end after its reply.
        """
        task = Task.from_json(request["task"])
        timings: dict[str, float] = {}
        try:
            case = self._case(task, request)
            costs = self._measure(task, case, request, timings)
        except Exception as error:  # noqa: BLE001  whatever a plugin raises costs one candidate
            failure = failure_of(error, FailureKind.RUN_ERROR).to_json()
            last = isinstance(error, DeviceFaultError)
            return {"failure": failure, "timings": timings, "last": last}
        return {"costs": costs, "timings": timings}

    def _measure(
        self, task: Task, case: Case, request: Mapping[str, Any], timings: dict[str, float]
    ) -> list[float]:
        device = Device.from_json(request["device"])
        conditions = Conditions.from_json(request["conditions"])
        layouts = self._host.layouts(task, ConfigEntity.from_json(request["config"]))
        artifact = artifact_from_json(request["artifact"])
        backend = self._host.backend(task.target.kind)
        with ExitStack() as loaded:
            with phase(timings, "load"):
                kernel = backend.load(artifact, device)
                loaded.callback(kernel.close)
                with room_for_operands():
                    arrays = [case.packed(i, layout) for i, layout in enumerate(layouts.inputs)]
                    arrays += [case.poison(i, layout) for i, layout in enumerate(layouts.outputs)]
                    kernel.bind(arrays, _copies(task, arrays, device, conditions))
                if conditions.constants == "network" and isinstance(kernel, HandsOver):
                    kernel.hand_over(_activations(task))
            with phase(timings, "check"):
                check = AnswerCheck(kernel, case, layouts)
                launch_seconds = _launch(kernel)
                check.look()
            with phase(timings, "time"):
                time.sleep(conditions.cooldown_interval)
                hopeless = request["hopeless_seconds"] or math.inf
                untimed = max(_LONG_SECONDS, _HOPELESS_ALONE * hopeless)
                if device.emulated:  # its launches run more than its clock times
                    untimed = math.inf
                samples = take_samples(kernel.time, conditions, launch_seconds, hopeless, untimed)
            if not samples.lost:  # who lost the race is not chosen, right or wrong
                with phase(timings, "check"):
                    check.look()  # at what the last timed launch left
                    _look_again(kernel, check, request["launches"])
            return samples.seconds

    def _case(self, task: Task, request: Mapping[str, Any]) -> Case:
        workload, seed = task.workload, request["seed"]
        precision = self._host.strategy(request["config"]["strategy"]).precision
        which = workload.key, seed, precision
        case = self._cases.pop(which, None)
        if case is None:
            with room_for_operands():
                reference = self._host.reference(workload.operator)
                folder = Path(request["folder"])
                case = Case.of(workload, reference, seed, precision, folder)
        self._cases[which] = case
        while len(self._cases) > _CASES:
            self._cases.popitem(last=False)
        return case


def _look_again(kernel: Kernel, check: AnswerCheck, launches: int) -> None:
    """Check so many more launches, each on poisoned outputs; one, where they take too long."""
    deadline = time.perf_counter() + _LOOKING_SECONDS
    for number in range(launches):
        if number and time.perf_counter() > deadline:
            break
        check.poison()
        kernel.launch()
        check.look()


def _launch(kernel: Kernel) -> float:
    started = time.perf_counter()
    kernel.launch()
    return time.perf_counter() - started


def _activations(task: Task) -> list[int]:
    return [i for i, spec in enumerate(task.workload.inputs) if spec.role != "constant"]


def _copies(
    task: Task, arrays: list[Any], device: Device, conditions: Conditions
) -> dict[int, int]:
    """Cold: so many copies of every constant that the others together fill the cache twice.

    The cache is the last-level one; that much passes through it before a copy is used again.
    """
    constants = [i for i, spec in enumerate(task.workload.inputs) if spec.role == "constant"]
    if conditions.constants == "warm" or not constants:
        return {}
    cache_bytes = device.cache_bytes or _CACHE_BYTES
    once = max(1, sum(arrays[i].nbytes for i in constants))
    count = min(_MOST_COPIES, -(-2 * cache_bytes // once) + 1)
    return dict.fromkeys(constants, count)
