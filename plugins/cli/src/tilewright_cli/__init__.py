"""The command line; its verbs are entry points of the group `tilewright.commands`."""

from __future__ import annotations

import signal
import sys
from types import FrameType

from tilewright.plugins.loading.distributions import missing_distribution


def main() -> None:
    """Run a verb; the exit code is 0, 1 (a check failed), 2 (usage), 3 (partial result) or 130.

    SIGTERM ends it as the first Ctrl-C does.
    """
    signal.signal(signal.SIGTERM, _as_ctrl_c)
    try:
        from tilewright_pipeline.context.exit_codes import INTERRUPTED
    except ModuleNotFoundError as error:
        if (missing := missing_distribution(error)) is None:
            raise
        sys.stderr.write(f"error: {missing.message}; {missing.remedy}\n")
        sys.exit(2)
    try:
        from tilewright_cli.terminal.group import run

        code = run(sys.argv[1:])
        if code == INTERRUPTED:  # nothing is left that a second Ctrl-C could stop
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
    except KeyboardInterrupt:  # while modules are imported, or the second while the first is told
        code = INTERRUPTED
    sys.exit(code)


def _as_ctrl_c(number: int, frame: FrameType | None) -> None:
    signal.signal(number, lambda *_: None)  # `timeout` sends it twice, and means it once
    handle = signal.getsignal(signal.SIGINT)
    if not callable(handle):  # a shell's background jobs ignore Ctrl-C
        handle = signal.default_int_handler
    handle(signal.SIGINT, frame)
