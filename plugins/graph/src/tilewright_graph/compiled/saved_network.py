"""A compiled network as a folder: `code`, `constants` and a manifest with their hashes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from tilewright.canonical import canonical_json, thaw
from tilewright.errors import UsageError
from tilewright.reading import open_file, read_file
from tilewright.roles import Artifact
from tilewright.vocabulary.workload import TensorSpec
from tilewright_pipeline.writing import writing
from tilewright_tensor.expressions.dtype import ITEM_BYTES
from tilewright_tensor.kernels.guarded_memory import GuardedMemory

_VERSION = 1
_MOST_BYTES = 2**40
_PIECE = 1 << 22  # bytes that are read at a time
_CODE, _CONSTANTS, _MANIFEST = "code", "constants", "manifest.json"
_REMEDY = "compile and save it again"


@dataclass(frozen=True, slots=True)
class NetworkSignature:
    """What a compiled network is called and takes and gives, by tensor name, in order.

    precision  the lowest of its products
    max_error  within which graph-tune kept the error of its answers
    counted    tensors of two dimensions of which values decide how many rows they have
    """

    name: str
    inputs: Mapping[str, TensorSpec]
    outputs: Mapping[str, TensorSpec]
    observed: Mapping[str, TensorSpec]
    precision: str = "float32"
    max_error: float | None = None
    counted: tuple[str, ...] = ()

    @property
    def tensors(self) -> dict[str, TensorSpec]:
        """All of them."""
        return {**self.inputs, **self.outputs, **self.observed}

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "precision": self.precision,
            **({} if self.max_error is None else {"max_error": self.max_error}),
            **({"counted": list(self.counted)} if self.counted else {}),
            **{
                role: _specs_to_json(getattr(self, role))
                for role in ("inputs", "outputs", "observed")
            },
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> NetworkSignature:
        inputs, outputs, observed = (
            _specs_from_json(data[role]) for role in ("inputs", "outputs", "observed")
        )
        precision = data.get("precision", "float32")
        max_error = data.get("max_error")
        if not (max_error is None or (isinstance(max_error, float) and max_error > 0)):
            raise ValueError(f"max_error {max_error!r}")
        counted = tuple(data.get("counted", ()))
        if any(len({**outputs, **observed}[name].shape) != 2 for name in counted):
            raise ValueError(f"counted {counted!r}")
        return cls(data["name"], inputs, outputs, observed, precision, max_error, counted)


def save(folder: Path, artifact: Artifact, constants: Any, signature: NetworkSignature) -> None:
    """Write the folder next to its place, then move it there: it is complete or absent.

    Raises UsageError where a folder of another kind is in the way, or the disk refuses it.
    """
    if not _may_replace(folder):
        raise UsageError(
            "exists and is no saved network", where=str(folder), remedy="name another folder"
        )
    files: dict[str, bytes | memoryview] = {
        _CODE: artifact.data,
        _CONSTANTS: memoryview(constants),
    }
    manifest: dict[str, Any] = {
        "version": _VERSION,
        "signature": signature.to_json(),
        "target": artifact.target,
        "format": artifact.format,
        "metadata": thaw(artifact.metadata),
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    manifest["manifest_sha256"] = _manifest_hash(manifest)
    fresh = _beside(folder, "new")
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        with writing(folder, "the compiled network"):
            fresh.mkdir(parents=True)
            for name, data in files.items():
                _write(fresh / name, data)
            _write(fresh / _MANIFEST, json.dumps(manifest, indent=1).encode())
            _replace(fresh, folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def load(folder: Path) -> tuple[Artifact, Any, NetworkSignature]:
    """Artefact, constants and signature. Raises UsageError unless every byte is as it was saved."""
    try:
        manifest = json.loads(read_file(folder / _MANIFEST).decode())
        code = read_file(folder / _CODE)
        if manifest["version"] != _VERSION:
            raise UsageError(
                f"saved in format {manifest['version']}, expected {_VERSION}",
                where=str(folder),
                remedy=_REMEDY,
            )
        if manifest.pop("manifest_sha256") != _manifest_hash(manifest):
            raise UsageError(
                "the manifest was changed since it was saved", where=str(folder), remedy=_REMEDY
            )
        constants, constants_hash = _read_block(folder / _CONSTANTS)
        hashes = {_CODE: hashlib.sha256(code).hexdigest(), _CONSTANTS: constants_hash}
        for name, found in hashes.items():
            if found != manifest["sha256"][name]:
                raise UsageError(
                    f"{name!r} was changed since it was saved", where=str(folder), remedy=_REMEDY
                )
        signature = NetworkSignature.from_json(manifest["signature"])
        _check_sizes(signature)
        target, format_ = manifest["target"], manifest["format"]
        _check_texts(signature.name, signature.precision, target, format_, *signature.tensors)
        artifact = Artifact(target, format_, code, manifest["metadata"])
    except OSError as error:
        raise UsageError(
            f"no saved network: {error.strerror} ({Path(error.filename).name})",
            where=str(folder),
            remedy=_REMEDY,
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError("the manifest is damaged", where=str(folder), remedy=_REMEDY) from error
    return artifact, constants, signature


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


def _check_texts(*texts: object) -> None:
    for text in texts:
        if not isinstance(text, str):
            raise TypeError("expected a text")


def _check_sizes(signature: NetworkSignature) -> None:
    """Raise ValueError or TypeError for tensors that no memory holds."""
    for spec in signature.tensors.values():
        if any(n < 0 for n in spec.shape):
            raise ValueError("a negative size")
        if prod(spec.shape) * ITEM_BYTES[spec.dtype] > _MOST_BYTES:
            raise ValueError("a tensor of more than a terabyte")


def _may_replace(folder: Path) -> bool:
    """Whether nothing is lost that is not a saved network: nothing is there, or nothing in it."""
    if (folder / _MANIFEST).is_file() or not folder.exists():
        return True
    return folder.is_dir() and not any(folder.iterdir())


def _replace(fresh: Path, folder: Path) -> None:
    """Move the fresh folder into place, the old one out of the way before."""
    old = _beside(folder, "old")
    if folder.exists():
        folder.rename(old)
    fresh.rename(folder)
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


def _specs_to_json(specs: Mapping[str, TensorSpec]) -> list[Any]:
    return [[name, *spec.to_json()] for name, spec in specs.items()]


def _specs_from_json(data: list[Any]) -> dict[str, TensorSpec]:
    return {name: TensorSpec.from_json(spec) for name, *spec in data}
