"""A bucketed network as a folder: a code a bucket, constants that they share, and a manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.roles import Artifact
from tilewright_graph.compiled.saved.saved_folder import (
    BUCKETED,
    read_folder,
    reading,
    write_folder,
)
from tilewright_graph.compiled.saved.saved_network import NetworkSignature, entry, from_entry
from tilewright_graph.network.dimension import Dimension


@dataclass(frozen=True, slots=True)
class SavedBucket:
    """A network at the size of its bucket; `seconds` as measured when it was compiled."""

    artifact: Artifact
    signature: NetworkSignature
    seconds: float


def save(
    folder: Path, dimension: Dimension, buckets: Mapping[int, SavedBucket], constants: Any
) -> None:
    """Write the folder, whole or not at all. Raises UsageError where it cannot be."""
    told = [
        {"size": size, "seconds": one.seconds, **entry(one.artifact, one.signature)}
        for size, one in buckets.items()
    ]
    manifest = {"version": BUCKETED, "dimension": dimension.to_json(), "buckets": told}
    codes = {_code(size): one.artifact.data for size, one in buckets.items()}
    write_folder(folder, manifest, codes, constants)


def load(folder: Path) -> tuple[Dimension, dict[int, SavedBucket], Any]:
    """Dimension, buckets by size, ascending, and constants.

    Raises UsageError unless every byte is as it was saved.
    """
    with reading(folder):
        manifest, codes, constants = read_folder(folder, BUCKETED)
        dimension = Dimension.from_json(manifest["dimension"])
        found = {int(told["size"]): told for told in manifest["buckets"]}
        lacking = {dimension.sizes.most} if dimension.independent else {*dimension.sizes}
        if lacking - found.keys() or min(found) < 1 or max(found) > dimension.sizes.most:
            raise ValueError("other buckets than sizes")
        buckets = {}
        for size in sorted(found):
            told = found[size]
            parts = from_entry(told, codes[_code(size)])
            buckets[size] = SavedBucket(*parts, float(told["seconds"]))
            _check_rows(dimension, size, parts[1])
    return dimension, buckets, constants


def _check_rows(dimension: Dimension, size: int, signature: NetworkSignature) -> None:
    """Raise ValueError or KeyError unless tensors have the rows that the dimension says."""
    for name, rows in dimension.rows.items():
        spec = signature.tensors[name]
        if rows.axis >= len(spec.shape) or dimension.spec(name, spec, size) != spec:
            raise ValueError(f"rows of {name!r}")
    if dimension.rows.keys().isdisjoint(signature.inputs):
        raise ValueError("no input has the dimension")


def _code(size: int) -> str:
    return f"code-{size}"
