"""A bucketed network as a folder: a code a bucket, constants that they share, and a manifest."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from itertools import product
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
from tilewright_graph.ranges.dimension import Dimension
from tilewright_graph.ranges.dimensions import Dimensions, Sizes


@dataclass(frozen=True, slots=True)
class SavedBucket:
    """A network at the sizes of its bucket; seconds as measured when it was compiled.

    least_seconds   of the least size of the dimension along which it leaves out rows
    """

    artifact: Artifact
    signature: NetworkSignature
    seconds: float
    least_seconds: float | None = None


def least_seconds(buckets: Mapping[Sizes, SavedBucket]) -> dict[Sizes, float]:
    """Those of the buckets that have them."""
    told = ((sizes, one.least_seconds) for sizes, one in buckets.items())
    return {sizes: seconds for sizes, seconds in told if seconds is not None}


def save(
    folder: Path, dimensions: Dimensions, buckets: Mapping[Sizes, SavedBucket], constants: Any
) -> None:
    """Write the folder, whole or not at all. Raises UsageError where it cannot be."""
    told = [
        {
            "sizes": sizes,
            "seconds": one.seconds,
            **({} if one.least_seconds is None else {"least_seconds": one.least_seconds}),
            **entry(one.artifact, one.signature),
        }
        for sizes, one in buckets.items()
    ]
    of_each = [one.to_json() for one in dimensions.each]
    manifest = {"version": BUCKETED, "dimensions": of_each, "buckets": told}
    codes = {_code(sizes): one.artifact.data for sizes, one in buckets.items()}
    write_folder(folder, manifest, codes, constants)


def load(folder: Path) -> tuple[Dimensions, dict[Sizes, SavedBucket], Any]:
    """Dimensions, buckets by their sizes, ascending, and constants.

    Raises UsageError unless every byte is as it was saved.
    """
    with reading(folder):
        manifest, codes, constants = read_folder(folder, BUCKETED)
        dimensions = Dimensions(tuple(map(Dimension.from_json, manifest["dimensions"])))
        found = {tuple(map(int, told["sizes"])): told for told in manifest["buckets"]}
        _check_sizes(dimensions, found.keys())
        buckets = {}
        for sizes in sorted(found):
            told = found[sizes]
            parts = from_entry(told, codes[_code(sizes)])
            least = float(told["least_seconds"]) if "least_seconds" in told else None
            buckets[sizes] = SavedBucket(*parts, float(told["seconds"]), least)
            _check_rows(dimensions, sizes, parts[1])
    return dimensions, buckets, constants


def _check_sizes(dimensions: Dimensions, found: Set[Sizes]) -> None:
    """Raise ValueError unless there is a bucket for all sizes of the ranges."""
    compiled = [set(of_one) for of_one in zip(*found, strict=True)]
    if not compiled or found != {*product(*compiled)}:
        raise ValueError("buckets are missing")
    for one, sizes in zip(dimensions.each, compiled, strict=True):
        wanted = {one.sizes.most} if one.padded else {*one.sizes}
        if wanted - sizes or not all(size in one.sizes for size in sizes):
            raise ValueError("other buckets than sizes")


def _check_rows(dimensions: Dimensions, sizes: Sizes, signature: NetworkSignature) -> None:
    """Raise ValueError or KeyError unless tensors have the rows that the dimensions say."""
    for one in dimensions.each:
        for name, lie in one.rows.items():
            if max(rows.axis for rows in lie) >= len(signature.tensors[name].shape):
                raise ValueError(f"rows of {name!r}")
    each = zip(dimensions.each, sizes, strict=True)
    masks = {one.mask: (size,) for one, size in each if one.mask and size > 1}
    if masks != {name: signature.inputs[name].shape for name in signature.masks}:
        raise ValueError("masks of other rows")
    for one in dimensions.each:
        for name in one.rows:
            spec = signature.tensors[name]
            if dimensions.spec(name, spec, sizes) != spec:
                raise ValueError(f"rows of {name!r}")
        if one.rows.keys().isdisjoint(signature.inputs):
            raise ValueError("no input has the dimension")


def _code(sizes: Sizes) -> str:
    return "-".join(map(str, ("code", *sizes)))
