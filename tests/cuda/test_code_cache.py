"""The cache of compiled code: whole files only, bounded, shared by processes."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from tilewright_cuda.compile import code_cache
from tilewright_cuda.compile.code_cache import CodeCache
from tilewright_cuda.emulation import compile as emulation_compile

CODE = CodeCache("test", "bin")
_MADE = b"machine code" * 1000


@pytest.fixture(autouse=True)
def own_cache(tmp_path, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("temporary")))
    code_cache._own_folder.cache_clear()
    yield
    code_cache._own_folder.cache_clear()


def test_what_was_kept_is_found_by_its_source_alone():
    path = CODE.keep("source", _MADE)
    assert CODE.find("source") == path
    assert CODE.read("source") == _MADE
    assert CODE.read("another source") is None


@pytest.mark.parametrize("size", [0, 5, 31, 32, 33, len(_MADE) + 31])
def test_d35_a_file_that_was_cut_short_is_made_anew(size):
    path = CODE.keep("source", _MADE)
    os.truncate(path, size)
    assert CODE.find("source") is None
    CODE.keep("source", _MADE)
    assert CODE.read("source") == _MADE


@pytest.mark.parametrize("place", [0, 1, 6000, len(_MADE) - 1, len(_MADE), len(_MADE) + 31])
def test_d35_a_file_of_which_a_bit_was_flipped_is_made_anew_and_never_loaded(place):
    path = CODE.keep("source", _MADE)
    data = bytearray(path.read_bytes())
    data[place] ^= 4
    path.write_bytes(data)
    assert CODE.find("source") is None
    assert CODE.read("source") is None


@pytest.mark.parametrize("changed", ["flags", "compiler", "processor"])
def test_d35_code_for_another_compiler_flag_or_processor_is_not_taken(monkeypatch, changed):
    if emulation_compile.compiler_version() is None:
        pytest.skip("no C++ compiler on this machine")
    text = 'extern "C" __global__ void two(float *out) { out[0] = 2; }\n'
    before = emulation_compile.compile_kernels(text)
    assert emulation_compile.compile_kernels(text) == before
    if changed == "flags":
        flags = (*emulation_compile._COMMON, "-O1")
        monkeypatch.setattr(emulation_compile, "_COMMON", flags)
    elif changed == "compiler":
        monkeypatch.setattr(emulation_compile, "compiler_version", lambda: "99.0")
    else:
        monkeypatch.setattr(platform, "machine", lambda: "another")
    assert emulation_compile.compile_kernels(text) != before


def test_d35_the_files_stay_within_the_quota(monkeypatch):
    monkeypatch.setattr(code_cache, "_MOST", 3)
    same = [s for s in map(str, range(9000)) if CODE._path(s).parent.name == "00"][:12]
    for age, source in enumerate(same):
        path = CODE.keep(source, _MADE)
        os.utime(path, (age, age))
        assert len(list(path.parent.iterdir())) <= 3 + 1


def test_d35_what_was_used_longest_ago_goes_first(monkeypatch):
    monkeypatch.setattr(code_cache, "_MOST", 2)
    same = [s for s in map(str, range(5000)) if CODE._path(s).parent.name == "00"][:4]
    for age, source in enumerate(same[:3]):
        os.utime(CODE.keep(source, _MADE), (age, age))
    CODE.find(same[1])
    CODE.keep(same[3], _MADE)
    assert [CODE.read(source) is not None for source in same] == [False, True, False, True]


def test_a_folder_that_cannot_be_written_to_is_replaced_by_one_of_the_process(
    tmp_path, monkeypatch
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert CODE.find("source") is None
    assert not CODE.keep("source", _MADE).is_relative_to(tmp_path)
    assert CODE.read("source") == _MADE


_KEEPING = """
from tilewright_cuda.compile.code_cache import CodeCache
code, made = CodeCache("test", "bin"), b"machine code" * 1000
assert all((code.keep("source", made), code.read("source"))[1] == made for _ in range(200))
"""


def test_processes_that_make_the_same_see_whole_files_only():
    keeping = [subprocess.Popen([sys.executable, "-c", _KEEPING]) for _ in range(2)]
    assert [one.wait(300) for one in keeping] == [0, 0]
    files = [path.name for path in CODE.folder.rglob("*") if path.is_file()]
    assert files == [CODE._path("source").name]


_CLAIMING = """
import sys
from tilewright_cuda.compile.code_cache import CodeCache
code = CodeCache("test", "bin")
for source in map(str, range(200)):
    with code.claim(source):
        if code.read(source) is None:
            code.keep(source, b"machine code")
            print(source)
"""


def test_d35_what_is_claimed_is_made_by_one_process_only():
    claiming = [
        subprocess.Popen([sys.executable, "-c", _CLAIMING], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    made = [source for one in claiming for source in one.communicate(timeout=600)[0].split()]
    assert sorted(made, key=int) == [*map(str, range(200))]


def test_a_claim_where_nothing_can_be_written_holds_nobody_up(tmp_path, monkeypatch):
    monkeypatch.setattr(CodeCache, "folder", tmp_path / "file")
    (tmp_path / "file").write_text("")
    with CODE.claim("source"):
        assert CODE.read("source") is None


def test_an_emulated_kernel_that_was_cut_short_is_compiled_again():
    if emulation_compile.compiler_version() is None:
        pytest.skip("no C++ compiler on this machine")
    text = 'extern "C" __global__ void one(float *out) { out[0] = 1; }\n'
    path = emulation_compile.compile_kernels(text)
    size = path.stat().st_size
    os.truncate(path, size // 2)
    assert emulation_compile.compile_kernels(text).stat().st_size == size
