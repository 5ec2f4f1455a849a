"""The programs that find the peaks of tensor instructions add up what they say they do."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.vocabulary.target import Target
from tilewright_tensor.expressions.dtype import numpy_type
from tilewright_x86.backend import X86Backend
from tilewright_x86.device.instruction_program import (
    instruction_program,
    instructions_of,
    mnemonic,
)
from tilewright_x86.device.peak import PeakKernel
from tilewright_x86.kernel import jit
from tilewright_x86.kernel.build import build
from tilewright_x86.kernel.kernel import load_kernel
from tilewright_x86.machine.isa import ISAS, available, isa_of
from tilewright_x86.text.emit import emit

LEVELS = {isa.name: isa for isa in ISAS}
EVERY = [(isa.name, name) for isa in ISAS for name in instructions_of(isa)]


def test_levels_have_the_instructions_of_their_features_the_fastest_last():
    assert list(instructions_of(LEVELS["amx"])) == [
        "bfloat16/vdpbf16ps",
        "bfloat16/tdpbf16ps",
        "int8/vpdpbusd",
        "int8/tdpbusd",
    ]
    assert list(instructions_of(LEVELS["avx2_vnni"])) == ["int8/vpdpbusd"]
    assert not instructions_of(LEVELS["avx512"])


@pytest.mark.parametrize(("level", "name"), EVERY)
def test_every_round_adds_one_product_to_every_sum(level, name):
    target = Target("x86", {"isa": level, "emulated": "yes", "threads": 2})
    instruction = instructions_of(LEVELS[level])[name]
    program = instruction_program(instruction, target.threads, rounds=5)
    kernel = load_kernel(build(program, target))
    buffers = (*program.inputs, *program.outputs)
    kernel.bind([np.full(b.shape, 2, numpy_type(b.dtype)) for b in buffers], {})
    kernel.launch()
    terms = np.prod([axis.extent for axis in instruction.meaning.reduce_axes])
    sums = kernel.read(len(program.inputs))
    kernel.close()
    assert sums.shape[0] == 2
    assert (sums == 5 * terms * 4).all()


@pytest.mark.parametrize(("level", "name"), EVERY)
def test_the_loop_is_little_but_the_instruction(level, name):
    isa = LEVELS[level]
    program = instruction_program(instructions_of(isa)[name], 1, rounds=7)
    lines = jit.assembly(emit(program, isa, 1).module, isa).splitlines()
    own = [n for n, line in enumerate(lines) if mnemonic(instructions_of(isa)[name]) in line]
    assert len(own) == program.outputs[0].shape[1]
    assert own[-1] - own[0] == len(own) - 1
    assert not any("(%rsp)" in lines[n] for n in own)


def test_the_backend_measures_what_the_target_has_and_this_machine_runs():
    backend = X86Backend()
    (device,) = (one for one in backend.probe() if one.name == "cpu")
    found = backend.measure_instructions(device, Target("x86"))
    assert found.keys() == instructions_of(isa_of(Target("x86"))).keys()
    assert all(flops > 0 for flops in found.values())
    narrow = available()[-1].name
    assert not backend.measure_instructions(device, Target("x86", {"isa": narrow}))


@pytest.mark.skipif(
    "avx512_bf16" not in [isa.name for isa in available()], reason="no AVX-512 BF16"
)
def test_a_precision_means_its_fastest_instruction():
    target = Target("x86", {"isa": "avx512_bf16", "threads": 1})
    by_name, by_precision = (
        PeakKernel(target, name) for name in ("bfloat16/vdpbf16ps", "bfloat16")
    )
    assert by_name.operations == by_precision.operations
    assert by_name.operations == 2 * PeakKernel(target).operations
    for peak in (by_name, by_precision):
        peak.kernel.close()
