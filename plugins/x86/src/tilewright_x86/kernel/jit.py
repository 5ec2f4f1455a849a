"""LLVM: text to object code.

The one file that drives llvmlite.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

import llvmlite.binding as llvm  # noqa: TID253 - the one file that drives it, imported late

from tilewright_x86.machine.isa import Isa

if TYPE_CHECKING:
    from tilewright_x86.llvm_ir.module_text import KernelText

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
llvm.initialize_native_asmparser()
# Strength reduction gives every address of an unrolled body a register of its own, which are then
# spilled: half the speed of some kernels, and a third of the compile time. The emitter already
# writes addresses as one pointer a loop and constant offsets.
llvm.set_option("tilewright", "-disable-lsr")
# Branches in place of selects: seldom made of emitted text, at a twentieth of the compile time.
llvm.set_option("tilewright", "-disable-select-optimize")

PIPELINES: Mapping[str, tuple[str, ...]] = {
    # the emitter hoists, shares and promotes, so that code generation alone reaches the peak
    "none": (),
    "light": ("sroa", "instruction_combine", "loop_rotate", "simplify_cfg"),
    "O2": (),
}
"""Names of optimisation pipelines to the passes they run; O2 is LLVM's own."""

_lock = threading.Lock()


@cache
def target_machine(isa: Isa) -> llvm.TargetMachine:
    """LLVM's code generator for a level.

    The small code model: constants are read relative to the instruction, which `Loaded` puts near.
    """
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu="x86-64", features=isa.feature_text, opt=2, jit=True, reloc="pic", codemodel="small"
    )


def compile_object(text: str, isa: Isa, passes: str = "none", *, sinking: bool = True) -> bytes:
    """Object code of a module. Raises ValueError where LLVM refuses the text.

    sinking   whether instructions may move behind the branches in front of what uses them
    """
    module = optimised(text, isa, passes)
    with _lock:  # the option is the process's
        llvm.set_option("tilewright", f"-disable-machine-sink={str(not sinking).lower()}")
        data: bytes = target_machine(isa).emit_object(module)
    return data


def compile_kernel(kernel: KernelText, isa: Isa, passes: str) -> bytes:
    """Object code of a kernel, without sinking where it joins (see `KernelText`)."""
    return compile_object(kernel.module, isa, passes, sinking=not kernel.joins)


def optimised(text: str, isa: Isa, passes: str = "none") -> llvm.ModuleRef:
    """The module after a pipeline. Raises ValueError."""
    if passes not in PIPELINES:
        raise ValueError(f"no pass pipeline {passes!r}; there are {', '.join(PIPELINES)}")
    try:
        module = llvm.parse_assembly(text)
    except RuntimeError as error:
        raise ValueError(f"LLVM: {error}") from None
    machine = target_machine(isa)
    if passes == "O2":
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    elif PIPELINES[passes]:
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
        manager = llvm.create_new_module_pass_manager()
        for name in PIPELINES[passes]:
            getattr(manager, f"add_{name}_pass")()
        manager.run(module, builder)
    return module


def assembly(text: str, isa: Isa, passes: str = "none") -> str:
    """What the processor will run, readable."""
    listing: str = target_machine(isa).emit_assembly(optimised(text, isa, passes))
    return listing


def llvm_version() -> str:
    """Version of the LLVM that generates the code."""
    return ".".join(str(part) for part in llvm.llvm_version_info)
