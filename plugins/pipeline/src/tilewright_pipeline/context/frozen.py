"""A frozen run: its records are pinned, nothing is measured, and what they lack is an error."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.errors import UsageError, shown
from tilewright.paths import exists
from tilewright.reading import read_file
from tilewright_pipeline.writing import writing

if TYPE_CHECKING:
    from tilewright_pipeline.context.packs import UsedPack
    from tilewright_pipeline.context.run_context import RunContext

PIN = re.compile("sha256:[0-9a-f]{64}")
"""How a file pins the records."""

EXPECTED = f"true, or the records' hash: {PIN.pattern}"


def records_hash(path: Path, packs: Sequence[UsedPack]) -> str:
    """`sha256:...` of all that a run knows: the lines of its packs, by name, then of its file.

    Without packs it is that of the file's bytes, as `sha256sum` has it.
    """
    digest = hashlib.sha256()
    for pack in packs:
        for line in pack.lines:
            digest.update(line + b"\n")
    with writing(path, "records"):
        if exists(path):
            digest.update(read_file(path))
    return f"sha256:{digest.hexdigest()}"


def pinned(frozen: bool | str, path: Path, packs: Sequence[UsedPack]) -> str:
    """The hash of a frozen run's records; empty for a run that is not frozen.

    Raises UsageError where another one is pinned, or what is no hash.
    """
    if not frozen:
        return ""
    if frozen is not True and not PIN.fullmatch(str(frozen)):
        raise UsageError(f"expected {EXPECTED}, got {shown(frozen)}", where="frozen")
    found = records_hash(path, packs)
    if frozen not in (True, found):
        names = "".join(f" and the pack {pack.name}" for pack in packs)
        raise UsageError(
            f"the records in {path}{names} are {found}, pinned is {frozen}",
            where="frozen",
            remedy="take the records that were pinned, or pin these",
        )
    return found


def refuse_missing(
    missing: Iterable[tuple[str, str]], context: RunContext, how: str = "tune them"
) -> None:
    """Raise UsageError that lists them all, where a frozen run's records lack anything.

    missing   what each is called, and the text of its task
    how       to get their records
    """
    if not context.frozen or not (every := dict.fromkeys(missing)):
        return
    path = context.store.path
    head = UsageError(
        f"no record of {len(every)} kernels on {context.device.name} "
        f"{context.device.fingerprint} in {path}"
        + ("" if exists(path) else ", which is not there"),
        where="frozen",
        remedy=f"{how} in a run that is not frozen, or install a pack that has them",
    )
    each = [UsageError(f"no record of {text}", where=name) for name, text in every]
    raise UsageError.several([head, *each])
