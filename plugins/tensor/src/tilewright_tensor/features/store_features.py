"""The numbers that describe one store: after Ansor's features per buffer store (OSDI 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright_tensor.expressions.buffer import IN_REGISTERS
from tilewright_tensor.features.access import Access, accesses
from tilewright_tensor.features.arithmetic import KINDS, operations
from tilewright_tensor.features.footprint import LINE_BYTES
from tilewright_tensor.features.store_site import StoreSite

CACHES = {"2K": 1 << 11, "16K": 1 << 14, "128K": 1 << 17, "1M": 1 << 20, "8M": 1 << 23,
          "64M": 1 << 26}  # fmt: skip
"""Sizes of the imaginary caches through which traffic is counted, whatever the device."""

_ANNOTATIONS = ("vectorized", "unrolled", "parallel")
_BINDINGS = ("blockIdx", "threadIdx", "vthread")
_SLOTS = ("written", "read0", "read1", "read2")
_SLOT = (
    "reads", "writes", "is_register", "is_local", "is_shared",
    "bytes", "unique_bytes", "lines", "unique_lines",
    "loop_reuse", "serial_reuse", "reuse_iterations", "reuse_bytes", "reuse_count", "stride",
)  # fmt: skip

SUMMED = (
    "iterations",
    *(f"operations.{kind}" for kind in KINDS),
    "accesses.bytes",
    "accesses.lines",
    "accesses.loads",
    *(f"traffic.{size}" for size in CACHES),
)
"""Features of which a program's is the sum over its stores: counts over all iterations."""

NAMES = (
    *SUMMED,
    "depth",
    "guards",
    *(
        f"{kind}.{what}"
        for kind in _ANNOTATIONS
        for what in ("loops", "extent", "innermost", "inside")
    ),
    *(f"{kind}.extent" for kind in _BINDINGS),
    *(f"{slot}.{what}" for slot in _SLOTS for what in _SLOT),
)
"""Of what `store_features` gives."""


def store_features(site: StoreSite, shared: frozenset[str]) -> list[float]:
    """One number a name; counts as they are, not as logarithms.

    `shared` names the buffers that other stores touch too.
    """
    iterations = site.runs[-1]
    touched = accesses(site.store, site.loops)
    bytes_by_level = _bytes_by_level(touched, len(site.loops))
    row: list[float] = [iterations]
    row += [count * iterations for count in operations(site.store)]
    row.append(sum((a.reads + a.writes) * a.buffer.item_bytes for a in touched) * iterations)
    row.append(sum(_lines(access, site) for access in touched))
    row.append(_loads(touched, site))
    row += _traffic(bytes_by_level, site)
    row += (len(site.loops), site.guards)
    for kind in _ANNOTATIONS:
        row += _annotation(kind, site)
    row += [prod(o.extent for o in site.loops if o.kind.startswith(kind)) for kind in _BINDINGS]
    written, *read = touched
    # sorting is stable: equal ones stay in the order of the expression
    read.sort(key=lambda access: -access.levels[0].lines)
    for access in (written, *read[: len(_SLOTS) - 1]):
        row += _slot(access, site, bytes_by_level, access.buffer.name in shared)
    return row + [0.0] * (len(NAMES) - len(row))


def _bytes_by_level(touched: Sequence[Access], depth: int) -> list[int]:
    """Bytes of the cache lines that one run of loop `i` touches in memory; last, one execution."""
    memory = [access.levels for access in touched if access.buffer.scope not in IN_REGISTERS]
    return [LINE_BYTES * sum(levels[i].lines for levels in memory) for i in range(depth + 1)]


def _traffic(bytes_by_level: Sequence[int], site: StoreSite) -> list[float]:
    """Bytes that pass into each of `CACHES`.

    A loop whose body fits into the cache loads what it touches once; the loops around it repeat
    that.
    """
    found: list[float] = []
    level = len(site.loops)
    for capacity in CACHES.values():
        while level and bytes_by_level[level - 1] <= capacity:
            level -= 1
        streaming = max(0, level - 1)
        found.append(bytes_by_level[streaming] * site.runs[streaming])
    return found


def _annotation(kind: str, site: StoreSite) -> tuple[float, ...]:
    """Number, product of extents, innermost extent; iterations inside the innermost."""
    places = [i for i, loop in enumerate(site.loops) if loop.kind == kind]
    if not places:
        return 0, 0, 0, 0
    extents = [site.loops[i].extent for i in places]
    return len(places), prod(extents), extents[-1], site.inside(places[-1] + 1)


def _kernel(site: StoreSite, *kinds: str) -> int:
    """The outermost of the innermost loops that are all of some kinds."""
    level = len(site.loops)
    while level and site.loops[level - 1].kind in kinds:
        level -= 1
    return level


def _lines(access: Access, site: StoreSite) -> int:
    """Cache lines asked for, a vector at a time, those asked for before included."""
    level = _kernel(site, "vectorized")
    return access.levels[level].lines * site.runs[level]


def _loads(touched: Sequence[Access], site: StoreSite) -> float:
    """Instructions that move memory, where what the innermost unrolled loops share is in registers.

    A vector counts as one, as does an element that all lanes read.
    """
    level = _kernel(site, "vectorized", "unrolled")
    vectors = [i for i, loop in enumerate(site.loops) if loop.kind == "vectorized"]
    found = 0.0
    for access in touched:
        if access.buffer.scope not in IN_REGISTERS:
            lanes = prod(site.loops[i].extent for i in vectors if access.moved[i])
            found += access.levels[level].elements / lanes
    return found * site.runs[level]


def _slot(
    access: Access, site: StoreSite, bytes_by_level: Sequence[int], serial: bool
) -> tuple[float, ...]:
    size = access.buffer.item_bytes
    # a lane that all of a vector read is no reuse
    still = [
        i for i, loop in enumerate(site.loops) if not access.moved[i] and loop.kind != "vectorized"
    ]
    serial = serial and not still
    reuse: tuple[float, ...] = (0, 0, 0)
    if still:
        inside = still[-1] + 1
        reuse = (site.inside(inside), bytes_by_level[inside], site.loops[still[-1]].extent)
    elif serial:
        reuse = (site.runs[-1], bytes_by_level[0], 1)
    scope = access.buffer.scope
    return (
        access.reads,
        access.writes,
        scope in IN_REGISTERS,
        scope == "local",
        scope == "shared",
        (access.reads + access.writes) * size * site.runs[-1],
        access.levels[0].elements * size,
        _lines(access, site),
        access.levels[0].lines,
        bool(still),
        serial,
        *reuse,
        access.stride,
    )
