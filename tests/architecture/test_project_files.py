"""What a public project has agrees with what CI checks."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

LINES_OF_A_VERSION = 60


def test_the_workflow_runs_ci_on_every_supported_python(root: Path) -> None:
    workflow = yaml.safe_load((root / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    (job,) = workflow["jobs"].values()
    assert job["steps"][-1] == {"run": ".ci/run"}
    pythons = job["strategy"]["matrix"]["python"]
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["requires-python"] == f">={pythons[0]}"
    assert pythons == ["3.11", "3.12", "3.13"]


def test_the_linters_of_ci_run_before_a_commit(root: Path) -> None:
    settings = yaml.safe_load((root / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = [hook["entry"] for entry in settings["repos"] for hook in entry["hooks"]]
    script = (root / ".ci/run").read_text(encoding="utf-8")
    linters = re.findall(r"^uv run ((?:ruff|mypy|lint-imports)(?: [a-z]+)?)", script, re.MULTILINE)
    assert len(linters) == 4
    assert [name for name in linters if not any(f"uv run {name}" in hook for hook in hooks)] == []


def test_a_version_of_the_changelog_fits_a_screen(root: Path) -> None:
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = {part.partition("\n")[0]: part.count("\n") for part in text.split("\n## ")[1:]}
    assert versions
    assert {name: lines for name, lines in versions.items() if lines > LINES_OF_A_VERSION} == {}
