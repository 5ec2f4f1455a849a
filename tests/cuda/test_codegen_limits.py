"""What a GPU would refuse to launch is refused before anything is compiled."""

from __future__ import annotations

import pytest

from tilewright.errors import UsageError
from tilewright.vocabulary.target import Target
from tilewright_cuda.device.target_text import resolve_target
from tilewright_cuda.program.arch import ARCHS, arch_named, runs_on
from tilewright_cuda.program.cubin import Resources
from tilewright_cuda.program.cuda_program import CudaProgram, Launch, Pointer
from tilewright_cuda.text.generate import generate
from tilewright_cuda.text.launch_shape import LaunchShape
from tilewright_cuda.text.limits import check_launch, expected_registers, registers_available
from tilewright_tensor.expressions.affine import Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Load
from tilewright_tensor.ir.loop_ir import Allocate, Block, Loop, LoopProgram, Store

SM_90, SM_86 = arch_named("sm_90", "test"), arch_named("sm_86", "test")


def shape(x=1, y=1, z=1, *, blocks=1, shared=0, registers=()):
    extents = {"threadIdx.x": x, "threadIdx.y": y, "threadIdx.z": z, "blockIdx.y": blocks}
    return LaunchShape(extents, shared, registers, 0)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (shape(1025), "1025 threads in x, at most 1024"),
        (shape(1, 1, 65), "65 threads in z, at most 64"),
        (shape(32, 33), "1056 threads in a block, at most 1024"),
        (shape(32, blocks=65536), "65536 blocks in y, at most 65535"),
        (shape(32, shared=232449), "232449 bytes of shared memory, at most 232448"),
        (shape(32, registers=(256, 32)), "registers of a thread at least, at most 255"),
        (shape(1024, registers=(80,)), "registers of a thread at least, at most 64"),
    ],
)
def test_a_launch_beyond_a_limit_says_which(wanted, message):
    with pytest.raises(ValueError, match=message):
        check_launch("kernel", wanted, SM_90)


@pytest.mark.parametrize(
    "wanted",
    [
        shape(1024, shared=232448),
        shape(16, 16, registers=(64, 8, 8)),
        shape(256, registers=(128, 16, 8)),
    ],
)
def test_launches_within_the_limits_pass(wanted):
    check_launch("kernel", wanted, SM_90)


def test_limits_are_the_architecture_s():
    check_launch("kernel", shape(32, shared=200 << 10), SM_90)
    with pytest.raises(ValueError, match="204800 bytes of shared memory, at most 101376"):
        check_launch("kernel", shape(32, shared=200 << 10), SM_86)


@pytest.mark.parametrize(
    ("threads", "registers"), [(32, 255), (256, 255), (257, 224), (512, 128), (1024, 64)]
)
def test_registers_are_given_out_by_warps(threads, registers):
    assert registers_available(shape(threads), SM_90) == registers


def test_the_model_of_registers_counts_what_is_alive_at_once():
    assert expected_registers(shape(registers=(64, 8, 8))) == 64 + 24 + 22
    assert expected_registers(shape()) == 22


def test_a_program_by_hand_keeps_to_the_limits_as_well():
    launch = Launch(0, "tall", (1, 1, 1), (1, 1, 128), 0, (Pointer(0),))
    program = CudaProgram(("",), (launch,), (((4,), "float32"),))
    with pytest.raises(ValueError, match="kernel tall: 128 threads in z, at most 64"):
        generate(program, SM_90)


def test_static_and_dynamic_shared_memory_count_together():
    launch = Launch(0, "both", (1, 1, 1), (32, 1, 1), 80 << 10, (Pointer(0),))
    resources = Resources(registers=32, stack=0, local_loads=0, local_stores=0, shared=40 << 10)
    resources.check_launch(launch, SM_90)
    with pytest.raises(ValueError, match="122880 bytes of shared memory, 40960 of them static"):
        resources.check_launch(launch, SM_86)


def test_scratch_that_is_never_alive_together_shares_memory():
    a, b = Buffer("a", (64,)), Buffer("b", (64,))
    t = index(Var("t"))

    def through(name: str):
        tile = Buffer(name, (64,), scope="shared")
        return Allocate(
            tile, Block((Store(tile, (t,), Load(a, (t,))), Store(b, (t,), Load(tile, (t,)))))
        )

    body = Loop(Var("t"), 64, "threadIdx.x", Block((through("one"), through("other"))))
    made = generate(LoopProgram("kernel", (a,), (b,), body), SM_90).program
    assert made.launches[0].shared_bytes == 256
    assert made.modules[0].count("tw_shared + 0") == 2


def test_a_program_that_no_block_can_hold_is_refused_before_compiling():
    a = Buffer("a", (2048,))
    body = Loop(Var("t"), 2048, "threadIdx.x", Store(a, (index(Var("t")),), Load(a, (index(0),))))
    with pytest.raises(ValueError, match="kernel wide: 2048 threads"):
        generate(LoopProgram("wide", (), (a,), body), SM_90)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [("cuda", "cuda:arch=sm_90"), ("cuda:arch=sm_86", "cuda:arch=sm_86"), ("x86", None)],
)
def test_targets_name_an_architecture(text, canonical):
    found = resolve_target(text)
    assert (str(found) if found else None) == canonical


@pytest.mark.parametrize(
    ("text", "message"), [("cuda:arch=sm_9", "sm_9"), ("cuda:threads=2", "no attribute 'threads'")]
)
def test_targets_that_do_not_exist_are_refused(text, message):
    with pytest.raises(UsageError, match=message):
        resolve_target(text)


def test_machine_code_runs_on_its_own_generation_only():
    assert runs_on(arch_named("sm_80", "test"), (8, 6))
    assert not runs_on(arch_named("sm_86", "test"), (8, 0))
    assert not runs_on(arch_named("sm_80", "test"), (9, 0))
    assert [arch.name for arch in ARCHS] == sorted(
        (arch.name for arch in ARCHS), key=lambda name: int(name[3:])
    )
    assert Target.parse("cuda:arch=sm_90") == resolve_target("cuda")
