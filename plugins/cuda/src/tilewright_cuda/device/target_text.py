"""The target that a text means."""

from __future__ import annotations

from tilewright.errors import UsageError, did_you_mean
from tilewright.vocabulary.target import Target
from tilewright_cuda.device.devices import no_gpu, probe
from tilewright_cuda.program.arch import ARCHS, DEFAULT, arch_of, runs_on


def resolve_target(text: str) -> Target | None:
    """`cuda:arch=...` checked, `cuda` as sm_90, `cuda:auto` as the first GPU of this machine.

    None for other kinds of target. Raises UsageError.
    """
    kind, _, rest = text.strip().partition(":")
    if kind != "cuda":
        return None
    if rest == "auto":
        return Target("cuda", {"arch": _arch_here(text)})
    target = Target.parse(text)
    for name in target.attributes:
        if name != "arch":
            raise UsageError(
                f"target {text!r}: cuda has no attribute {name!r}",
                remedy=did_you_mean(name, ["arch"]),
            )
    return target.replace(arch=arch_of(target).name)


def _arch_here(text: str) -> str:
    """The newest known architecture that runs on the first GPU."""
    for device in probe():
        if capability := device.attributes.get("capability"):
            fitting = [arch for arch in ARCHS if runs_on(arch, tuple(capability))]
            if fitting:
                return fitting[-1].name
    why = no_gpu() or "code is made for others"
    raise UsageError(
        f"target {text!r}: this machine has no GPU that can be used: {why}",
        remedy=f"name an architecture to compile for: cuda:arch={DEFAULT}",
    )
