"""Arrays in a `.npz` file are those of the specs, or the file is refused before they are read."""

from __future__ import annotations

import os
import zipfile

import ml_dtypes
import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright.vocabulary.workload import TensorSpec
from tilewright_graph.compiled.array_files import read_arrays, write_arrays

SPECS = {"x": TensorSpec((2, 3)), "y/z:0": TensorSpec((), "int64"), "file": TensorSpec((0,))}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "arrays.npz"


def test_what_is_written_is_read_by_us_and_by_numpy(path):
    arrays = {name: np.ones(spec.shape, spec.dtype) for name, spec in SPECS.items()}
    write_arrays(path, arrays)
    with np.load(path, allow_pickle=False) as theirs:
        for found in (theirs, read_arrays(path, SPECS)):
            assert all((found[name] == array).all() for name, array in arrays.items())
            assert {name: found[name].dtype for name in arrays} == {
                name: array.dtype for name, array in arrays.items()
            }


def test_bfloat16_is_read_as_such_though_numpy_writes_two_bytes_of_anything(path):
    array = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
    np.savez(path, x=array)
    found = read_arrays(path, {"x": TensorSpec((2, 3), "bfloat16")})["x"]
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)
    with pytest.raises(UsageError, match="expected float16"):
        read_arrays(path, {"x": TensorSpec((2, 3), "float16")})


def test_numpy_may_write_it(path):
    order = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    for write in (np.savez, np.savez_compressed):
        write(path, x=order, more=1)
        assert (read_arrays(path, {"x": SPECS["x"]})["x"] == order).all()


class Harm:
    def __reduce__(self):
        return os.mkdir, ("harm",)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y": np.ones(1)}, r"no array named 'x'\n  .*known: y"),
        ({"x": np.ones((2, 3))}, r"array 'x': expected float32\[2, 3\], got float64\[2, 3\]"),
        ({"x": np.ones((3, 2), np.float32)}, r"expected float32\[2, 3\], got float32\[3, 2\]"),
        ({"x": np.array([[Harm()] * 3] * 2)}, r"got object\[2, 3\]"),
    ],
)
def test_other_arrays_are_told_and_nothing_is_unpickled(path, monkeypatch, arrays, message):
    monkeypatch.chdir(path.parent)
    np.savez(path, **arrays)
    with pytest.raises(UsageError, match=message):
        read_arrays(path, {"x": SPECS["x"]})
    assert not (path.parent / "harm").exists()


def test_an_array_that_claims_to_be_vast_takes_no_memory(path):
    np.save(path.with_suffix(".npy"), np.ones((2, 3), np.float32))
    data = path.with_suffix(".npy").read_bytes()
    claim = b"(1125899906842624, 3), }"
    vast = data.replace(b"(2, 3), }".ljust(len(claim)), claim)
    assert len(vast) == len(data)
    assert vast != data
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", vast)
    with pytest.raises(UsageError, match=r"got float32\[1125899906842624, 3\]"):
        read_arrays(path, {"x": SPECS["x"]})


def test_a_member_without_the_suffix_is_no_array(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x", b"")
    with pytest.raises(UsageError, match="no array named 'x'"):
        read_arrays(path, {"x": SPECS["x"]})


@pytest.mark.parametrize("packing", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_damaged_member_is_told_however_it_is_packed(path, packing):
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr("x.npy", bytes(300))
    damaged = bytearray(path.read_bytes())
    start = damaged.index(b"x.npy") + 5
    damaged[start : start + 30] = bytes(30)
    path.write_bytes(damaged)
    with pytest.raises(UsageError, match=r"no \.npz file|cannot read the file: (?!None)"):
        read_arrays(path, {"x": SPECS["x"]})


@pytest.mark.parametrize("data", [b"", b"PK", b"no archive" * 100])
def test_what_is_no_archive_is_one_clear_line(path, data):
    path.write_bytes(data)
    with pytest.raises(UsageError, match=r"no \.npz file, or damaged"):
        read_arrays(path, SPECS)


def test_a_damaged_archive_is_refused_or_read_as_it_was(path):
    np.savez_compressed(path, x=np.ones((2, 3), np.float32))
    whole = path.read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 0x11
        path.write_bytes(damaged)
        try:
            found = read_arrays(path, {"x": SPECS["x"]})
        except UsageError:
            continue
        assert (found["x"] == 1).all()


def test_a_pipe_or_a_missing_file_is_refused(path):
    with pytest.raises(UsageError, match="cannot read the file: No such file"):
        read_arrays(path, SPECS)
    os.mkfifo(path)
    with pytest.raises(UsageError, match="it is a pipe"):
        read_arrays(path, SPECS)
