"""Machine code: what the ELF tells, against the compiler's own log; the cache; no compiler."""

from __future__ import annotations

import re
from threading import Thread

import pytest

from tilewright.vocabulary.target import Target
from tilewright_cuda.backend import CudaBackend
from tilewright_cuda.compile import build as build_module
from tilewright_cuda.compile import compiler
from tilewright_cuda.compile.compile_error import CompileError
from tilewright_cuda.compile.compiler import CUBINS, compiled, compilers, find_compiler, refusal
from tilewright_cuda.compile.nvcc import Nvcc
from tilewright_cuda.compile.nvrtc import Nvrtc
from tilewright_cuda.device import peak
from tilewright_cuda.program import cubin as cubin_module
from tilewright_cuda.program.arch import ARCHS, DEFAULT, arch_named
from tilewright_cuda.program.artifact import contents_of
from tilewright_cuda.program.cubin import resources_of
from tilewright_cuda.program.cuda_program import CudaProgram, Launch, Pointer
from tilewright_cuda.text.prelude import HELPERS, prelude
from tilewright_tensor.expressions.affine import Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Load
from tilewright_tensor.ir.loop_ir import Allocate, Block, Loop, LoopProgram, Store

SM_90 = arch_named("sm_90", "test")
TARGET = Target.parse("cuda:arch=sm_90")
_MULTIPLY_ADD, _BRANCH = 0x223, 0x947  # FFMA and BRA in the code of sm_90
FOUND = [one for one in compilers() if refusal(one, DEFAULT) is None]
COMPILERS = [
    next(one for one in FOUND if isinstance(one, kind))
    for kind in (Nvrtc, Nvcc)
    if any(isinstance(one, kind) for one in FOUND)
]

_TEXT = """
extern "C" __global__ void __launch_bounds__(%d) plain(float *a, const float *b) {
  __shared__ float tile[100];
  float sums[%d];
  #pragma unroll
  for (int i = 0; i < %d; ++i) sums[i] = b[i * blockIdx.x];
  tile[threadIdx.x %% 100] = b[threadIdx.x];
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < %d; ++i) sums[i] = sums[i] * sums[(i + 7) %% %d] + tile[i %% 100];
  #pragma unroll
  for (int i = 0; i < %d; ++i) a[i] = sums[i] * sums[(i * 13 + 7) %% %d];
}
extern "C" __global__ void table(float *a, int n) {
  float own[64];
  for (int i = 0; i < 64; ++i) own[(i * n) %% 64] = a[i];
  a[n] = own[n];
}
"""


def text(values: int, threads: int = 256) -> str:
    return _TEXT % (threads, *[values] * 6)


needs_compiler = pytest.mark.skipif(not COMPILERS, reason="no CUDA compiler is installed")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@needs_compiler
@pytest.mark.parametrize("chosen", COMPILERS, ids=lambda one: one.version.split()[0])
@pytest.mark.parametrize(
    ("values", "arch"),
    [(8, "sm_90"), (40, "sm_75"), (200, "sm_90"), (200, "sm_89")],
)
def test_the_elf_tells_what_the_compiler_s_log_tells(chosen, values, arch):
    if refusal(chosen, arch):
        pytest.skip(f"{chosen.version} compiles nothing for {arch}")
    cubin, log = chosen.compile(text(values), arch, verbose=True)
    found = resources_of(cubin)
    assert set(found) == {"plain", "table"}
    for name, of_kernel in _from_log(log).items():
        mine = found[name]
        assert (mine.registers, mine.stack, mine.shared) == of_kernel[:3], name
        assert (mine.local_loads > 0) == (of_kernel[4] > 0 or mine.stack > 0)
    assert found["plain"].spills() == (_from_log(log)["plain"][3] > 64)
    assert not found["table"].spills(local_bytes=256)


@needs_compiler
@pytest.mark.parametrize("chosen", COMPILERS, ids=lambda one: one.version.split()[0])
def test_the_loop_that_finds_the_peak_is_multiply_adds_but_for_one_in_twenty(chosen):
    cubin, _ = chosen.compile(peak.flops_text(4096), "sm_90")
    code = dict(cubin_module._sections(cubin))[".text.multiply_adds"]
    opcodes = [low | (high & 0xF) << 8 for low, high in zip(code[::16], code[1::16], strict=True)]
    places = [number for number, opcode in enumerate(opcodes) if opcode == _MULTIPLY_ADD]
    end = opcodes.index(_BRANCH, places[0])
    assert places[-1] < end
    assert len(places) > 0.95 * (end + 1 - places[0])


def _from_log(log: str) -> dict[str, tuple[int, int, int, int, int]]:
    """(registers, stack, shared, bytes of spill stores, of spill loads) by kernel."""
    told = {}
    for part in log.split("Compiling entry function '")[1:]:
        numbers = [
            re.search(pattern, part)
            for pattern in (
                r"Used (\d+) registers", r"(\d+) bytes stack frame", r"(\d+) bytes smem",
                r"(\d+) bytes spill stores", r"(\d+) bytes spill loads",
            )
        ]  # fmt: skip
        values = [int(number[1]) if number else 0 for number in numbers]
        told[part.partition("'")[0]] = (values[0], values[1], values[2], values[3], values[4])
    return told


@pytest.mark.parametrize("data", [b"", b"\x7fELF\x02" + b"\0" * 90, b"no elf at all" * 9])
def test_what_is_no_cubin_is_a_value_error(data):
    with pytest.raises(ValueError, match="no cubin"):
        resources_of(data)


