"""Where measurements are kept when no file is named."""

from __future__ import annotations

import os
from pathlib import Path


def own_records() -> Path:
    """`tilewright/records.jsonl` in the user's folder for data: `~/.local/share`, as XDG says."""
    folder = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(folder) / "tilewright" / "records.jsonl"
