"""The form of an x86 artefact.

Object files one after the other, and what is needed to load them.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from tilewright.roles import Artifact
from tilewright.target import Target
from tilewright_x86.isa import isa_of

FORMAT = "elf-objects"


def artifact_of(
    target: Target,
    objects: Sequence[bytes],
    *,
    symbol: str,
    operands: Sequence[tuple[Sequence[int], str]],
    workspace_bytes: int,
) -> Artifact:
    """An artefact of object files.

    `symbol` is the function to call, operands are (shape, dtype) in its order.
    """
    data = b"".join(objects)
    return Artifact(
        target=str(target),
        format=FORMAT,
        data=data,
        metadata={
            "isa": isa_of(target).name,
            "threads": target.threads,
            "symbol": symbol,
            "operands": [[list(shape), dtype] for shape, dtype in operands],
            "workspace_bytes": workspace_bytes,
            "sha256": sha256(data).hexdigest(),
            "object_bytes": [len(data) for data in objects],
        },
    )
