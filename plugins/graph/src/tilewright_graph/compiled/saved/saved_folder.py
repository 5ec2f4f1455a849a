"""A folder of files and a manifest with their hashes, written whole and checked when read."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tilewright.canonical import canonical_json
from tilewright.errors import UsageError
from tilewright.paths import names_a_file
from tilewright.reading import open_file, read_file
from tilewright_pipeline.writing import writing
from tilewright_tensor.kernels.guarded_memory import GuardedMemory

SINGLE, BUCKETED = 1, 3
"""Versions of the manifest: of a network, and of one for a range of sizes (2 once)."""
_KINDS = {SINGLE: "CompiledNetwork", BUCKETED: "BucketedNetwork"}
_PIECE = 1 << 22  # bytes that are read at a time
_MANIFEST, _CONSTANTS = "manifest.json", "constants"
_REMEDY = "compile and save it again"
_DAMAGE = ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError


def write_folder(
    folder: Path, manifest: Mapping[str, Any], codes: Mapping[str, bytes], constants: Any
) -> None:
    """Write the folder next to its place, then move it there: it is complete or absent.

    codes   artefacts by the name of their file

    Raises UsageError where a folder of another kind is in the way, or the disk refuses it.
    """
    with writing(folder, "the compiled network"):
        if not _may_replace(folder):
            raise UsageError(
                "exists and is no saved network", where=str(folder), remedy="name another folder"
            )
    files: dict[str, bytes | memoryview] = {**codes, _CONSTANTS: memoryview(constants)}
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    told = {**manifest, "sha256": hashes}
    told["manifest_sha256"] = _manifest_hash(told)
    fresh = _beside(folder, "new")
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        with writing(folder, "the compiled network"):
            fresh.mkdir(parents=True)
            for name, data in files.items():
                _write(fresh / name, data)
            _write(fresh / _MANIFEST, json.dumps(told, indent=1).encode())
            _replace(fresh, folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def saved_version(folder: Path) -> Any:
    """The version that a manifest says, unchecked. Raises UsageError where there is none."""
    with reading(folder):
        return json.loads(read_file(folder / _MANIFEST).decode())["version"]


def read_folder(folder: Path, version: int) -> tuple[dict[str, Any], dict[str, bytes], Any]:
    """(the manifest, every code by the name of its file, the constants).

    The constants are bytes, read-only and beginning on a cache line. Inside of `reading` only.
    """
    manifest = json.loads(read_file(folder / _MANIFEST).decode())
    found = manifest["version"]
    if found != version:
        kind = _KINDS.get(found)
        remedy = f"it holds a {kind}: {kind}.load reads it" if kind else _REMEDY
        problem = f"saved in format {found}, expected {version}"
        raise UsageError(problem, where=str(folder), remedy=remedy)
    if manifest.pop("manifest_sha256") != _manifest_hash(manifest):
        problem = "the manifest was changed since it was saved"
        raise UsageError(problem, where=str(folder), remedy=_REMEDY)
    names = [name for name in manifest["sha256"] if name != _CONSTANTS]
    if any(Path(name).name != name for name in names):
        raise ValueError("a file elsewhere")
    codes = {name: read_file(folder / name) for name in names}
    constants, constants_hash = _read_block(folder / _CONSTANTS)
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in codes.items()}
    for name, found in {**hashes, _CONSTANTS: constants_hash}.items():
        if found != manifest["sha256"][name]:
            problem = f"{name!r} was changed since it was saved"
            raise UsageError(problem, where=str(folder), remedy=_REMEDY)
    return manifest, codes, constants


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Inside, what is wrong with a saved network's files is told as a UsageError."""
    try:
        yield
    except OSError as error:
        name = Path(error.filename or folder).name  # reading may fail without one
        remedy = _REMEDY if isinstance(error, FileNotFoundError) else ""
        if names_a_file(folder / "network" / _MANIFEST):
            remedy = "name the folder `network` in it"
        problem = f"no saved network: {error.strerror} ({name})"
        raise UsageError(problem, where=str(folder), remedy=remedy) from error
    except MemoryError as error:
        raise UsageError(
            "there is not enough memory for its constants",
            where=str(folder),
            remedy="free some, or load it where there is more",
        ) from error
    except _DAMAGE as error:
        raise UsageError("the manifest is damaged", where=str(folder), remedy=_REMEDY) from error
    except UsageError as error:
        raise error.placed(str(folder)) from None


def _read_block(path: Path) -> tuple[Any, str]:
    """(a file's bytes, read-only and beginning on a cache line, their SHA-256).

    One thread hashes what the other has read.
    """
    with open_file(path) as file, ThreadPoolExecutor(1) as pool:
        block = GuardedMemory(os.fstat(file.fileno()).st_size).bytes
        view, digest, read = block.data, hashlib.sha256(), 0
        while count := file.readinto(view[read : read + _PIECE]):
            pool.submit(digest.update, view[read : read + count])
            read += count
        pool.shutdown()
    block = block[:read]
    block.flags.writeable = False
    return block, digest.hexdigest()


def _may_replace(folder: Path) -> bool:
    """Whether nothing is lost that is not a saved network: nothing is there, or nothing in it."""
    if not folder.exists():
        return True
    return folder.is_dir() and (_is_saved(folder) or not any(folder.iterdir()))


def _is_saved(folder: Path) -> bool:
    """Whether its manifest is one of ours, of any version: others have a file of that name, too."""
    try:
        manifest = json.loads(read_file(folder / _MANIFEST))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and {"version", "manifest_sha256"} <= manifest.keys()


def _replace(fresh: Path, folder: Path) -> None:
    """Move the fresh folder into place, the old one out of the way before."""
    old = _beside(folder, "old")
    try:
        if folder.exists():
            folder.rename(old)
        fresh.rename(folder)
    except BaseException:  # Ctrl-C, or another process that saved there meanwhile
        if old.exists() and not folder.exists():
            old.rename(folder)
        raise
    finally:
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)


def _beside(folder: Path, word: str) -> Path:
    """A hidden neighbour of the folder that no other process uses."""
    return folder.with_name(f".{folder.name}.{word}.{os.getpid()}")


def _write(path: Path, data: bytes | memoryview) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _manifest_hash(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical_json(manifest).encode()).hexdigest()
