"""What a run ends with, and the command line."""

DONE = 0
FAILED = 1
USAGE = 2
PARTIAL = 3
"""Done, with less than was asked for: a task without a working candidate, say."""
INTERRUPTED = 130
