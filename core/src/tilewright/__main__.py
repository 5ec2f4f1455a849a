"""`python -m tilewright` is the command line, where tilewright-cli is installed."""

import sys
from importlib.metadata import entry_points

if __name__ == "__main__":
    found = entry_points(group="console_scripts", name="tilewright")
    if not found:
        sys.exit("tilewright: no command line here; install tilewright-cli")
    next(iter(found)).load()()
