"""Numbers that stand for configs."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright_search.models.interface import Floats


@dataclass(frozen=True, slots=True)
class Features:
    """Column names, and one row of finite numbers a config: an array of shape (configs, names)."""

    names: tuple[str, ...]
    rows: Floats
