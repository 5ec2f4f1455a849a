"""Object files in this process: where they lie, what they reach, and what is refused of them."""

from __future__ import annotations

import ctypes
import mmap
import random
import re
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tilewright_x86.kernel import jit
from tilewright_x86.kernel.loader import Loaded
from tilewright_x86.kernel.object_file import RELOCATIONS, SYMBOLS, ObjectFile
from tilewright_x86.kernel.parallel import compiled_pool
from tilewright_x86.machine.isa import ISAS

_CALLER = """
@calls = global [2 x ptr] [ptr @seven, ptr @abs]
@factor = external global i32
@zeros = internal global [5000 x i32] zeroinitializer, align 64
declare i32 @seven()
declare i32 @abs(i32)
declare i32 @far()

define i32 @product() {
  %seven = call i32 @seven()
  %factor = load i32, ptr @factor
  %product = mul i32 %seven, %factor
  ret i32 %product
}

define i32 @by_table(i64 %which, i32 %x) {
  %at = getelementptr ptr, ptr @calls, i64 %which
  %function = load ptr, ptr %at
  %answer = call i32 %function(i32 %x)
  ret i32 %answer
}

define i32 @magnitude(i32 %x) {
  %answer = call i32 @abs(i32 %x)
  ret i32 %answer
}

define i32 @away() {
  %answer = call i32 @far()
  ret i32 %answer
}

define ptr @of_process() {
  ret ptr @abs
}

define i32 @count(i64 %i) {
  %at = getelementptr i32, ptr @zeros, i64 %i
  %old = load i32, ptr %at
  %new = add i32 %old, 1
  store i32 %new, ptr %at
  ret i32 %new
}

define double @constant(double %x) {
  %y = fmul double %x, 0x400921FB54442D18
  ret double %y
}
"""
_CALLED = """
@factor = global i32 6
@factors = constant [3 x i32] [i32 2, i32 3, i32 5]
define i32 @seven() {
  ret i32 7
}
define i32 @of(i64 %i) {
  %at = getelementptr i32, ptr @factors, i64 %i
  %factor = load i32, ptr %at
  ret i32 %factor
}
"""


def compiled(text: str) -> bytes:
    return jit.compile_object(text, ISAS[-1])


@pytest.fixture(scope="module")
def objects() -> list[bytes]:
    return [compiled(_CALLER), compiled(_CALLED)]


