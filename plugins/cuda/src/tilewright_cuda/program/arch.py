"""The GPU architectures code is generated for, and how a target names one."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.errors import UsageError, did_you_mean
from tilewright.vocabulary.target import Target


@dataclass(frozen=True, slots=True)
class Arch:
    """One compute capability, with the limits of CUDA's programming guide, appendix "Compute
    capabilities".

    name                 what a target says, `cuda:arch=NAME`
    shared_per_block     bytes of shared memory one block may opt in to
    multiprocessors      of the largest common card, for deciding what fills a GPU
    """

    name: str
    shared_per_block: int
    multiprocessors: int

    threads_per_block: int = 1024
    registers_per_thread: int = 255
    registers_per_block: int = 65536
    warp: int = 32

    @property
    def capability(self) -> tuple[int, int]:
        """(major, minor), as drivers say it."""
        digits = self.name.removeprefix("sm_")
        return int(digits[:-1]), int(digits[-1])


_KIB = 1024
ARCHS = (
    Arch("sm_70", 96 * _KIB, 80),
    Arch("sm_75", 64 * _KIB, 72),
    Arch("sm_80", 163 * _KIB, 108),
    Arch("sm_86", 99 * _KIB, 84),
    Arch("sm_89", 99 * _KIB, 128),
    Arch("sm_90", 227 * _KIB, 132),
    Arch("sm_100", 227 * _KIB, 148),
    Arch("sm_120", 99 * _KIB, 170),
)
DEFAULT = "sm_90"
SHARED_EVERYWHERE = 48 * _KIB
"""Bytes of shared memory that a block of any architecture has without opting in."""


def arch_named(name: str, what: str) -> Arch:
    """The architecture of a name. Raises UsageError, about `what`."""
    for arch in ARCHS:
        if arch.name == name:
            return arch
    raise UsageError(
        f"{what}: no architecture named {name!r}",
        remedy=did_you_mean(name, [arch.name for arch in ARCHS]),
    )


def arch_of(target: Target) -> Arch:
    """The architecture a target names; sm_90 where it names none. Raises UsageError."""
    return arch_named(target.get("arch", DEFAULT), f"target {target}")


def runs_on(arch: Arch, capability: tuple[int, ...]) -> bool:
    """Machine code runs on its own major version, from its own minor version on."""
    return arch.capability[0] == capability[0] and arch.capability <= capability
