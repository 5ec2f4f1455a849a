"""A run on a worker: its builder and its runner, which are those of a single machine."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tilewright.host.contexts import MeasureContext
from tilewright.host.plugin_host import PluginHost
from tilewright.roles import BuildResult
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import MeasureInput, MeasureResult
from tilewright_dask.worker.plugin_files import write_plugins
from tilewright_measure.local.building import artifact_from_json
from tilewright_measure.local.local_builder import LocalBuilder
from tilewright_measure.local.local_runner import LocalRunner
from tilewright_measure.local.options import LocalBuilderOptions, LocalRunnerOptions
from tilewright_measure.worker.scratch import Scratch


class Session:
    """Builds, and where it `measures` runs, batches of one run until it is closed.

    >>> session = Session(request, device, files, plugins, measures=True)   # processes start
    >>> builds = session.build(inputs, artifacts, building)
    >>> session.measure(inputs, builds)         # one result an input, in order
    >>> session.close()                         # from any thread: no process is left

    The plugin files are the given ones, and `plugins`, {name: text}, which are written into a
    folder that `close` removes. Raises UsageError where one does not import.
    """

    def __init__(
        self,
        request: Mapping[str, Any],
        device: Device,
        files: Sequence[Path],
        plugins: Mapping[str, str],
        *,
        measures: bool,
    ) -> None:
        self._scratch = Scratch()
        try:
            sent = write_plugins(plugins, self._scratch.folder("plugins-"))
            host = PluginHost.load([*files, *sent])
            context = self._context = MeasureContext(host, device, request["seed"])
            self._runner: LocalRunner | None = None
            if measures:
                self._runner = LocalRunner(LocalRunnerOptions(**request["runner"]), context)
        except BaseException:
            self._scratch.close()
            raise
        self._builder: LocalBuilder | None = None
        self._making = threading.Lock()
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    def build(
        self,
        inputs: Sequence[MeasureInput],
        artifacts: Sequence[Mapping[str, Any] | None],
        building: Mapping[str, Any],
    ) -> list[BuildResult]:
        """One result an input; what comes without an artefact is built here, by these options."""
        asked = list(zip(inputs, artifacts, strict=True))
        missing = [each for each, sent in asked if sent is None]
        made = iter(self._made_builder(building).build(missing) if missing else ())
        return [
            next(made) if sent is None else BuildResult(artifact_from_json(sent))
            for _, sent in asked
        ]

    def measure(
        self, inputs: Sequence[MeasureInput], builds: Sequence[BuildResult]
    ) -> list[MeasureResult]:
        """One result an input."""
        assert self._runner is not None
        return [future.result() for future in self._runner.run(inputs, builds)]

    def close(self) -> None:
        """End every process at once; what is being measured becomes `cancelled`."""
        with self._making:
            if self._closed:
                return
            self._closed = True
        if self._runner is not None:
            self._runner.close()
        if self._builder is not None:
            self._builder.close()
        self._scratch.close()

    def _made_builder(self, options: Mapping[str, Any]) -> LocalBuilder:
        with self._making:
            if self._builder is None:
                if self._closed:
                    raise RuntimeError("the session was closed")
                self._builder = LocalBuilder(LocalBuilderOptions(**options), self._context)
            return self._builder
