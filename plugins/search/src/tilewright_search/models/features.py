"""Numbers that stand for configs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
FeatureKind = Literal["knobs", "loops"]


@dataclass(frozen=True, slots=True)
class Features:
    """Column names, and one row of finite numbers a config: an array of shape (configs, names)."""

    names: tuple[str, ...]
    rows: Floats
