"""What processor this machine has."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from tilewright.vocabulary.device import Device
from tilewright_x86.machine.isa import available, isa_needed

EMULATED = "emulated"


def cpu_device() -> tuple[Device, ...]:
    """The processor as a device, without peaks, and as `emulated`; none on other architectures."""
    if not available():
        return ()
    attributes: dict[str, Any] = {
        "model": _model(),
        "isa": isa_needed(available()[0], ()).name,  # of float32 code; records go by it
        "cores": os.cpu_count() or 1,  # the machine's: what a process may use of them varies
        "llvm": _llvm_version,
        **cache_bytes(),
    }
    emulated = {"model": f"x86 emulated on {attributes['model']}", "emulated": True}
    return Device("cpu", attributes), Device(EMULATED, {**attributes, **emulated})


def cache_bytes(folder: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> dict[str, int]:
    """`l1_bytes`, `l2_bytes`, `l3_bytes` as one core sees them; the levels the system tells of."""
    found: dict[str, int] = {}
    for index in sorted(folder.glob("index*")):
        try:
            kind = (index / "type").read_text().strip()
            level = (index / "level").read_text().strip()
            size = (index / "size").read_text().strip()
        except OSError:
            continue
        if kind != "Instruction" and size.endswith(("K", "M")):
            found[f"l{level}_bytes"] = int(size[:-1]) << (10 if size[-1] == "K" else 20)
    return found


def _llvm_version() -> str:
    from tilewright_x86.kernel.jit import llvm_version

    return llvm_version()


def _model() -> str:
    """`model name` of the first processor."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
