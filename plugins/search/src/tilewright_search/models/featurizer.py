"""Features of either kind, in columns that stay where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tilewright.errors import UsageError
from tilewright_search.models.features import FeatureKind, Features, Floats
from tilewright_search.models.knob_features import KnobTable, finite, knob_features

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.task import Task


_REMEMBERED = 1 << 14


class Featurizer:
    """Rows of features, aligned by column name over calls and tasks.

    kind   `knobs`: microseconds a row; `loops`: what a plugin makes of the lowered program
           (`tilewright_featurize`), about a millisecond a row and therefore remembered. A task of
           which no plugin knows the programs falls back to its knobs.
    """

    def __init__(self, host: PluginHost, kind: FeatureKind) -> None:
        self._host = host
        self._kind = kind
        self._columns: dict[str, int] = {}
        self._table = KnobTable(self._columns)
        self._known: dict[tuple[str, ConfigEntity], Floats] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Columns met so far; more may follow."""
        return tuple(self._columns)

    def rows(self, task: Task, configs: Sequence[ConfigEntity]) -> Floats:
        """One row a config, a column a name; a feature that was not named is 0."""
        if self._kind == "knobs":
            return self._table.rows(task, configs)
        missing = [config for config in configs if (task.key, config) not in self._known]
        if missing:
            if len(self._known) > _REMEMBERED:
                self._known.clear()
                missing = list(configs)
            fresh = self._aligned(self._ask(task, missing))
            self._known.update(zip(((task.key, config) for config in missing), fresh, strict=True))
        width = len(self._columns)
        rows = np.zeros((len(configs), width), np.float32)
        for place, config in enumerate(configs):
            row = self._known[task.key, config]
            rows[place, : len(row)] = row
        return rows

    def _ask(self, task: Task, configs: Sequence[ConfigEntity]) -> Features:
        def wrong(answer: object) -> str:
            names, rows = (getattr(answer, part, None) for part in ("names", "rows"))
            if names is None or rows is None:
                return f"expected Features, got a {type(answer).__name__}"
            expected, got = (len(configs), len(names)), np.shape(rows)
            return "" if got == expected else f"expected rows of shape {expected}, got {got}"

        try:
            told: Features | None = self._host.decide(
                "tilewright_featurize", wrong, task=task, configs=configs, host=self._host
            )
        except UsageError:  # a strategy or an operator that is not installed
            told = None
        return told if told is not None else knob_features(task, configs)

    def _aligned(self, features: Features) -> Floats:
        columns = self._columns
        places = [columns.setdefault(name, len(columns)) for name in features.names]
        aligned = np.zeros((len(features.rows), len(columns)), np.float32)
        aligned[:, places] = finite(features.names, features.rows)
        return aligned


def widen(rows: Floats, width: int) -> Floats:
    """The rows with columns of zeros appended up to a width."""
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))