@contextmanager
def far_away() -> Iterator[int]:
    """The address of a function that gives 99, over 2 GiB away from what is loaded."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    place = ctypes.c_void_p(1 << 36)  # libraries and mappings are near the end of the space
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    writable = mmap.PROT_READ | mmap.PROT_WRITE
    address = libc.mmap(place, ctypes.c_size_t(mmap.PAGESIZE), writable, flags, -1, 0)
    code = bytes.fromhex("b863000000 c3")
    ctypes.memmove(address, code, len(code))
    page = ctypes.c_void_p(address), ctypes.c_size_t(mmap.PAGESIZE)
    assert libc.mprotect(*page, mmap.PROT_READ | mmap.PROT_EXEC) == 0
    yield address
    libc.munmap(*page)


@pytest.fixture
def loaded(objects: list[bytes]) -> Iterator[Loaded]:
    with far_away() as far:
        code = Loaded(objects, {"far": far})
        assert abs(code.address("away") - far) > 1 << 31
        yield code
        code.close()


def function(code: Loaded, name: str, result: type, *arguments: type) -> Callable[..., int]:
    return ctypes.CFUNCTYPE(result, *arguments)(code.address(name))


def access(address: int) -> str:
    """`r-xp` or so: what may be done with the memory there; nothing where there is none."""
    for line in Path("/proc/self/maps").read_text("ascii").splitlines():
        begin, end, allowed = re.match(r"(\w+)-(\w+) (\S+)", line).groups()  # type: ignore[union-attr]
        if int(begin, 16) <= address < int(end, 16):
            return allowed
    return ""


def test_an_object_calls_and_reads_what_another_has(loaded: Loaded) -> None:
    assert function(loaded, "product", ctypes.c_int)() == 42


def test_what_is_far_away_is_called(loaded: Loaded) -> None:
    assert function(loaded, "away", ctypes.c_int)() == 99


def test_functions_of_the_process_are_called_and_their_addresses_taken(loaded: Loaded) -> None:
    assert function(loaded, "magnitude", ctypes.c_int, ctypes.c_int)(-5) == 5
    own = ctypes.cast(ctypes.CDLL(None).abs, ctypes.c_void_p).value
    assert function(loaded, "of_process", ctypes.c_void_p)() == own


def test_variables_hold_addresses(loaded: Loaded) -> None:
    by_table = function(loaded, "by_table", ctypes.c_int, ctypes.c_int64, ctypes.c_int)
    assert [by_table(0, -5), by_table(1, -5)] == [7, 5]


def test_variables_begin_at_zero_and_constants_are_as_written(loaded: Loaded) -> None:
    count = function(loaded, "count", ctypes.c_int, ctypes.c_int64)
    assert [count(i) for i in (0, 4999, 4999)] == [1, 1, 2]
    of = function(loaded, "of", ctypes.c_int, ctypes.c_int64)
    assert [of(i) for i in range(3)] == [2, 3, 5]
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(loaded.address("constant"))(
        2.0
    ) == pytest.approx(6.283185307179586)


def test_nothing_is_written_and_run_at_once(loaded: Loaded) -> None:
    assert access(loaded.address("product")) == "r-xp"
    assert access(loaded.address("factors")) == "r--p"
    assert access(loaded.address("calls")) == access(loaded.address("factor")) == "rw-p"


def test_all_objects_lie_together(loaded: Loaded) -> None:
    places = [loaded.address(name) for name in ("product", "seven", "of", "factors", "calls")]
    assert max(places) - min(places) < 1 << 16


def test_the_memory_is_given_back(objects: list[bytes]) -> None:
    code = Loaded(objects, {"far": 0})
    place = code.address("product")
    code.close()
    assert access(place) == ""


def test_the_same_objects_may_be_loaded_twice_each_with_its_variables(
    loaded: Loaded, objects: list[bytes]
) -> None:
    other = Loaded(objects, {"far": 0})
    first, second = (
        function(code, "count", ctypes.c_int, ctypes.c_int64) for code in (loaded, other)
    )
    assert [first(7), first(7), second(7)] == [1, 2, 1]
    other.close()


def test_threads_load_and_free_at_once(objects: list[bytes]) -> None:
    answers: list[int] = []

    def load() -> None:
        for _ in range(50):
            code = Loaded(objects, {"far": 0})
            answers.append(function(code, "product", ctypes.c_int)())
            code.close()

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [42] * 200


def test_a_name_that_the_code_lacks_is_refused(loaded: Loaded) -> None:
    with pytest.raises(ValueError, match="the code has no 'nothing'"):
        loaded.address("nothing")


def test_a_call_of_what_is_nowhere_is_refused() -> None:
    code = compiled("declare void @gone()\ndefine void @f() {\ncall void @gone()\nret void\n}")
    with pytest.raises(ValueError, match="the code calls 'gone', which is nowhere"):
        Loaded([code])


def test_variables_of_each_thread_are_refused() -> None:
    with pytest.raises(ValueError, match=r"section \.tdata: of type 1, flags 1027"):
        Loaded([compiled("@mine = thread_local global i32 1")])


@pytest.mark.parametrize(
    ("form", "at", "number"),
    [("<I", 4, 14), ("<Q", 8, 7), ("<Q", 24, 1 << 20), ("<Q", 32, 1 << 62), ("<Q", 48, 3)],
    ids=["kind", "both writable and run", "place", "size", "alignment"],
)
def test_a_section_that_is_not_known_here_is_refused(
    objects: list[bytes], form: str, at: int, number: int
) -> None:
    forged = bytearray(objects[1])
    start = int.from_bytes(forged[40:48], "little")
    sections = ObjectFile(objects[1]).sections
    text = next(row for row, section in enumerate(sections) if section.name == ".text")
    struct.pack_into(form, forged, start + 64 * text + at, number)
    with pytest.raises(ValueError, match=r"."):
        Loaded([bytes(forged)])


def test_a_name_that_two_objects_have_is_refused(objects: list[bytes]) -> None:
    with pytest.raises(ValueError, match="two object files have 'seven'"):
        Loaded([objects[1], objects[1]])


def changed(data: bytes, kind: int, row: int, form: str, at: int, number: int) -> bytes:
    """With a number written into a row of the first section of a kind."""
    table = next(section for section in ObjectFile(data).sections if section.kind == kind)
    place = data.index(table.content) + 24 * row + at
    forged = bytearray(data)
    struct.pack_into(form, forged, place, number)
    return bytes(forged)


@pytest.mark.parametrize("kind", [0, 3, 10, 11, 22, 24, 255])
def test_an_unknown_relocation_is_refused_and_named(objects: list[bytes], kind: int) -> None:
    forged = changed(objects[0], RELOCATIONS, 0, "<I", 8, kind)
    with pytest.raises(ValueError, match=f"relocation of type {kind}, by the symbol"):
        Loaded([forged, objects[1]], {"far": 0})


@pytest.mark.parametrize(
    ("form", "at", "number"),
    [("<Q", 0, 1 << 20), ("<Q", 0, (1 << 64) - 2), ("<I", 12, 1 << 20), ("<q", 16, 1 << 40)],
    ids=["place", "place before", "symbol", "addend"],
)
def test_a_relocation_out_of_bounds_is_refused(
    objects: list[bytes], form: str, at: int, number: int
) -> None:
    forged = changed(objects[0], RELOCATIONS, 0, form, at, number)
    with pytest.raises(ValueError, match=r"."):
        Loaded([forged, objects[1]], {"far": 0})


@pytest.mark.parametrize(
    ("form", "at", "number"),
    [("<Q", 8, 1 << 20), ("<H", 6, 999), ("<H", 6, 0xFFF1), ("<I", 0, 1 << 30)],
    ids=["value", "section", "absolute", "name"],
)
def test_a_symbol_out_of_bounds_is_refused(
    objects: list[bytes], form: str, at: int, number: int
) -> None:
    symbols = ObjectFile(objects[1]).symbols()
    row = next(row for row, symbol in enumerate(symbols) if symbol.name == "seven")
    forged = changed(objects[1], SYMBOLS, row, form, at, number)
    with pytest.raises(ValueError, match=r"."):
        Loaded([objects[0], forged], {"far": 0})


def test_a_truncated_object_file_is_refused(objects: list[bytes]) -> None:
    for data in (*objects, compiled_pool()):
        for length in range(len(data)):
            with pytest.raises(ValueError, match=r"."):
                Loaded([data[:length]])


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_object_file_is_loaded_or_refused(objects: list[bytes], seed: int) -> None:
    """Nothing else happens, whatever bits of the headers and tables are turned."""
    rng = random.Random(seed)
    for data in (compiled_pool(), objects[0]):
        start = int.from_bytes(data[40:48], "little")
        spots = [*range(64), *range(start, len(data))]
        for section in ObjectFile(data).sections:
            if section.kind in (RELOCATIONS, SYMBOLS):
                place = data.index(section.content)
                spots += range(place, place + len(section.content))
        for _ in range(1000):
            forged = bytearray(data)
            for spot in rng.sample(spots, rng.choice([1, 1, 1, 2, 8])):
                forged[spot] ^= 1 << rng.randrange(8)
            try:
                code = Loaded([bytes(forged)], {"far": 0, "seven": 0, "factor": 0})
            except (ValueError, MemoryError):
                continue
            code.close()
