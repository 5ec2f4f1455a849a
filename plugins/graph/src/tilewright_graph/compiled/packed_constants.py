"""The constants of networks in one block of memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright_graph.extraction.memory_plan import ALIGNMENT
from tilewright_tensor.kernels.guarded_memory import GuardedMemory


@dataclass(frozen=True)
class PackedConstants:
    """A block of bytes, and where each constant of a network lies in it."""

    block: Any
    offsets: Mapping[str, int]


def pack_constants(networks: Sequence[Mapping[str, Any]]) -> list[PackedConstants]:
    """Of each network, given its arrays by name: all in one block, equal bytes of networks once.

    Every constant begins on its own cache line.
    """
    placed: dict[Any, tuple[int, Any]] = {}
    offsets: list[dict[str, int]] = []
    end = 0
    for constants in networks:
        own = {}
        for name, array in constants.items():
            key = _content(array) if len(networks) > 1 else name
            if key not in placed:
                placed[key] = end, array
                end += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
            own[name] = placed[key][0]
        offsets.append(own)
    block = _filled(end, placed.values())
    return [PackedConstants(block, own) for own in offsets]


def _content(array: Any) -> tuple[int, bytes]:
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return array.nbytes, hashlib.blake2b(data.data).digest()


def _filled(size: int, placed: Iterable[tuple[int, Any]]) -> Any:
    block = GuardedMemory(size).bytes  # on a cache line, so that kernels share it
    block.fill(0)
    for offset, array in placed:
        block[offset : offset + array.nbytes] = array.reshape(-1).view(np.uint8)
    return block