@needs_compiler
@pytest.mark.parametrize("arch", [arch.name for arch in ARCHS])
def test_the_prelude_compiles_for_every_architecture(arch):
    if find_compiler(arch) is None:
        pytest.skip(f"no compiler for {arch} is installed")
    body = 'extern "C" __global__ void none() {}\n'
    cubin, _ = find_compiler(arch).compile(prelude(HELPERS) + body, arch)
    assert set(resources_of(cubin)) == {"none"}


@needs_compiler
def test_a_text_is_compiled_once(monkeypatch):
    first = compiled(text(8), SM_90)
    monkeypatch.setattr(type(find_compiler()), "compile", None)
    assert compiled(text(8), SM_90) == first
    assert [path.suffix for path in CUBINS.folder.rglob("*") if path.is_file()] == [".cubin"]


def test_a_text_that_another_compiles_is_waited_for(monkeypatch):
    made = []

    class Compiler:
        version, major = "slow", 13

        def compile(self, text, arch):
            made.append(text)
            if len(made) == 1:
                second.start()
                second.join(0.2)  # without waiting for the first, it ends before that
            return b"cubin", ""

    second = Thread(target=compiled, args=(text(8), SM_90))
    monkeypatch.setattr(compiler, "find_compiler", lambda _: Compiler())
    assert compiled(text(8), SM_90) == b"cubin"
    second.join()
    assert made == [text(8)]


@needs_compiler
def test_a_full_disk_costs_only_speed(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(CUBINS), "keep", full)
    assert compiled(text(8), SM_90)


@needs_compiler
def test_a_text_that_does_not_compile_says_where():
    with pytest.raises(CompileError, match="undeclared_thing"):
        compiled('extern "C" __global__ void k() { undeclared_thing(); }', SM_90)


def _serial(values: int = 4, threads: int = 32) -> LoopProgram:
    """Every thread sums what it gathers in `values` registers."""
    a, b = Buffer("a", (values, threads)), Buffer("b", (values, threads))
    own = Buffer("own", (values,), scope="register")
    t, i, j = Var("t"), Var("i"), Var("j")
    inner = Block((
        Loop(i, values, "unrolled", Store(own, (index(i),), Load(a, (index(i), index(t))))),
        Loop(j, values, "unrolled", Store(
            b, (index(j), index(t)), Load(own, (index(j),)) * Load(own, (values - 1 - j,))
        )),
    ))  # fmt: skip
    return LoopProgram("serial", (a,), (b,), Loop(t, threads, "threadIdx.x", Allocate(own, inner)))


def test_an_artefact_without_a_compiler_holds_the_text(monkeypatch):
    monkeypatch.setattr(compiler, "find_compiler", lambda _: None)
    artifact = CudaBackend().build(_serial(), TARGET)
    contents = contents_of(artifact)
    assert contents.cubins == (None,)
    assert "__launch_bounds__(32) serial" in contents.program.modules[0]
    assert artifact.metadata["counts"] == {"cubins": 0}


@needs_compiler
def test_an_artefact_tells_the_resources_of_its_kernels():
    artifact = CudaBackend().build(_serial(), TARGET)
    contents = contents_of(artifact)
    assert contents.cubins[0][:4] == b"\x7fELF"
    assert artifact.metadata["resources"]["0.serial"]["stack"] == 0
    assert CudaBackend().build(_serial(), TARGET) == artifact


@needs_compiler
def test_a_candidate_that_spills_is_refused_and_a_kernel_by_hand_is_not(monkeypatch):
    monkeypatch.setattr(build_module, "generate", lambda program, arch: _spilling(64))
    with pytest.raises(ValueError, match=r"plain: registers spill, \d+ bytes of stack"):
        CudaBackend().build(_serial(), TARGET)
    monkeypatch.undo()
    assert CudaBackend().build(_spilling(None).program, TARGET).metadata["counts"] == {"cubins": 1}


def _spilling(local_bytes: int | None):
    from tilewright_cuda.text.generate import Generated

    arguments = (Pointer(1), Pointer(0))
    launch = Launch(0, "plain", (1, 1, 1), (256, 1, 1), 0, arguments)
    program = CudaProgram((text(300),), (launch,), (((400,), "float32"), ((400,), "float32")))
    return Generated(program, {} if local_bytes is None else {"plain": local_bytes})


class _Counting:
    version, major = "nvcc 11.0.0", 1

    def __init__(self, path):
        self.path, self.asked = str(path), []

    def compile(self, text, arch, *, verbose=False):
        self.asked.append(arch)
        if arch == "sm_120":
            raise CompileError("unknown architecture", self.version)
        return b"cubin", ""


def test_an_architecture_that_a_compiler_knows_is_tried_once_for_all_processes(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program = tmp_path / "nvcc"
    program.write_bytes(b"program")
    one = _Counting(program)
    for _ in range(2):
        assert refusal(one, "sm_80") is None
        assert refusal(one, "sm_120") == "unknown architecture"
    assert one.asked == ["sm_80", "sm_120", "sm_120"]
    program.write_bytes(b"another program")
    assert refusal(one, "sm_80") is None
    assert one.asked[-1] == "sm_80"


def test_a_compiler_whose_file_is_not_known_is_tried_each_time(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    one = _Counting("libnvrtc.so.13")
    assert [refusal(one, "sm_80") for _ in range(2)] == [None, None]
    assert one.asked == ["sm_80"] * 2
