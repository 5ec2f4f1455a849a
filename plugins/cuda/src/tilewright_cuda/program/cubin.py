"""The resources that kernels need, read from their cubin without CUDA's tools.

A cubin is an ELF file. Registers and stack stand in `.nv.info` as (attribute, symbol, value),
static shared memory is the size of `.nv.shared.NAME`, and spills are the loads and stores of local
memory in `.text.NAME`, whose instructions are 16 bytes with the opcode in the lowest 12 bits (since
sm_70).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from tilewright_cuda.program.arch import Arch
from tilewright_cuda.program.cuda_program import Launch

_REGISTERS, _FRAME = 0x2F, 0x11
_HAS_VALUE = 0x04
_LOAD_LOCAL, _STORE_LOCAL = 0x983, 0x387
_TOLERATED_STACK = 64
"""Bytes: functions of the maths library keep tables of this size on the stack."""
_RESERVED_SHARED = ".nv.shared.reserved.0", 1024
"""A section of cubins from sm_90 on, and the bytes of shared memory that it adds to a block's."""


@dataclass(frozen=True, slots=True)
class Resources:
    """Of one kernel.

    registers      of a thread; where it spills, the compiler may report fewer than it was allowed
    stack          bytes of local memory of a thread
    local_loads, local_stores
                   instructions that move values between registers and local memory
    shared         bytes of static shared memory of a block
    """

    registers: int
    stack: int
    local_loads: int
    local_stores: int
    shared: int

    def spills(self, local_bytes: int = 0) -> bool:
        """Whether a thread keeps more on its stack than the kernel's own local buffers."""
        return self.stack > local_bytes + _TOLERATED_STACK

    def check_launch(self, launch: Launch, arch: Arch) -> None:
        """Raise ValueError where a block needs more registers or shared memory than there are."""
        kernel, threads = launch.kernel, prod(launch.block)
        shared = self.shared + launch.shared_bytes
        if shared > arch.shared_per_block:
            raise ValueError(
                f"kernel {kernel}: {shared} bytes of shared memory, {self.shared} of them static, "
                f"at most {arch.shared_per_block}"
            )
        warps = -(-threads // arch.warp)
        if -(-self.registers // 8) * 8 * arch.warp * warps > arch.registers_per_block:
            raise ValueError(
                f"kernel {kernel}: {self.registers} registers in {threads} threads, "
                f"a multiprocessor has {arch.registers_per_block}"
            )

    def check_spills(self, kernel: str, local_bytes: int) -> None:
        """Raise ValueError where registers spill into local memory."""
        if self.spills(local_bytes):
            raise ValueError(
                f"kernel {kernel}: registers spill, {self.stack} bytes of stack, "
                f"{self.local_loads} loads and {self.local_stores} stores of local memory"
            )


def resources_of(cubin: bytes) -> Mapping[str, Resources]:
    """Resources by kernel name. Raises ValueError for anything but a cubin."""
    try:
        sections = dict(_sections(cubin))
        symbols = _symbols(sections)
        registers: dict[str, int] = {}
        stack: dict[str, int] = {}
        for attribute, symbol, value in _attributes(sections[".nv.info"]):
            if attribute == _REGISTERS:
                registers[symbols[symbol]] = value
            elif attribute == _FRAME:
                stack[symbols[symbol]] = value
    except (KeyError, IndexError, struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"no cubin: {error!r}") from None
    section, reserved = _RESERVED_SHARED
    if all(name != section for name, *_ in _headers(cubin)):
        reserved = 0
    return {
        name: Resources(
            registers[name],
            stack.get(name, 0),
            *_local_accesses(sections[f".text.{name}"]),
            max(0, _size(cubin, f".nv.shared.{name}") - reserved),
        )
        for name in registers
        if f".text.{name}" in sections
    }


def _headers(cubin: bytes) -> Iterator[tuple[str, int, int, int]]:
    """(name, type, offset, size) of each section."""
    if cubin[:5] != b"\x7fELF\x02":
        raise ValueError("no cubin: it does not begin as a 64-bit ELF file")
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    raw = [struct.unpack_from("<IIQQQQ", cubin, table + size * n) for n in range(count)]
    strings = raw[names][4]
    for at, kind, _, _, offset, length in raw:
        end = cubin.index(b"\0", strings + at)
        yield cubin[strings + at : end].decode(), kind, offset, length


def _sections(cubin: bytes) -> Iterator[tuple[str, bytes]]:
    nothing_in_file = 8
    for name, kind, offset, length in _headers(cubin):
        if kind != nothing_in_file:
            yield name, cubin[offset : offset + length]


def _size(cubin: bytes, section: str) -> int:
    return next((length for name, _, _, length in _headers(cubin) if name == section), 0)


def _symbols(sections: Mapping[str, bytes]) -> list[str]:
    """Names by number."""
    strings = sections[".strtab"]
    return [
        strings[at : strings.index(b"\0", at)].decode()
        for at, *_ in struct.iter_unpack("<IBBHQQ", sections[".symtab"])
    ]


def _attributes(info: bytes) -> Iterator[tuple[int, int, int]]:
    """(attribute, symbol, value) of the entries that have two words."""
    at = 0
    while at < len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form == _HAS_VALUE:
            if size == 8:
                yield attribute, *struct.unpack_from("<II", info, at)
            at += size


def _local_accesses(code: bytes) -> tuple[int, int]:
    """(loads, stores) of local memory."""
    opcodes = [low | (high & 0xF) << 8 for low, high in zip(code[::16], code[1::16], strict=True)]
    return opcodes.count(_LOAD_LOCAL), opcodes.count(_STORE_LOCAL)
