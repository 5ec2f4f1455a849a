"""A linked network in a process that compiles nothing: what it brings, and what networks of before lack."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from small_network import network

from tilewright.errors import UsageError
from tilewright.roles import Artifact
from tilewright.vocabulary.target import Target
from tilewright_x86.backend import X86Backend

_SERVING = """
import json, sys
from pathlib import Path
import numpy as np
from small_network import arrays
from tilewright.roles import Artifact
from tilewright_x86.backend import X86Backend
target, format, metadata = json.loads(Path(sys.argv[1]).read_text())
artifact = Artifact(target, format, Path(sys.argv[2]).read_bytes(), metadata)
backend = X86Backend()
kernel = backend.load(artifact, backend.probe()[0])
operands, y, z = arrays()
kernel.bind(operands, {})
kernel.launch()
np.testing.assert_array_equal(kernel.read(2), y)
np.testing.assert_array_equal(kernel.read(3), z)
kernel.close()
print("llvmlite" in sys.modules)
"""


def linked(threads: int) -> Artifact:
    return X86Backend().link(
        network("vectorized", "parallel"), Target("x86", {"threads": str(threads)})
    )


def compiles(artifact: Artifact, folder: Path) -> bool:
    """Whether a process that runs it, and gets the right answer, needs LLVM."""
    metadata = json.dumps([artifact.target, artifact.format, dict(artifact.metadata)], default=list)
    (folder / "metadata").write_text(metadata)
    (folder / "code").write_bytes(artifact.data)
    done = subprocess.run(
        [sys.executable, "-c", _SERVING, str(folder / "metadata"), str(folder / "code")],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip() == "True"


@pytest.mark.parametrize("threads", [1, 2])
def test_a_linked_network_is_run_without_llvm(threads: int, tmp_path: Path) -> None:
    assert not compiles(linked(threads), tmp_path)


def without_pool(artifact: Artifact) -> Artifact:
    """As networks were before they brought one."""
    first, *rest = artifact.metadata["object_bytes"]
    data = artifact.data[first:]
    kept = {name: value for name, value in artifact.metadata.items() if name != "pool"}
    changed = {"object_bytes": rest, "sha256": sha256(data).hexdigest()}
    return replace(artifact, data=data, metadata={**kept, **changed})


def with_another_pool(artifact: Artifact) -> Artifact:
    """As networks are once the pool has changed."""
    return replace(artifact, metadata={**artifact.metadata, "pool": sha256(b"another").hexdigest()})


@pytest.mark.parametrize("before", [without_pool, with_another_pool])
def test_llvm_makes_the_pool_that_a_network_of_before_lacks(
    before: Callable[[Artifact], Artifact], tmp_path: Path
) -> None:
    assert compiles(before(linked(2)), tmp_path)


def test_code_that_calls_what_is_nowhere_is_refused_in_one_line() -> None:
    artifact = without_pool(linked(1))  # it loses a kernel
    with pytest.raises(UsageError, match="the code calls 'kernel0', which is nowhere") as refused:
        X86Backend().load(artifact, X86Backend().probe()[0])
    assert "compile it again" in str(refused.value)
