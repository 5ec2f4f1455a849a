"""Every pipeline in examples/ passes the check that is made before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilewright

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("**/*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_is_a_valid_pipeline(path: Path) -> None:
    tilewright.Pipeline.load(path)
