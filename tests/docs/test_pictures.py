"""The pictures of the pages are what the scripts beside them draw."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
SCRIPTS = sorted(PICTURES.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_picture_is_what_its_script_draws(script):
    drawn = subprocess.run(
        [sys.executable, str(script)], capture_output=True, encoding="utf-8", check=True
    )
    assert script.with_suffix(".svg").read_text(encoding="utf-8") == drawn.stdout


def test_every_picture_has_a_script():
    assert {path.stem for path in PICTURES.glob("*.svg")} == {path.stem for path in SCRIPTS}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_picture_is_read_on_light_and_on_dark_pages(script):
    """It brings its own ground, and colours for both; its title says what is to be seen."""
    text = script.with_suffix(".svg").read_text(encoding="utf-8")
    (title,) = ET.fromstring(text).iter("{http://www.w3.org/2000/svg}title")
    assert title.text
    light, _, dark = text.partition("@media (prefers-color-scheme: dark)")
    assert ".page { fill:" in light
    assert ".page { fill:" in dark
