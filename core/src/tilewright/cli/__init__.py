"""The command line; its verbs are entry points of the group `tilewright.commands`."""

from __future__ import annotations

import signal
import sys

from tilewright.exit_codes import INTERRUPTED


def main() -> None:
    """Run a verb; the exit code is 0, 1 (a check failed), 2 (usage), 3 (partial result) or 130."""
    from tilewright.cli.group import run

    try:
        code = run(sys.argv[1:])
        if code == INTERRUPTED:  # nothing is left that a second Ctrl-C could stop
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:  # the second, while the first was being told
        code = INTERRUPTED
    sys.exit(code)
