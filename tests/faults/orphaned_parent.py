"""A process that tells its workers' numbers and hangs in the middle of a batch; a test ends it."""

from __future__ import annotations

import runpy
import sys
import time
from pathlib import Path

from tilewright.host.plugin_host import PluginHost

shared = runpy.run_path(str(Path(__file__).parents[1] / "conftest.py"))
host = PluginHost.load([shared["FAULTS"]])
bench = shared["Bench"](host, {"timeout_seconds": 60}, {"timeout_seconds": 60})
asked = [bench.ask(), bench.ask("hang_deaf")]
started, hanging = bench.runner.run(asked, bench.builder.build(asked))
workers: list[str] = []
try:
    started.result()
    time.sleep(0.1)  # into the hang
    for task in Path("/proc/self/task").iterdir():
        workers += (task / "children").read_text().split()
    print(*workers, flush=True)  # noqa: T201  what the test reads
    hanging.result()
except KeyboardInterrupt:
    alive = [worker for worker in workers if Path("/proc", worker).exists()]
    print(*alive, flush=True)  # noqa: T201
    bench.close()
    sys.exit(130)
