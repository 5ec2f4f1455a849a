"""Versions of the packages that are named, as JSON; run by the Python of a peer."""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError, version

found = {}
for name in sys.argv[1:]:
    try:
        found[name] = version(name)
    except PackageNotFoundError:
        continue
print(json.dumps(found))
