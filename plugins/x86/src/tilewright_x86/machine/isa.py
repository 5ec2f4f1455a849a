"""The instruction sets code is generated for, widest first, and which of them this machine has."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache

from tilewright.canonical import canonical_json
from tilewright.errors import UsageError, did_you_mean
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright_x86.machine.processor import processor_features
from tilewright_x86.machine.tile_permission import grants_tiles


@dataclass(frozen=True, slots=True)
class Isa:
    """One level of x86.

    name          what a target says, `x86:isa=NAME`
    vector_bits   width of a vector register
    fma           whether a fused multiply-add exists
    features      LLVM feature names that code of this level may use
    """

    name: str
    vector_bits: int
    fma: bool
    features: tuple[str, ...]

    @property
    def feature_text(self) -> str:
        """`+a,+b`, as LLVM takes it."""
        return ",".join(f"+{name}" for name in self.features)

    def lanes(self, item_bytes: int) -> int:
        """Elements of a size that one register holds; sizes below four bytes count as four."""
        return self.vector_bits // (8 * max(4, item_bytes))


_SSE4 = ("sse2", "sse3", "ssse3", "sse4.1", "sse4.2", "cx16", "popcnt")
_AVX2 = (*_SSE4, "avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe")
_AVX512 = (*_AVX2, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")

_INTEGER_DOTS = "avx512vnni", "avxvnni"
_BFLOAT16_DOTS = ("avx512bf16",)
_TILES = "amx-tile", "amx-bf16", "amx-int8"
_AVX512_VNNI = (*_AVX512, "avx512vnni")
_AVX512_BF16 = (*_AVX512_VNNI, *_BFLOAT16_DOTS)
_AMX = (*_AVX512_BF16, *_TILES)

ISAS = (
    Isa("amx", 512, True, _AMX),
    Isa("avx512_bf16", 512, True, _AVX512_BF16),
    Isa("avx512_vnni", 512, True, _AVX512_VNNI),
    Isa("avx512", 512, True, _AVX512),
    Isa("avx2_vnni", 256, True, (*_AVX2, "avxvnni")),
    Isa("avx2", 256, True, _AVX2),
    Isa("sse4", 128, False, _SSE4),
)


_ATTRIBUTES = "isa", "threads", "emulated"


@cache
def available() -> tuple[Isa, ...]:
    """The levels this machine can run, widest first; empty on another architecture."""
    return tuple(isa for isa in ISAS if features().issuperset(isa.features))


@cache
def features() -> frozenset[str]:
    """What this machine's processor has, but for what the operating system withholds.

    Nothing on another architecture.
    """
    found = processor_features()
    return found if found.isdisjoint(_TILES) or grants_tiles() else found.difference(_TILES)


def isa_of(target: Target) -> Isa:
    """The level a target names; where it names none, the widest of this machine.

    Raises UsageError.
    """
    name = target.get("isa")
    if not name:
        if not available():
            raise UsageError(
                f"target {target}: this machine runs no x86 code that is generated here",
                remedy=f"name an ISA to compile for: {', '.join(isa.name for isa in ISAS)}",
            )
        return available()[0]
    for isa in ISAS:
        if isa.name == name:
            return isa
    raise UsageError(
        f"target {target}: no ISA named {name!r}",
        remedy=did_you_mean(name, [isa.name for isa in ISAS]),
    )


def equal_targets(task: Task) -> tuple[Target, ...]:
    """Those of the other levels with equal vectors, for a task that is float32 throughout.

    Instructions of lower precision, and conversions to it, would make the code another.
    """
    dtypes = {spec.dtype for spec in task.workload.inputs}
    named = canonical_json(task.workload.to_json())  # of attributes too: layouts have data types
    if dtypes != {"float32"} or any(lower in named for lower in ("bfloat16", "float16", "int8")):
        return ()
    own = isa_of(task.target)
    others = (isa for isa in ISAS if isa.vector_bits == own.vector_bits and isa != own)
    return tuple(task.target.replace(isa=isa.name) for isa in others)


def is_emulated(target: Target) -> bool:
    """Whether code is generated that runs without the target's ISA."""
    return target.get("emulated") == "yes"


def isa_of_code(target: Target) -> Isa:
    """The level that text is written for.

    An emulated target has its vectors and what this machine has of its features, but for tensor
    instructions: those are emulated on machines that have them, too.
    """
    isa = isa_of(target)
    if not is_emulated(target):
        return isa
    kept = features() - {*_INTEGER_DOTS, *_BFLOAT16_DOTS, *_TILES}
    return replace(isa, features=tuple(name for name in isa.features if name in kept))


def isa_needed(isa: Isa, wanted: Collection[str]) -> Isa:
    """The lowest level of equal vectors that has the wanted features of a level.

    Code for it runs wherever it can, and is the same for all levels of equal vectors.
    """
    family = [one for one in ISAS if one.vector_bits == isa.vector_bits]
    lowest = [one for one in family if set(wanted) <= set(one.features)][-1]
    return replace(lowest, features=tuple(n for n in lowest.features if n in isa.features))


def require(name: str, what: str) -> None:
    """Raise UsageError, about `what`, where this machine lacks the level of that name."""
    names = [isa.name for isa in available()]
    if name not in names:
        raise UsageError(
            f"{what}: this machine runs {', '.join(names) or 'none'}",
            remedy=f"compile for x86:isa={names[0]}" if names else "run it on an x86 machine",
        )


def resolve_target(text: str) -> Target | None:
    """`native` and `x86[:...]` with ISA and threads filled in; None for other kinds of target.

    Raises UsageError for an attribute, ISA or number of threads that does not exist.
    """
    if text.strip() == "native":
        text = "x86"
    if text.strip().partition(":")[0] != "x86":
        return None
    target = Target.parse(text)
    for name in target.attributes:
        if name not in _ATTRIBUTES:
            raise UsageError(
                f"target {text!r}: x86 has no attribute {name!r}",
                remedy=did_you_mean(name, list(_ATTRIBUTES)),
            )
    if target.get("emulated", "yes") != "yes":
        raise UsageError(
            f"target {text!r}: emulated is {target.get('emulated')!r}",
            remedy="leave it out; --device emulated adds emulated=yes",
        )
    threads = target.get("threads", "1")
    if not threads.isdecimal() or not 1 <= int(threads) <= 1024:
        raise UsageError(
            f"target {text!r}: threads is {threads!r}", remedy="write a number from 1 to 1024"
        )
    return target.replace(isa=isa_of(target).name, threads=int(threads))
