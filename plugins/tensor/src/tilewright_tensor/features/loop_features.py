"""Loop features of configs: what `tilewright_featurize` answers for loop programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import UsageError
from tilewright_tensor.expressions.buffer import IN_REGISTERS, Buffer
from tilewright_tensor.expressions.expr import Load, leaves
from tilewright_tensor.features import store_features as store
from tilewright_tensor.features.arithmetic import KINDS
from tilewright_tensor.features.store_site import Sites, StoreSite
from tilewright_tensor.ir.loop_ir import LoopProgram

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.task import Task

_PROGRAM = (
    "stores", "work", "parallel.work", "vectorized.work", "unrolled.work", "forks",
    "register.bytes", "local.bytes", "shared.bytes", "scratch.bytes", "workspace.bytes",
    "prefetches", "prefetch.bytes",
)  # fmt: skip
_COUNTS = (
    *(f"main.{name}" for name in store.NAMES),
    *(f"all.{name}" for name in store.SUMMED),
    *(f"program.{name}" for name in _PROGRAM),
)
_PARTS = ("main", "all")
NAMES = (*_COUNTS, *(f"{part}.intensity.{size}" for part in _PARTS for size in store.CACHES))
"""The columns, the same for every program.

main      the store with most work: iterations and the operations in them
all       sums over all stores
program   what no store has by itself
"""


@dataclass(frozen=True, slots=True)
class LoopFeatures:
    """Column names, and one row a config: an array of shape (configs, names), all finite."""

    names: tuple[str, ...]
    rows: NDArray[np.float32]


def loop_features(
    task: Task, configs: Sequence[ConfigEntity], host: PluginHost
) -> LoopFeatures | None:
    """The features of configs; None where a program is no `LoopProgram` or a strategy is missing.

    The row of a config that cannot be lowered is zero, as Ansor has it.
    """
    programs: list[LoopProgram | None] = []
    for config in configs:
        try:
            program = host.lower(task, config)
        except ValueError:
            program = None
        except UsageError:
            return None
        if not isinstance(program, LoopProgram | None):
            return None
        programs.append(program)
    return program_features(programs)


def program_features(programs: Sequence[LoopProgram | None]) -> LoopFeatures:
    """One row a program: log2(1 + count), and intensities as log2(work / traffic)."""
    counts = np.zeros((len(programs), len(_COUNTS)))
    for place, program in enumerate(programs):
        if program is not None:
            counts[place] = _counts(program)
    logs = np.log2(1 + counts)
    intensities = [
        np.log2(1 + counts[:, work].sum(axis=1, keepdims=True)) - logs[:, traffic]
        for work, traffic in ((_columns(part, _WORK), _columns(part, _TRAFFIC)) for part in _PARTS)
    ]
    return LoopFeatures(NAMES, np.hstack([logs, *intensities]).astype(np.float32))


_WORK = ("iterations", *(f"operations.{kind}" for kind in KINDS))
_TRAFFIC = tuple(f"traffic.{size}" for size in store.CACHES)


def _columns(part: str, names: Sequence[str]) -> list[int]:
    return [_COUNTS.index(f"{part}.{name}") for name in names]


def _counts(program: LoopProgram) -> list[float]:
    """The numbers of `_COUNTS`."""
    sites = Sites.of(program)
    users = Counter(name for site in sites.stores for name in _buffers(site))
    shared = frozenset(name for name, count in users.items() if count > 1)
    rows = [store.store_features(site, shared) for site in sites.stores]
    works = [sum(row[: len(_WORK)]) for row in rows]
    main = works.index(max(works))
    total = [sum(column) for column in zip(*rows, strict=True)][: len(store.SUMMED)]
    return [*rows[main], *total, *_program(program, sites, works)]


def _program(program: LoopProgram, sites: Sites, works: Sequence[float]) -> list[float]:
    """The numbers of `_PROGRAM`."""

    def within(kind: str) -> float:
        pairs = zip(sites.stores, works, strict=True)
        return sum(work for site, work in pairs if any(o.kind == kind for o in site.loops))

    def held(*scopes: str) -> float:
        return sum(_bytes(buffer) for buffer, _ in sites.scratch if buffer.scope in scopes)

    return [
        len(sites.stores),
        sum(works),
        *(within(kind) for kind in ("parallel", "vectorized", "unrolled")),
        sum(sites.forks),
        held(*IN_REGISTERS),
        *(held(scope) for scope in ("local", "shared")),
        sum(_bytes(buffer) * times for buffer, times in sites.scratch),
        sum(_bytes(buffer) for buffer in program.workspace),
        sum(times for _, times in sites.prefetches),
        max((prefetch.offset_bytes for prefetch, _ in sites.prefetches), default=0),
    ]


def _bytes(buffer: Buffer) -> int:
    return buffer.size * buffer.item_bytes


def _buffers(site: StoreSite) -> set[str]:
    """Names of the buffers that a store touches."""
    loads = (leaf for leaf in leaves(site.store.value) if isinstance(leaf, Load))
    return {site.store.buffer.name, *(load.buffer.name for load in loads)}
