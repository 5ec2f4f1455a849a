"""The runner `local`: checks and times candidates in one worker process of this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from tilewright.host.contexts import MeasureContext
from tilewright.roles import BuildResult
from tilewright.vocabulary.measure import Failure, FailureKind, MeasureInput, MeasureResult
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.task_set import TaskSet
from tilewright_measure.local.building import artifact_to_json
from tilewright_measure.local.device_lease import DeviceLease
from tilewright_measure.local.memory_needed import address_space, check_fits
from tilewright_measure.local.options import LocalRunnerOptions
from tilewright_measure.timing.timing import checked_seconds
from tilewright_measure.worker.failures import RefusedError
from tilewright_measure.worker.pool import WorkerPool
from tilewright_measure.worker.process import WorkerLostError, WorkerProcess

_PREPARE_SECONDS = 600.0  # a reference is slow on purpose: plain and in float64
_SUSPECT = (
    FailureKind.CRASH,
    FailureKind.INTERNAL,
    FailureKind.OUT_OF_MEMORY,
    FailureKind.RUN_ERROR,
    FailureKind.WRONG_ANSWER,
)
_SUSPECT_LAUNCHES = 100  # one that is wrong every twentieth time is found with 99.4 %


class LocalRunner:
    """Measures one candidate after the other, in the order given, on a thread of its own.

    A candidate that fails in a worker which has measured others is tried again in a fresh one, so
    that no candidate fails for memory that an earlier one overwrote. It is checked longer
    there: it may be one whose threads race, and be right by chance. The worker starts while the
    first batch is built. Where one was lost, others may be: from then on a spare starts after a
    batch, not during one, for it would disturb the times. Two runs on one device take turns, batch
    by batch.
    """

    def __init__(self, options: LocalRunnerOptions, context: MeasureContext) -> None:
        self._timeout = options.timeout_on(context.device)
        self._racing = options.racing
        self._device = context.device.to_json()
        self._seed = context.seed
        self._host = context.host
        self._memory_bytes = address_space(context.device, options.memory_bytes)
        self._pool = WorkerPool(context.host.files, self._memory_bytes, keep_spare=True)
        self._cases = str(self._pool.scratch.folder("cases-"))
        self._lease = DeviceLease(context.device)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tilewright-runner")
        self._worker: WorkerProcess | None = None
        self._measured = 0  # candidates the present worker has measured
        self._lost = False  # whether there was a worker before the present one
        # the task and strategy of the last of them
        self._prepared: tuple[Task, str] | None = None
        self._best: dict[tuple[str, str], float] = {}
        self._closing = False
        self._pool.restock()

    def check_tasks(self, tasks: TaskSet) -> None:
        """Raise UsageError for a task whose operands a worker cannot hold."""
        check_fits(tasks, self._host, self._memory_bytes, "local")

    def run(
        self, inputs: Sequence[MeasureInput], builds: Sequence[BuildResult]
    ) -> Sequence[Future[MeasureResult]]:
        """One future an input, in order; returns at once. A config may be asked for again."""
        futures: list[Future[MeasureResult]] = [Future() for _ in inputs]
        batch = list(zip(inputs, builds, futures, strict=True))
        self._thread.submit(self._run_batch, batch)
        return futures

    def close(self) -> None:
        """End every process at once; what has no result yet becomes `cancelled`."""
        self._closing = True
        self._pool.stop()
        self._thread.shutdown()
        self._pool.close()

    def _run_batch(
        self, batch: Sequence[tuple[MeasureInput, BuildResult, Future[MeasureResult]]]
    ) -> None:
        with self._lease.held(stopped=lambda: self._closing):
            for wanted, built, future in batch:
                try:
                    future.set_result(self._result(wanted, built))
                except Exception as error:  # noqa: BLE001  a bug here must leave no caller waiting
                    future.set_exception(error)
        if self._lost and not self._closing:
            self._pool.restock()

    def _result(self, wanted: MeasureInput, built: BuildResult) -> MeasureResult:
        if built.artifact is None:
            return MeasureResult(failure=built.failure, timings=built.timings)
        request = {
            "task": wanted.task.to_json(),
            "config": wanted.config.to_json(),
            "conditions": wanted.conditions.to_json(),
            "artifact": artifact_to_json(built.artifact),
            "device": self._device,
            "seed": self._seed,
            "folder": self._cases,
            "hopeless_seconds": self._hopeless_seconds(wanted),
            "launches": 1,
        }
        used = self._measured > 0
        result = self._attempt(request, wanted, built)
        if used and result.failure is not None and result.failure.kind in _SUSPECT:
            self._drop_worker()
            request["launches"] = _SUSPECT_LAUNCHES
            result = self._attempt(request, wanted, built)
        if result.failure is not None and result.failure.kind is FailureKind.OUT_OF_MEMORY:
            self._drop_worker()  # it keeps what it has taken
        if result.seconds is not None:
            key = wanted.task.key, wanted.conditions.constants
            self._best[key] = min(result.seconds, self._best.get(key, result.seconds))
        return result

    def _attempt(
        self, request: Mapping[str, Any], wanted: MeasureInput, built: BuildResult
    ) -> MeasureResult:
        timings = dict(built.timings)
        try:
            reply = self._converse(request, wanted)
            timings |= reply.get("timings", {})
            if reply.get("last"):
                self._drop_worker()
            if "failure" in reply:
                return MeasureResult(failure=Failure.from_json(reply["failure"]), timings=timings)
            costs = tuple(checked_seconds(cost) for cost in reply["costs"])
            return MeasureResult(costs, timings=timings)
        except WorkerLostError as lost:
            failure = lost.failure
        except RefusedError as refused:
            failure = Failure(refused.kind, str(refused))
        if self._closing:
            failure = Failure(FailureKind.CANCELLED, "measuring was stopped")
        return MeasureResult(failure=failure, timings=timings)

    def _converse(self, request: Mapping[str, Any], wanted: MeasureInput) -> dict[str, Any]:
        """The worker's reply.

        Raises WorkerLostError with the candidate's failure, `internal` where it is not at fault.
        """
        try:
            worker = self._take_worker(wanted.task.target.kind)
            prepared = wanted.task, wanted.config.strategy
            if prepared != self._prepared:
                asked = {name: request[name] for name in ("task", "config", "seed", "folder")}
                reply = worker.call({**asked, "do": "prepare"}, _PREPARE_SECONDS)
                if "failure" in reply:
                    return reply
                self._prepared = prepared
        except WorkerLostError as lost:
            self._drop_worker()
            raise WorkerLostError(lost.as_internal()) from lost
        self._measured += 1
        try:
            return worker.call({**request, "do": "measure"}, self._timeout_seconds(wanted))
        except WorkerLostError:
            self._drop_worker()
            raise

    def _take_worker(self, kind: str) -> WorkerProcess:
        if self._worker is None:
            self._worker = self._pool.take(kind)
        self._pool.settle()
        return self._worker

    def _drop_worker(self) -> None:
        if self._worker is not None:
            self._pool.discard(self._worker)
            self._lost = True
        self._worker = None
        self._measured = 0
        self._prepared = None

    def _timeout_seconds(self, wanted: MeasureInput) -> float:
        """The limit on the candidate, and on top the time that the conditions ask it to spend."""
        conditions = wanted.conditions
        sampling = 2 * conditions.repeat * conditions.min_repeat_ms / 1e3
        return self._timeout + conditions.cooldown_interval + sampling

    def _hopeless_seconds(self, wanted: MeasureInput) -> float | None:
        if wanted.conditions.turns > 1:  # all turns say as much: a slow one is the machine's fault
            return None
        best = self._best.get((wanted.task.key, wanted.conditions.constants))
        return None if best is None else best * self._racing
