"""Appends batches of records to a file: `store_writer.py FILE WRITER BATCHES SIZE`.

It says a line when it is ready, and begins when it reads one.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import MeasureInput, MeasureResult, Trial
from tilewright.vocabulary.record import Record
from tilewright_pipeline.api.task_text import find_task
from tilewright_pipeline.context.run_setup import open_store


def main(path: Path, writer: int, batches: int, size: int) -> None:
    host = PluginHost.load()
    task = find_task("matmul(64x64, 64x64)", host.resolve_target("x86:isa=avx2"), host, None)
    store, device = open_store(path, host), Device("cpu", {"model": "writer"})

    def record(number: int) -> Record:
        config = ConfigEntity("derived.x86", {"writer": writer, "number": number})
        result = MeasureResult((1e-4, 1.1e-4, 1.2e-4), timings={"compile": 0.01})
        return Record.of(Trial(MeasureInput(task, config), result), device, 1)

    print("ready", flush=True)
    sys.stdin.readline()
    for batch in range(batches):
        store.append([record(number) for number in range(batch * size, (batch + 1) * size)])


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
