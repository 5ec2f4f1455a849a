"""Who may import whom: design.md's rules, read from the syntax trees so that late imports count as well."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

# Distribution -> distributions it may import, besides itself.
MAY_IMPORT = {
    "core": set(),
    "records": {"core"},
    "recordings": set(),  # data only
    "pipeline": {"core", "records"},  # late, where records are installed
    "cli": {"core", "pipeline", "records"},
    "testing": {"core", "pipeline"},
    "tensor": {"core"},
    "search": {"core"},
    "measure": {"core", "records"},  # replay
    "graph": {"core", "pipeline", "tensor"},
    "x86": {"core", "tensor"},
    "cuda": {"core", "tensor"},
    "onnx": {"core", "graph"},
    "openvino": {"core", "graph"},
    "dask": {"core", "measure", "pipeline"},
    "report": {"core", "pipeline"},
    "models": {"core", "pipeline", "records", "search", "tensor"},
}

# What folders of these names may import besides: nothing else of a distribution imports them.
FOLDERS = {"cli": {"cli", "pipeline", "records"}, "testing": {"testing"}}

# Package -> where it may be imported: a distribution, or one file.
ONLY_IN = {
    "cryptography": "plugins/dask/src/tilewright_dask/security/certificates.py",
    "dask": "plugins/dask/",
    "distributed": "plugins/dask/",
    "kernel_tuner": "plugins/search/src/tilewright_search/cli/peers/kernel_tuner_search.py",
    "llvmlite": "plugins/x86/",
    "pycuda": "plugins/cuda/",
    "onnx": "plugins/onnx/",
    "onnxruntime": "plugins/onnx/src/tilewright_onnx/runtime/silent_runtime.py",
    "openvino": "plugins/openvino/",
    "optuna": "plugins/search/src/tilewright_search/cli/peers/optuna_search.py",
    "pulp": "plugins/graph/src/tilewright_graph/selection/solvers/exact.py",
    "xgboost": "plugins/search/src/tilewright_search/models/xgboost_trees.py",
}

CORE_MAY_IMPORT = {"tilewright", "pluggy", "pydantic", "pydantic_core"}


def _owner(package: str) -> str | None:
    """The distribution of ours that a top-level package belongs to."""
    if package == "tilewright":
        return "core"
    return package.removeprefix("tilewright_") if package.startswith("tilewright_") else None


def _of_folder(path: Path) -> set[str]:
    return set().union(*(more for folder, more in FOLDERS.items() if folder in path.parent.parts))


def test_each_distribution_imports_only_those_it_may(sources: Sequence[Any]) -> None:
    offenders = [
        f"{source.place}: {name}"
        for source in sources
        for name in source.imports()
        if (owner := _owner(name.partition(".")[0])) is not None
        and owner != source.distribution
        and owner not in MAY_IMPORT[source.distribution] | _of_folder(source.path)
    ]
    assert offenders == []


def test_imports_are_absolute(sources: Sequence[Any]) -> None:
    offenders = [s.place for s in sources for name in s.imports() if name.startswith(".")]
    assert offenders == []


def test_core_needs_the_standard_library_pluggy_and_pydantic(sources: Sequence[Any]) -> None:
    offenders = [
        f"{source.place}: {name}"
        for source in sources
        if source.distribution == "core"
        for name in source.imports()
        if name.partition(".")[0] not in sys.stdlib_module_names | CORE_MAY_IMPORT
    ]
    assert offenders == []


@pytest.mark.parametrize("package", sorted(ONLY_IN))
def test_heavy_packages_have_one_home(sources: Sequence[Any], package: str) -> None:
    offenders = [
        source.place
        for source in sources
        for name in source.imports()
        if name.partition(".")[0] == package and not source.place.startswith(ONLY_IN[package])
    ]
    assert offenders == []


def test_import_linter_agrees(root: Path) -> None:
    pytest.importorskip("importlinter")
    command = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports('.importlinter'))"
    done = subprocess.run(
        [sys.executable, "-c", command],
        cwd=root,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
