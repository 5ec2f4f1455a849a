"""The pictures of the pages are what the scripts beside them draw."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
SCRIPTS = sorted(PICTURES.glob("*.py"))
SCREENSHOTS = runpy.run_path(str(PICTURES.with_name("screenshots.py")))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_picture_is_what_its_script_draws(script):
    drawn = subprocess.run(
        [sys.executable, str(script)], capture_output=True, encoding="utf-8", check=True
    )
    assert script.with_suffix(".svg").read_text(encoding="utf-8") == drawn.stdout


def test_every_picture_has_a_script():
    made = {script.with_suffix(".svg").name for script in SCRIPTS}
    made |= {SCREENSHOTS["LIVE"], *SCREENSHOTS["PARTS"]}
    assert {path.name for path in PICTURES.iterdir() if path.suffix in {".svg", ".webp"}} == made


def test_pictures_are_small_and_fetch_nothing():
    for path in PICTURES.iterdir():
        assert path.stat().st_size < 200 << 10, path
        if path.suffix == ".svg":
            assert "url(http" not in path.read_text(encoding="utf-8")


def test_a_live_display_becomes_a_picture_in_its_colours():
    """Of the fullest screens, a late one."""
    early, late, short = "\x1b[1mone\x1b[0m\n1", "\x1b[1mtwo\x1b[0m\n2", "end"
    drawn = SCREENSHOTS["live_display"]([early, late, late, late, short], "tilewright run it")
    assert "two" in drawn
    assert "one" not in drawn
    assert "font-weight: bold" in drawn


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_picture_is_read_on_light_and_on_dark_pages(script):
    """It brings its own ground, and colours for both; its title says what is to be seen."""
    text = script.with_suffix(".svg").read_text(encoding="utf-8")
    (title,) = ET.fromstring(text).iter("{http://www.w3.org/2000/svg}title")
    assert title.text
    light, _, dark = text.partition("@media (prefers-color-scheme: dark)")
    assert ".page { fill:" in light
    assert ".page { fill:" in dark
