"""The form of a CUDA artefact: a program's texts and, where a compiler was there, its cubins."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from tilewright.errors import UsageError
from tilewright.roles import Artifact
from tilewright.vocabulary.target import Target
from tilewright_cuda.program.cubin import Resources
from tilewright_cuda.program.cuda_program import CudaProgram

FORMAT = "cuda-c"


@dataclass(frozen=True, slots=True)
class Contents:
    """What an artefact holds.

    arch     architecture it was built for, as `sm_90`
    cubins   machine code of each module of the program, None where no compiler was there
    """

    program: CudaProgram
    arch: str
    cubins: tuple[bytes | None, ...]


def artifact_of(
    target: Target,
    program: CudaProgram,
    cubins: Sequence[bytes | None],
    resources: Mapping[str, Resources],
) -> Artifact:
    """An artefact of a program.

    `resources` says what each compiled kernel asks for, by `MODULE.KERNEL`.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as files:
        for number, (text, cubin) in enumerate(zip(program.modules, cubins, strict=True)):
            _add(files, f"{number}.cu", text.encode())
            if cubin is not None:
                _add(files, f"{number}.cubin", cubin)
    data = packed.getvalue()
    return Artifact(
        target=str(target),
        format=FORMAT,
        data=data,
        metadata={
            "arch": target.get("arch"),
            "modules": len(program.modules),
            "counts": {"cubins": sum(cubin is not None for cubin in cubins)},
            "resources": {name: asdict(one) for name, one in resources.items()},
            "sha256": sha256(data).hexdigest(),
            **program.to_json(),
        },
    )


def contents_of(artifact: Artifact) -> Contents:
    """The inverse of `artifact_of`. Raises UsageError for a damaged artefact."""
    metadata = artifact.metadata
    whole = metadata.get("sha256") == sha256(artifact.data).hexdigest()
    try:
        if artifact.format == FORMAT and whole:
            return _unpacked(artifact.data, metadata)
    except (KeyError, TypeError, ValueError, zipfile.BadZipFile):
        pass  # the hash was recomputed after a change
    raise UsageError(
        f"artefact for {artifact.target} is damaged or of another format",
        remedy="compile it again",
    )


def _unpacked(data: bytes, metadata: Mapping[str, Any]) -> Contents:
    with zipfile.ZipFile(io.BytesIO(data)) as files:
        names = set(files.namelist())
        numbers = range(int(metadata["modules"]))
        texts = tuple(files.read(f"{number}.cu").decode() for number in numbers)
        cubins = tuple(
            files.read(f"{number}.cubin") if f"{number}.cubin" in names else None
            for number in numbers
        )
    return Contents(CudaProgram.from_json(texts, metadata), str(metadata["arch"]), cubins)


def _add(files: zipfile.ZipFile, name: str, data: bytes) -> None:
    # a fixed date: equal programs make equal artefacts
    files.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED, 1)
