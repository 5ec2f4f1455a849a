"""Inception v3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright_graph.frontends.zoo.layers import Layers
from tilewright_graph.network.network import Network

_ROW, _COLUMN = (1, 7), (7, 1)


def inception_v3(layers: Layers) -> Network:
    """Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", 2015.

    As in torchvision, without the auxiliary classifier, which only training needs.
    """
    return _InceptionV3(layers).network()


class _InceptionV3:
    def __init__(self, layers: Layers) -> None:
        self._layers = layers

    def network(self) -> Network:
        b, unit = self._layers.builder, self._unit
        x = unit(self._layers.image(), 32, 3, 2, padding=0)
        x = unit(unit(x, 32, 3, padding=0), 64, 3)
        x = self._pooled(x)
        x = unit(unit(x, 80, 1), 192, 3, padding=0)
        x = self._pooled(x)
        for pooled in (32, 64, 64):
            x = self._square(x, pooled)
        x = self._joined(
            unit(x, 384, 3, 2, padding=0),
            unit(self._chain(x, (64, 1), (96, 3)), 96, 3, 2, padding=0),
            self._pooled(x),
        )
        for inner in (128, 160, 160, 192):
            x = self._crossed(x, inner)
        x = self._joined(
            unit(unit(x, 192, 1), 320, 3, 2, padding=0),
            unit(self._chain(x, (192, 1), (192, _ROW), (192, _COLUMN)), 192, 3, 2, padding=0),
            self._pooled(x),
        )
        for _ in range(2):
            x = self._forked(x)
        return self._layers.classified(b.global_avg_pool2d(x))

    def _square(self, x: str, pooled: int) -> str:
        """The block of 1x1, 5x5 and doubled 3x3."""
        return self._joined(
            self._unit(x, 64, 1),
            self._chain(x, (48, 1), (64, 5)),
            self._chain(x, (64, 1), (96, 3), (96, 3)),
            self._averaged(x, pooled),
        )

    def _crossed(self, x: str, inner: int) -> str:
        """The block whose 7x7 are rows and columns."""
        return self._joined(
            self._unit(x, 192, 1),
            self._chain(x, (inner, 1), (inner, _ROW), (192, _COLUMN)),
            self._chain(
                x, (inner, 1), (inner, _COLUMN), (inner, _ROW), (inner, _COLUMN), (192, _ROW)
            ),
            self._averaged(x, 192),
        )

    def _forked(self, x: str) -> str:
        """The block whose 3x3 are a row beside a column."""
        single = self._unit(x, 384, 1)
        double = self._chain(x, (448, 1), (384, 3))
        sides = [
            self._unit(y, 384, kernel) for y in (single, double) for kernel in ((1, 3), (3, 1))
        ]
        return self._joined(self._unit(x, 320, 1), *sides, self._averaged(x, 192))

    def _chain(self, x: str, *units: tuple[int, int | Sequence[int]]) -> str:
        for channels, kernel in units:
            x = self._unit(x, channels, kernel)
        return x

    def _averaged(self, x: str, channels: int) -> str:
        pool = {"pool_size": 3, "strides": 1, "padding": 1, "count_include_pad": True}
        return self._unit(self._layers.builder.avg_pool2d(x, **pool), channels, 1)

    def _pooled(self, x: str) -> str:
        return self._layers.builder.max_pool2d(x, pool_size=3, strides=2)

    def _joined(self, *parts: str) -> str:
        return self._layers.builder.concat(*parts, axis=1)

    def _unit(
        self, x: str, channels: int, kernel: int | Sequence[int], stride: int = 1, **more: Any
    ) -> str:
        return self._layers.unit(x, channels, kernel, stride, **more)
