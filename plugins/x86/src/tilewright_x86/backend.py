"""The x86 target: probe, build, link, load, peak."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.errors import UsageError
from tilewright.roles import Artifact
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright_tensor.ir.loop_ir import LoopProgram
from tilewright_tensor.ir.network_program import NetworkProgram
from tilewright_x86.kernel.kernel import X86Kernel
from tilewright_x86.kernel.program import X86Program
from tilewright_x86.machine.isa import equal_targets, is_emulated, isa_of, require


class X86Backend:
    """Implements `TargetBackend` for the processor of this machine.

    Programs are `LoopProgram` or `X86Program`.
    """

    def probe(self) -> Sequence[Device]:
        """`cpu` and `emulated`, or none on another architecture."""
        from tilewright_x86.device.cpu import cpu_device

        return cpu_device()

    def check_target(self, target: Target, device: Device) -> None:
        """Raises UsageError for an ISA that this machine lacks, and for more threads than CPUs.

        Those that this process may use count: `taskset` and containers leave it some.
        """
        _check_emulation(target, device)
        if not is_emulated(target):
            require(isa_of(target).name, f"target {target}")
        allowed = len(os.sched_getaffinity(0))
        if target.threads > allowed:
            raise UsageError(
                f"{target} wants {target.threads} threads, this process may use {allowed} CPUs",
                remedy=f"ask for at most threads={allowed}, or lift the limit (taskset, cpuset)",
            )

    def emulated_target(self, target: Target) -> Target:
        """The target with `emulated=yes`: instructions that this machine lacks as plain loops."""
        return target.replace(emulated="yes")

    def build(self, program: LoopProgram | X86Program, target: Target) -> Artifact:
        """Object code of one kernel. Raises ValueError for a program that x86 cannot run."""
        from tilewright_x86.kernel.build import build

        return build(program, target)

    def code_text(self, program: LoopProgram | X86Program, target: Target) -> str:
        """LLVM IR of one kernel. Raises ValueError for a program that x86 cannot run."""
        from tilewright_x86.kernel.build import code_text

        return code_text(program, target)

    def link(self, network_program: NetworkProgram, target: Target) -> Artifact:
        """Object code of a whole network. Raises ValueError for a program that x86 cannot run."""
        from tilewright_x86.kernel.link import link_network

        return link_network(network_program, target)

    def load(self, artifact: Artifact, device: Device) -> X86Kernel:
        """The kernel, in this process.

        Raises UsageError for an ISA that this machine lacks, and for damaged code.
        """
        from tilewright_x86.kernel.kernel import load_kernel

        _check_emulation(Target.parse(artifact.target), device)
        return load_kernel(artifact)

    def swap_kernel(self, kernel: X86Kernel, call: int, program: int) -> None:
        """Writes one pointer into the network's table of calls."""
        kernel.swap(call, program)

    def measure_peak(self, device: Device, target: Target) -> tuple[float, float]:
        """(float32 operations a second, bytes read a second from main memory) of the target."""
        from tilewright_x86.device.peak import measure_bandwidth, measure_flops

        return measure_flops(target), measure_bandwidth(target)

    def measure_instructions(self, device: Device, target: Target) -> Mapping[str, float]:
        """Operations a second of `vdpbf16ps`, `vpdpbusd` and AMX, as far as the target has them."""
        from tilewright_x86.device.instruction_program import instructions_of
        from tilewright_x86.device.peak import measure_flops

        return {name: measure_flops(target, name) for name in instructions_of(isa_of(target))}

    def reuse_distance(self, device: Device, target: Target) -> int:
        """Several threads: twice what their second-level caches hold.

        A core that writes lines which it wrote before and another has read since needs 7 ns a line
        while they are in its second-level cache, 0.7 ns when they have left it (measured on Zen 4).
        """
        if target.threads == 1:
            return 0
        return 2 * target.threads * int(device.attributes.get("l2_bytes", 0))

    def equal_targets(self, task: Task) -> Sequence[Target]:
        """Of levels that differ in tensor instructions, which do not serve float32."""
        return equal_targets(task)


def _check_emulation(target: Target, device: Device) -> None:
    """Raise UsageError where the device runs other code than the target's."""
    name = "emulated" if is_emulated(target) else "cpu"
    if device.name != name:
        raise UsageError(
            f"device {device.name!r}: code for {target} runs on {name!r}",
            remedy=f"pass --device {name}",
        )


def make_backend(options: Any, host: Any) -> X86Backend:
    """Factory of the target component."""
    return X86Backend()
