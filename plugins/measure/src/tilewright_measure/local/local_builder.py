"""The builder `local`: lowers and compiles in worker processes, on every core."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from tilewright.host.contexts import MeasureContext
from tilewright.roles import BuildResult
from tilewright.vocabulary.measure import Failure, FailureKind, MeasureInput
from tilewright_measure.local.building import build_result_from_json
from tilewright_measure.local.device_lease import DeviceLease
from tilewright_measure.local.kept_artifacts import KeptArtifacts
from tilewright_measure.local.options import LocalBuilderOptions
from tilewright_measure.worker.pool import WorkerPool
from tilewright_measure.worker.process import WorkerLostError, WorkerProcess

_SUSPECT = (FailureKind.CRASH, FailureKind.OUT_OF_MEMORY)
_KEPT_BYTES = 64 << 20  # of code: some thousands of kernels


class LocalBuilder:
    """Builds a batch in parallel; every worker is idle when `build` returns.

    A candidate that kills a worker which has built others is tried again in a fresh one, so that
    no candidate fails for memory that an earlier one overwrote. One that was built lately is not
    built again (see `KeptArtifacts`), and has no timings then. While another run measures on the
    device nothing is built: the compilers take every core.
    """

    def __init__(self, options: LocalBuilderOptions, context: MeasureContext) -> None:
        self._timeout_seconds = options.timeout_on(context.device)
        self._pool = WorkerPool(context.host.files, options.memory_bytes, keep_spare=False)
        self._lease = DeviceLease(context.device)
        self._threads = ThreadPoolExecutor(options.workers)
        self._idle: list[WorkerProcess] = []
        self._kept = KeptArtifacts(_KEPT_BYTES)
        self._stopping = False

    def build(self, inputs: Sequence[MeasureInput]) -> Sequence[BuildResult]:
        """One result an input, in order. An interrupt kills the workers at once and goes on up."""
        kept = [self._kept.find(each) for each in inputs]
        missing = [each for each, artifact in zip(inputs, kept, strict=True) if artifact is None]
        made = iter(self._build_all(missing) if missing else ())
        return [next(made) if artifact is None else BuildResult(artifact) for artifact in kept]

    def close(self) -> None:
        self._pool.stop()
        self._threads.shutdown(cancel_futures=True)
        self._pool.close()

    def _build_all(self, inputs: Sequence[MeasureInput]) -> list[BuildResult]:
        with self._lease.held():
            futures: list[Future[BuildResult]] = []
            try:
                for each in inputs:  # one by one: Ctrl-C may come between two
                    futures.append(self._threads.submit(self._build, each))  # noqa: PERF401
                builds = [future.result() for future in futures]
            except BaseException:
                self._stop(futures)
                raise
        for wanted, built in zip(inputs, builds, strict=True):
            if built.artifact is not None:
                self._kept.add(wanted, built.artifact)
        return builds

    def _stop(self, futures: Sequence[Future[BuildResult]]) -> None:
        self._stopping = True
        # Of those that are cancelled, some are never told so: `close` may drop them.
        begun = [future for future in futures if not future.cancel()]
        while wait(begun, timeout=0.02).not_done:  # some may only now get their worker
            self._pool.interrupt()
        self._stopping = False

    def _build(self, wanted: MeasureInput) -> BuildResult:
        try:
            worker = self._idle.pop()
        except IndexError:
            return self._build_fresh(wanted)
        result = self._build_in(worker, wanted)
        suspect = result.failure is not None and result.failure.kind in _SUSPECT
        return self._build_fresh(wanted) if suspect and not self._stopping else result

    def _build_fresh(self, wanted: MeasureInput) -> BuildResult:
        try:
            worker = self._pool.take(wanted.task.target.kind)
        except WorkerLostError as lost:
            return BuildResult(None, lost.as_internal())
        return self._build_in(worker, wanted)

    def _build_in(self, worker: WorkerProcess, wanted: MeasureInput) -> BuildResult:
        request = {
            "do": "build",
            "task": wanted.task.to_json(),
            "config": wanted.config.to_json(),
        }
        try:
            reply = worker.call(request, self._timeout_seconds)
        except WorkerLostError as lost:
            self._pool.discard(worker)
            failure = lost.failure
            if failure.kind is FailureKind.RUN_TIMEOUT:
                failure = Failure(FailureKind.BUILD_TIMEOUT, failure.text)
            return BuildResult(None, failure)
        result = build_result_from_json(reply)
        if result.failure is not None and result.failure.kind is FailureKind.OUT_OF_MEMORY:
            self._pool.discard(worker)  # it keeps what it has taken
        else:
            self._idle.append(worker)
        return result
