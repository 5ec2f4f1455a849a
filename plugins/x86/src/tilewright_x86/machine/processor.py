"""What the processor has and the operating system lets it use, as the processor itself tells.

By the instructions `cpuid` and `xgetbv`: Intel's manual for developers, volume 2A, and AMD's,
volume 3, appendix E. LLVM asks the same, and takes 60 MB of memory to be asked.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Mapping

from tilewright_x86.machine.code_memory import PAGE_BYTES, RUN, CodeMemory

_CPUID = bytes.fromhex("53 4989d0 89f8 89f1 0fa2 418900 41895804 41894808 4189500c 5b c3")
"""`void (uint32_t leaf, uint32_t subleaf, uint32_t registers[4])`: to eax, ebx, ecx, edx."""

_XGETBV = bytes.fromhex("31c9 0f01d0 c3")
"""`uint32_t ()`: which registers the operating system saves, a bit each."""

_XGETBV_PLACE = 64

_EAX, _EBX, _ECX, _EDX = range(4)
_OSXSAVE = 27  # in ecx of leaf 1: whether there is xgetbv
_AVX, _AVX512, _TILES = 0x6, 0xE6, 0x60000  # registers that have to be saved

_FEATURES: Mapping[tuple[int, int], Mapping[str, tuple[int, int, int]]] = {
    # (leaf, subleaf): by LLVM's name (register, bit, what the operating system has to save)
    (1, 0): {
        "sse2": (_EDX, 26, 0),
        "sse3": (_ECX, 0, 0),
        "ssse3": (_ECX, 9, 0),
        "fma": (_ECX, 12, _AVX),
        "cx16": (_ECX, 13, 0),
        "sse4.1": (_ECX, 19, 0),
        "sse4.2": (_ECX, 20, 0),
        "movbe": (_ECX, 22, 0),
        "popcnt": (_ECX, 23, 0),
        "avx": (_ECX, 28, _AVX),
        "f16c": (_ECX, 29, _AVX),
    },
    (7, 0): {
        "bmi": (_EBX, 3, 0),
        "avx2": (_EBX, 5, _AVX),
        "bmi2": (_EBX, 8, 0),
        "avx512f": (_EBX, 16, _AVX512),
        "avx512dq": (_EBX, 17, _AVX512),
        "clflushopt": (_EBX, 23, 0),
        "avx512cd": (_EBX, 28, _AVX512),
        "avx512bw": (_EBX, 30, _AVX512),
        "avx512vl": (_EBX, 31, _AVX512),
        "avx512vnni": (_ECX, 11, _AVX512),
        "amx-bf16": (_EDX, 22, _TILES),
        "amx-tile": (_EDX, 24, _TILES),
        "amx-int8": (_EDX, 25, _TILES),
    },
    (7, 1): {  # all bits are 0 where there is no such subleaf
        "avxvnni": (_EAX, 4, _AVX),
        "avx512bf16": (_EAX, 5, _AVX512),
    },
    (0x80000001, 0): {"lzcnt": (_ECX, 5, 0)},
}

FEATURES = frozenset(name for told in _FEATURES.values() for name in told)
"""LLVM's names of what is asked for."""


def processor_features() -> frozenset[str]:
    """Those of `FEATURES` that there are; none on another architecture."""
    if platform.machine() != "x86_64":
        return frozenset()
    code = CodeMemory(PAGE_BYTES)
    code.write(0, _CPUID)
    code.write(_XGETBV_PLACE, _XGETBV)
    code.protect(0, PAGE_BYTES, RUN)
    cpuid = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(code.address)
    xgetbv = ctypes.CFUNCTYPE(ctypes.c_uint32)(code.address + _XGETBV_PLACE)

    def registers(leaf: int, subleaf: int = 0) -> list[int]:
        told = (ctypes.c_uint32 * 4)()
        cpuid(leaf, subleaf, told)
        return [*told]

    found = set()
    saved = xgetbv() if registers(1)[_ECX] >> _OSXSAVE & 1 else 0
    for (leaf, subleaf), features in _FEATURES.items():
        if registers(leaf & 0x80000000)[_EAX] < leaf:  # the last leaf that there is
            continue
        told = registers(leaf, subleaf)
        for name, (register, bit, needed) in features.items():
            if told[register] >> bit & 1 and saved & needed == needed:
                found.add(name)
    code.close()
    return frozenset(found)
