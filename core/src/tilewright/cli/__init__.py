"""The command line; its verbs are entry points of the group `tilewright.commands`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run a verb; the exit code is 0, 1 (a check failed), 2 (usage), 3 (partial result) or 130."""
    from tilewright.cli.group import run

    sys.exit(run(sys.argv[1:]))
