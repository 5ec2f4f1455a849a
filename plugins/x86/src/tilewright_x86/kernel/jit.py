"""LLVM: text to object code, object code to a running function.

The one file that drives llvmlite.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
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
    """LLVM's code generator for a level, scheduled for this machine's processor.

    The small code model: constants are read relative to the instruction. The large one, LLVM's
    default for code in memory, goes through a global offset table, which the loader misplaces where
    an engine holds several objects.
    """
    return _machine(isa, reloc="pic", codemodel="small")


def _machine(isa: Isa, **models: str) -> llvm.TargetMachine:
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu="x86-64", features=isa.feature_text, opt=2, jit=True, **models
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


class Loaded:
    """Object code in this process; addresses of its functions, until closed."""

    def __init__(self, objects: Sequence[bytes], isa: Isa) -> None:
        with _lock:
            empty = llvm.parse_assembly("")
            # an engine owns its machine, so that each gets one
            self._engine = llvm.create_mcjit_compiler(empty, _machine(isa))
            self._engine.remove_module(empty)  # compiling it would take longer than all the rest
            for data in objects:
                self._engine.add_object_file(llvm.ObjectFileRef.from_data(data))
            self._engine.finalize_object()

    def address(self, symbol: str) -> int:
        """Address of a function."""
        address: int = self._engine.get_function_address(symbol)
        return address

    def close(self) -> None:
        """Free the code; calling into it afterwards is a fault."""
        self._engine.close()


def add_symbol(name: str, address: int) -> None:
    """Let code loaded from now on call a function by name."""
    llvm.add_symbol(name, address)


def llvm_version() -> str:
    """Version of the LLVM that generates the code."""
    return ".".join(str(part) for part in llvm.llvm_version_info)
