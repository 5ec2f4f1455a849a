"""An assembly as one program: kernels lowered, memory planned, constants in one block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright_graph.compiled.packed_constants import PackedConstants, pack_constants
from tilewright_graph.extraction.inner_rows import InnerRows
from tilewright_graph.extraction.memory_plan import Lifetime, MemoryPlan, plan_memory, rested
from tilewright_graph.network.network_bytes import check_network_bytes
from tilewright_graph.selection.assembly import Assembly
from tilewright_tensor.ir.network_program import KernelCall, NetworkBuffer, NetworkProgram


@dataclass(frozen=True)
class LoweredNetwork:
    """What a backend links, the constants (uint8) that it reads, the plan of its arena."""

    program: NetworkProgram
    constants: Any
    memory: MemoryPlan


def lower_network(
    name: str,
    inputs: tuple[str, ...],
    results: tuple[str, ...],
    assembly: Assembly,
    host: PluginHost,
    *,
    reuse_distance: int = 0,
    others: Mapping[int, Sequence[ConfigEntity]] | None = None,
    packed: PackedConstants | None = None,
    rows: InnerRows | None = None,
) -> LoweredNetwork:
    """The program of an assembly; equal kernels share one lowered program.

    `reuse_distance`: see `TellsReuseDistance`; `others`: by number of a call, configs of equal
    layouts that may take its place (see `SwapsKernels`). `packed`: its constants, where they lie
    beside those of other networks. `rows`: of which fewer rows may be asked for.
    """
    memory = plan_memory(rested(_lifetimes(assembly), _touched(assembly), reuse_distance))
    outside = [t.bytes for t in assembly.tensors.values() if t.kind != "intermediate"]
    check_network_bytes(sum(outside) + memory.arena_bytes, name)
    packed = packed or pack_constants([assembly.constants])[0]
    inner = [t.name for t in assembly.tensors.values() if t.kind in ("constant", "intermediate")]
    offsets = dict(packed.offsets)
    for placed in inner:
        whole, place = _whole(placed, assembly)
        if whole in memory.offsets:
            offsets[placed] = memory.offsets[whole] + place
    buffers = tuple(
        NetworkBuffer(
            tensor.name, tensor.shape, tensor.dtype, tensor.kind, offsets.get(tensor.name, 0)
        )
        for tensor in (assembly.tensors[placed] for placed in (*inputs, *inner, *results))
    )
    lowered: dict[Any, Any] = {}
    calls = []
    for number, call in enumerate(assembly.calls):
        configs = (call.config, *(others or {}).get(number, ()))
        for which in ((call.task, config) for config in configs):
            if which not in lowered:
                lowered[which] = host.lower(*which)
        own, *rest = (lowered[call.task, config] for config in configs)
        written = () if rows is None else rows.in_output(*call.makes)
        calls.append(KernelCall(call.node, own, (*call.reads, call.write), tuple(rest), written))
    sizes = memory.arena_bytes, packed.block.nbytes, () if rows is None else rows.sizes
    program = NetworkProgram(name, buffers, tuple(calls), *sizes)
    return LoweredNetwork(program, packed.block, memory)


def _lifetimes(assembly: Assembly) -> list[Lifetime]:
    """Of every intermediate tensor that is no part of another; parts live as long as the whole."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for step, call in enumerate(assembly.calls):
        touched = [_whole(placed, assembly)[0] for placed in (call.write, *call.reads)]
        first.setdefault(touched[0], step)
        last.update(dict.fromkeys(touched, step))
    return [
        Lifetime(tensor.name, tensor.bytes, first[tensor.name], last[tensor.name])
        for tensor in assembly.tensors.values()
        if tensor.kind == "intermediate" and tensor.within is None
    ]


def _touched(assembly: Assembly) -> list[int]:
    """Bytes that each call reads and writes."""
    return [
        sum(assembly.tensors[name].bytes for name in {*call.reads, call.write})
        for call in assembly.calls
    ]


def _whole(placed: str, assembly: Assembly) -> tuple[str, int]:
    """The outermost tensor of which a placed tensor is a part, itself if of none, and where."""
    place = 0
    while (within := assembly.tensors[placed].within) is not None:
        placed, offset = within
        place += offset
    return placed, place
