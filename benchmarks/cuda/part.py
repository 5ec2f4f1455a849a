"""One part of run_all.sh: `python benchmarks/cuda/part.py PART --out FOLDER`; see there.

Ends with 1 where any step of it failed; the others have run nevertheless.
"""

from __future__ import annotations

import argparse
import signal
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from session import Session

SECONDS = {
    "correctness": 240.0,
    "resnet18": 400.0,
    "layers": 400.0,
    "tensor_cores": 240.0,
    "batches": 460.0,
}
"""Parts in order, each the module of the same name; 29 minutes altogether."""


def main() -> int:
    signal.signal(signal.SIGTERM, _end)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=SECONDS)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", choices=["emulated"])
    parser.add_argument("--seconds", type=float)
    options = parser.parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    seconds = options.seconds or SECONDS[options.part]
    session = Session(options.part, out, options.device, seconds)
    session.note("rehearsal", session.rehearsal)
    environment = session.report["environment"]
    if reason := environment.get("no_device"):
        print(reason, *environment["missing"].values(), sep="\n", file=sys.stderr)
        return 1
    try:
        import_module(options.part).measure(session)
    except (Exception, SystemExit):  # whatever it was, what is known by now stays in the report
        session.note("error", traceback.format_exc())
        print(session.report["error"], file=sys.stderr)
        return 1
    session.note("finished", True)
    return 1 if session.failed else 0


def _end(_number: int, _frame: object) -> NoReturn:
    """By an exception that no step catches: what was started is closed on its way."""
    raise SystemExit("ended from outside, as run_all.sh does when a part's time is over")


if __name__ == "__main__":
    sys.exit(main())
