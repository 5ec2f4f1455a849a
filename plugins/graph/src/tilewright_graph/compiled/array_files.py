"""Arrays by name in a `.npz` file, as numpy writes them; nothing in it is unpickled."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from tilewright.errors import UsageError, did_you_mean
from tilewright.reading import open_file
from tilewright.vocabulary.workload import TensorSpec
from tilewright_pipeline.writing import writing_file
from tilewright_tensor.expressions.dtype import numpy_type

_SUFFIX = ".npy"
_DAMAGE = zipfile.BadZipFile, zlib.error, lzma.LZMAError, ValueError, EOFError, RuntimeError
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_arrays(path: Path, specs: Mapping[str, TensorSpec]) -> dict[str, Any]:
    """The array of every spec. Raises UsageError unless each is there, as its spec says.

    No array is read before its header says that it is of the right size.
    """
    try:
        with open_file(path) as file, zipfile.ZipFile(file) as archive:
            members = (name for name in archive.namelist() if name.endswith(_SUFFIX))
            known = [name.removesuffix(_SUFFIX) for name in members]
            for name in specs:
                if name not in known:
                    raise UsageError(
                        f"no array named {name!r}",
                        where=str(path),
                        remedy=did_you_mean(name, known),
                    )
            return {name: _read(archive, name, spec, path) for name, spec in specs.items()}
    except OSError as error:
        problem = error.strerror or error
        raise UsageError(f"cannot read the file: {problem}", where=str(path)) from error
    except _DAMAGE as error:
        raise UsageError(
            f"no .npz file, or damaged: {error}",
            where=str(path),
            remedy="write it by numpy.savez(FILE, NAME=ARRAY, ...)",
        ) from error


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """A file that `numpy.load` reads, for any names."""
    with (
        writing_file(path, "the arrays"),
        zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive,
    ):
        for name, array in arrays.items():
            with archive.open(f"{name}{_SUFFIX}", "w", force_zip64=True) as member:
                npy.write_array(member, np.asarray(array), allow_pickle=False)


def _read(archive: zipfile.ZipFile, name: str, spec: TensorSpec, path: Path) -> Any:
    with archive.open(f"{name}{_SUFFIX}") as member:
        version = npy.read_magic(member)
        if version not in _HEADERS:
            raise ValueError(f"array {name!r} is of version {version}")
        shape, _, dtype = _HEADERS[version](member)
    wanted = numpy_type(spec.dtype)
    if shape != spec.shape or dtype not in (wanted, np.dtype(wanted.str)):
        raise UsageError(
            f"array {name!r}: expected {spec}, got {dtype}{list(shape)}",
            where=str(path),
            remedy=f"convert it: .astype({spec.dtype!r})" if shape == spec.shape else "",
        )
    with archive.open(f"{name}{_SUFFIX}") as member:
        # numpy writes bfloat16 as two bytes of anything
        return npy.read_array(member, allow_pickle=False).view(wanted)
