"""A second strategy of the paper target for pooling, in plain NCHW, that comes behind `paper`."""

from __future__ import annotations

from paper_target import Pencil

from tilewright import hookimpl
from tilewright.space.knobs import Knobs
from tilewright.strategies.strategy import Strategy
from tilewright.vocabulary.config import ConfigEntity


class Chalk(Pencil):
    """As paper without blocks."""

    def alternatives(self, task):
        return [Knobs("chalk").alternative()]

    def fallback(self, task):
        return ConfigEntity("chalk")


@hookimpl
def tilewright_strategies():
    return [Strategy("chalk", 1, ("paper",), ("max_pool2d",), Chalk, priority=5)]
