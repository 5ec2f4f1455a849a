"""The form of an x86 artefact.

Object files in sequence, and what is needed to load them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from hashlib import sha256
from math import prod
from typing import Any, NamedTuple

from tilewright.errors import UsageError
from tilewright.roles import Artifact
from tilewright.vocabulary.target import Target
from tilewright_tensor.expressions.dtype import ITEM_BYTES
from tilewright_x86.kernel.object_file import section
from tilewright_x86.kernel.parallel import pool_hash
from tilewright_x86.machine.isa import ISAS, Isa, is_emulated, require

FORMAT = "elf-objects"


NETWORK = "network"
"""The function of a network's code that calls all others."""

CALLS = "tilewright_calls"
"""The table of a network whose calls have a choice of kernels: a pointer a call."""

ROWS = "tilewright_rows"
"""The number of rows of each dimension that a network's kernels are asked for."""

_SIZES = ".tilewright"
"""The section in which a network's code says what it was compiled for."""


def artifact_of(
    target: Target,
    isa: Isa,
    objects: Sequence[bytes],
    *,
    symbol: str,
    operands: Sequence[tuple[Sequence[int], str]],
    workspace_bytes: int,
    programs: Sequence[Sequence[int]] = (),
    pool: bytes | None = None,
    rows: Sequence[int] = (),
) -> Artifact:
    """An artefact of object files.

    isa       the level that a machine needs to run it
    symbol    the function to call
    operands  (shape, dtype) in its order
    programs  by call, the numbers of the kernels that it may launch; empty where none has a choice
    pool      object code of the thread pool, of which whoever loads it without LLVM has no other
    rows      of each dimension, those that it was made for; empty where it computes all of them
    """
    objects = objects if pool is None else [pool, *objects]
    data = b"".join(objects)
    return Artifact(
        target=str(target),
        format=FORMAT,
        data=data,
        metadata={
            "isa": isa.name,
            "threads": target.threads,
            "symbol": symbol,
            "operands": [[list(shape), dtype] for shape, dtype in operands],
            "workspace_bytes": workspace_bytes,
            "sha256": sha256(data).hexdigest(),
            "object_bytes": [len(data) for data in objects],
            **({"programs": programs} if programs else {}),
            **({"rows": rows} if rows else {}),
            **({} if pool is None else {"pool": pool_hash()}),
        },
    )


class Code(NamedTuple):
    """Object files of kernels and, of a network that brings its own, of the thread pool."""

    objects: Sequence[bytes]
    pool: bytes | None


def code_of(artifact: Artifact) -> Code:
    """The code of an artefact that this machine can run.

    Raises UsageError where the metadata contradicts the code itself.
    """
    if artifact.format != FORMAT:
        raise UsageError(
            f"artefact of format {artifact.format!r}: the x86 target loads {FORMAT!r}",
            remedy="build it again for this target",
        )
    try:
        target = Target.parse(artifact.target)
        if not is_emulated(target):
            require(artifact.metadata["isa"], f"artefact for isa={artifact.metadata['isa']}")
        return _checked(artifact.data, artifact.metadata, target.threads)
    except (ValueError, KeyError, TypeError, struct.error, OverflowError) as error:
        raise UsageError(
            f"artefact of {len(artifact.data)} bytes: its code is not what was compiled",
            remedy="the file is damaged; build it again",
        ) from error


def sizes_text(
    threads: int,
    workspace_bytes: int,
    operands: Sequence[tuple[Sequence[int], str]],
    rows: Sequence[int],
) -> str:
    """A constant for the code of a network: the sizes without which it must not be run."""
    sizes = _sizes(threads, workspace_bytes, operands, rows)
    listed = ", ".join(f"i64 {size}" for size in sizes)
    kind = f"[{len(sizes)} x i64]"
    return f'@tilewright_sizes = constant {kind} [{listed}], section "{_SIZES}", align 8'


def _checked(data: bytes, metadata: Mapping[str, Any], threads: int) -> Code:
    if sha256(data).hexdigest() != metadata["sha256"]:
        raise ValueError("another hash")
    if metadata["isa"] not in {isa.name for isa in ISAS}:
        raise ValueError("no level")
    objects, start = [], 0
    for size in metadata["object_bytes"]:
        objects.append(data[start : start + size])
        start += size
    if start != len(data):
        raise ValueError("more or less than its object files")
    *_, sizes = [section(each, _SIZES) for each in objects]  # of a network, the last calls them all
    rows = metadata.get("rows", ())
    told = _sizes(threads, metadata["workspace_bytes"], metadata["operands"], rows)
    symbol = metadata["symbol"]
    if not isinstance(symbol, str) or not symbol or threads != metadata["threads"]:
        raise ValueError("no function, or not of this target")
    if sizes is not None and (symbol, sizes) != (NETWORK, struct.pack(f"<{len(told)}q", *told)):
        raise ValueError("another function, or other sizes")
    if "pool" not in metadata:
        return Code(objects, None)
    pool, *kernels = objects
    return Code(kernels, pool if metadata["pool"] == pool_hash() else None)


def _sizes(
    threads: int,
    workspace_bytes: int,
    operands: Sequence[tuple[Sequence[int], str]],
    rows: Sequence[int],
) -> list[int]:
    """Numbers of rows stand behind the bytes of operands, and below 0, as those never are."""
    if any(n < 0 for shape, _ in operands for n in shape) or any(count < 1 for count in rows):
        raise ValueError("a negative size")
    each = (prod(shape) * ITEM_BYTES[dtype] for shape, dtype in operands)
    return [threads, workspace_bytes, *each, *(-count for count in rows)]
