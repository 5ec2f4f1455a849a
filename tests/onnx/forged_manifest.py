"""A saved network's manifest, changed by someone who makes its hash anew."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tilewright.canonical import canonical_json


@contextmanager
def forged_manifest(folder: Path) -> Iterator[dict[str, Any]]:
    """What the manifest tells, to be changed; written back with a hash that fits."""
    path = folder / "manifest.json"
    told = json.loads(path.read_text())
    yield told
    del told["manifest_sha256"]
    digest = hashlib.sha256(canonical_json(told).encode()).hexdigest()
    path.write_text(json.dumps({**told, "manifest_sha256": digest}))
