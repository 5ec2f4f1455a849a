"""The x86 backend: targets, artefacts, kernels."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright.roles import Artifact
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.target import Target
from tilewright_tensor.expressions.affine import Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Load, Op
from tilewright_tensor.ir.loop_ir import Loop, LoopProgram, Store
from tilewright_x86.backend import X86Backend
from tilewright_x86.device.cpu import cache_bytes
from tilewright_x86.kernel import kernel as kernel_module
from tilewright_x86.kernel.jit import PIPELINES
from tilewright_x86.kernel.program import X86Program
from tilewright_x86.machine.isa import ISAS, available, features, resolve_target


def _add(count: int = 100) -> LoopProgram:
    a, b, y, i = *(Buffer(name, (count,)) for name in "aby"), Var("i")
    value = Op("add", (Load(a, (index(i),)), Load(b, (index(i),))), "float32")
    return LoopProgram(
        "add", (a, b), (y,), Loop(i, count, "vectorized", Store(y, (index(i),), value))
    )


def _kernel(program: Any, target: str = "x86") -> Any:
    backend = X86Backend()
    return backend.load(backend.build(program, Target.parse(target)), backend.probe()[0])


def _arrays(count: int = 100) -> list[Any]:
    return [
        np.arange(count, dtype=np.float32),
        np.ones(count, np.float32),
        np.zeros(count, np.float32),
    ]


@pytest.mark.parametrize("text", ["x86", "native", " x86:threads=1 "])
def test_a_target_text_is_completed_with_the_widest_level(text: str) -> None:
    assert str(resolve_target(text)) == f"x86:isa={available()[0].name},threads=1"


def test_tiles_that_the_operating_system_withholds_are_no_feature(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    claimed = frozenset({"avx512f", "amx-tile", "amx-int8"})
    monkeypatch.setattr("tilewright_x86.machine.isa.processor_features", lambda: claimed)
    found = []
    for granted in (True, False):
        monkeypatch.setattr("tilewright_x86.machine.isa.grants_tiles", lambda: granted)  # noqa: B023
        found.append(features.__wrapped__())
    assert found == [{"avx512f", "amx-tile", "amx-int8"}, {"avx512f"}]


def test_threads_and_isa_of_a_target_are_kept() -> None:
    assert str(resolve_target("x86:threads=2,isa=sse4")) == "x86:isa=sse4,threads=2"


def test_other_kinds_of_target_are_left_to_others() -> None:
    assert resolve_target("cuda:arch=sm_90") is None


@pytest.mark.parametrize(
    "text", ["x86:isa=avx511", "x86:thread=2", "x86:threads=0", "x86:threads=two"]
)
def test_a_wrong_attribute_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        resolve_target(text)


def test_the_processor_is_one_device_with_a_stable_fingerprint() -> None:
    first, second = X86Backend().probe()[0], X86Backend().probe()[0]
    assert first.name == "cpu"
    assert {"model", "isa", "cores", "llvm"} <= set(first.attributes)
    assert first.fingerprint == second.fingerprint


def test_fewer_cpus_for_this_process_make_no_other_device(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = X86Backend().probe()
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    device, _ = X86Backend().probe()
    assert device.fingerprint == whole.fingerprint
    X86Backend().check_target(Target.parse("x86:threads=1"), device)
    with pytest.raises(UsageError, match=r"wants 2 threads, this process may use 1 CPUs"):
        X86Backend().check_target(Target.parse("x86:threads=2"), device)


def test_cache_sizes_are_read_from_the_system(tmp_path: Any) -> None:
    for number, (level, kind, size) in enumerate(
        [
            ("1", "Data", "48K"),
            ("1", "Instruction", "32K"),
            ("2", "Unified", "1024K"),
            ("3", "Unified", "32M"),
        ]
    ):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (folder / name).write_text(text + "\n")
    assert cache_bytes(tmp_path) == {"l1_bytes": 49152, "l2_bytes": 1 << 20, "l3_bytes": 32 << 20}


def test_an_artefact_survives_json_and_another_backend() -> None:
    artifact = X86Backend().build(_add(), Target("x86"))
    again = Artifact(
        artifact.target, artifact.format, artifact.data, json.loads(json.dumps(artifact.metadata))
    )
    kernel = X86Backend().load(again, X86Backend().probe()[0])
    kernel.bind(_arrays(), {})
    kernel.launch()
    assert kernel.read(2).tolist() == list(range(1, 101))


def test_d35_code_for_an_isa_that_is_not_here_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    artifact = X86Backend().build(_add(), Target.parse("x86:isa=avx512"))
    monkeypatch.setattr("tilewright_x86.machine.isa.available", lambda: ISAS[-1:])
    with pytest.raises(UsageError, match="avx512"):
        X86Backend().load(artifact, Device("cpu"))


def test_damaged_code_is_refused() -> None:
    artifact = X86Backend().build(_add(), Target("x86"))
    device = X86Backend().probe()[0]
    with pytest.raises(UsageError, match="not what was compiled"):
        X86Backend().load(replace(artifact, data=artifact.data[:-1]), device)
    with pytest.raises(UsageError, match="format"):
        X86Backend().load(replace(artifact, format="cubin"), device)
    with pytest.raises(UsageError, match="gpu0"):
        X86Backend().load(artifact, Device("gpu0"))


@pytest.mark.parametrize("passes", list(PIPELINES))
def test_passes_do_not_change_the_answer(passes: str) -> None:
    kernel = _kernel(X86Program(_add(), passes))
    kernel.bind(_arrays(), {})
    kernel.launch()
    assert kernel.read(2).tolist() == list(range(1, 101))


def test_an_unknown_pipeline_is_a_build_failure() -> None:
    with pytest.raises(ValueError, match="O9"):
        X86Backend().build(X86Program(_add(), "O9"), Target("x86"))


def test_launches_rotate_through_the_copies_of_an_operand() -> None:
    kernel = _kernel(_add())
    kernel.bind(_arrays(), {1: 3})
    kernel._operands[1].places[1][...] = 5  # only the second copy
    seen = []
    for _ in range(4):
        kernel.launch()
        seen.append(kernel.read(2)[0])
    assert seen == [1, 5, 1, 1]
    kernel.time(1)  # goes on where the launches stopped
    assert kernel.read(2)[0] == 5


def test_every_launch_finds_the_constant_whether_its_copy_was_there_before_or_not() -> None:
    arrays = _arrays()
    arrays[1].flags.writeable = False
    for _ in range(2):  # the second kernel gets the copies of the first
        kernel = _kernel(_add())
        kernel.bind(arrays, {1: 100})
        for number in (0, 1, 3, 1, 40, 80, 200):
            kernel.write(2, np.zeros(100, np.float32))
            kernel.time(number) if number else kernel.launch()
            assert kernel.read(2).tolist() == list(range(1, 101))
        kernel.close()


class _Spy:
    """The clock, which notes what constants timed launches meet that are in a cache."""

    def __init__(self, kernel: Any, clock: Any) -> None:
        self.kernel, self.clock = kernel, clock
        self.cold: set[int] = set()
        self.warm: list[int] = []

    def flush(self, address: int, size: int, threads: int) -> None:
        self.clock.flush(address, size, threads)
        self.cold.update(range(address, address + size, 64))

    def time(self, function: int, table: int, rows: int, width: int, first: int, many: int) -> int:
        for row in range(first, first + many):
            constant = int(self.kernel.table[row % rows, 1])
            if constant not in self.cold:
                self.warm.append(row)
            self.cold.discard(constant)
        nanoseconds: int = self.clock.time(function, table, rows, width, first, many)
        return nanoseconds


def test_every_timed_launch_finds_its_constants_in_no_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arrays = _arrays()
    arrays[1].flags.writeable = False
    for _ in range(2):  # the second kernel gets the copies of the first, which were in use
        kernel = _kernel(_add())
        kernel.bind(arrays, {1: 100})
        spy = _Spy(kernel, kernel_module._clock())
        monkeypatch.setattr(kernel_module, "_clock", lambda spy=spy: spy)
        kernel.launch()
        for number in (1, 4, 5, 5, 40):
            kernel.time(number)
        monkeypatch.undo()
        assert spy.warm == []
        kernel.close()


@pytest.mark.parametrize("target", ["x86", "x86:threads=2"])
def test_a_large_constant_has_few_copies_that_are_evicted_again_and_again(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 1 << 20  # 4 MiB
    arrays = _arrays(count)
    arrays[1].flags.writeable = False
    kernel = _kernel(_add(count), target)
    kernel.bind(arrays, {1: 100})
    assert len(kernel.table) == 4, "more than the TLB reaches"
    spy = _Spy(kernel, kernel_module._clock())
    monkeypatch.setattr(kernel_module, "_clock", lambda: spy)
    for number in (1, 4, 5, 9):
        assert kernel.time(number) > 0
    assert spy.warm == []
    assert (kernel.read(2) == arrays[0] + 1).all()
    kernel.close()


def test_write_reaches_every_copy() -> None:
    kernel = _kernel(_add())
    kernel.bind(_arrays(), {1: 3})
    kernel.write(1, np.full(100, 7, np.float32))
    for _ in range(3):
        kernel.launch()
        assert kernel.read(2)[0] == 7


def test_operands_of_another_shape_or_dtype_are_refused() -> None:
    kernel = _kernel(_add())
    with pytest.raises(ValueError, match="operand 1"):
        kernel.bind([_arrays()[0], np.ones(99, np.float32), _arrays()[2]], {})
    with pytest.raises(ValueError, match="operand 0"):
        kernel.bind([np.arange(100), *_arrays()[1:]], {})
    with pytest.raises(ValueError, match="3 operands"):
        kernel.bind(_arrays()[:2], {})


def test_time_grows_with_the_number_of_launches_and_flush_keeps_the_content() -> None:
    kernel = _kernel(_add())
    kernel.bind(_arrays(), {})
    assert 0 < min(kernel.time(10) for _ in range(5)) < kernel.time(100_000)
    kernel.flush()
    assert kernel.read(2).tolist() == list(range(1, 101))
    kernel.close()


def test_peaks_are_positive_and_do_not_take_long() -> None:
    operations, bytes_ = X86Backend().measure_peak(X86Backend().probe()[0], Target("x86"))
    assert operations > 1e9
    assert bytes_ > 1e8


def test_memory_rests_for_twice_the_second_level_caches_of_several_threads():
    backend = X86Backend()
    device = replace(backend.probe()[0], attributes={"l2_bytes": 1 << 20})
    assert backend.reuse_distance(device, Target.parse("x86:threads=1")) == 0
    assert backend.reuse_distance(device, Target.parse("x86:threads=2")) == 4 << 20
