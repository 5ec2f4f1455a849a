"""Writes the pictures of a run: its display in a terminal while it tunes, and parts of its page.

    uv run docs/screenshots.py examples/resnet50.yaml

It runs the pipeline in a terminal of its own (tmux), looking at the screen all the time, and opens
the run's page in Chromium. Needs tmux, Chromium and its driver (Debian: `apt-get install tmux
chromium chromium-driver`), a machine to itself, and somebody who looks at the pictures afterwards.
"""

from __future__ import annotations

import argparse
import base64
import io
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

PICTURES = Path(__file__).with_name("pictures")
LIVE = "live.svg"
PARTS = {
    "report.webp": ("body", "#kernels figure ~ figure", "#run"),
    "report-kernels.webp": ("#kernels figure ~ figure", "#kernels table", ""),
    "report-tuning.webp": ("#tuning", "#tuning h3", ""),
    "report-landscape.webp": ("#landscape", "#landscape details + details", ""),
}
"""Of the page by picture: the elements where it begins and ends, and what is left out between."""

_COLUMNS, _LINES = 100, 32
_WIDTH = 1180
_SHARPNESS = 1.5
"""Pixels of the picture per pixel of the page."""

_FONT = re.compile(r"\s*@font-face \{[^}]*\}")
_TOP = "return arguments[0].getBoundingClientRect().top + window.scrollY"
_BROWSER = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")


def screens(command: str, folder: Path) -> Iterator[str]:
    """What a terminal shows while the command runs in the folder, second by second."""
    tmux = ["tmux", "-L", folder.name]
    size = ["-x", str(_COLUMNS), "-y", str(_LINES)]
    started = [*tmux, "new-session", "-d", *size, "-c", str(folder), command]
    subprocess.run(started, check=True)
    while True:
        time.sleep(1)
        shown = subprocess.run(
            [*tmux, "capture-pane", "-p", "-e"], check=False, capture_output=True, text=True
        )
        if shown.returncode:
            return
        yield shown.stdout.rstrip()


def live_display(shown: Sequence[str], title: str) -> str:
    """A late one of the fullest screens, as SVG."""
    most = max(screen.count("\n") for screen in shown)
    full = [screen for screen in shown if screen.count("\n") == most]
    console = Console(record=True, width=_COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(full[len(full) * 3 // 4]))
    # The reader's own font: a picture fetches nothing.
    return _FONT.sub("", console.export_svg(title=title))


def parts_of_page(page: Path) -> Iterator[tuple[str, bytes]]:
    """Name and content of each picture."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for word in (*_BROWSER, f"--window-size={_WIDTH},900"):
        options.add_argument(word)
    driver = webdriver.ChromeService(shutil.which("chromedriver"))
    with webdriver.Chrome(options=options, service=driver) as browser:
        browser.get(page.as_uri())

        def top(selector: str) -> float:
            found = browser.find_element("css selector", selector)
            return float(browser.execute_script(_TOP, found))

        for name, (first, end, without) in PARTS.items():
            for one in browser.find_elements("css selector", without or "none"):
                browser.execute_script("arguments[0].hidden = true", one)
            box = {"x": 0, "y": top(first), "width": _WIDTH, "scale": _SHARPNESS}
            box["height"] = top(end) - box["y"]
            asked = {"format": "webp", "quality": 80, "captureBeyondViewport": True, "clip": box}
            shot = browser.execute_cdp_cmd("Page.captureScreenshot", asked)
            yield name, base64.b64decode(shot["data"])


def main() -> None:
    """Runs a pipeline and writes every picture of it."""
    parser = argparse.ArgumentParser(description="Writes the pictures of a run.")
    parser.add_argument("pipeline", type=Path)
    parser.add_argument("--out", type=Path, default=PICTURES)
    arguments = parser.parse_args()
    out = arguments.out.absolute()
    with tempfile.TemporaryDirectory(prefix="screenshots-") as temporary:
        folder = Path(temporary)
        pipeline = folder / "examples" / arguments.pipeline.name
        pipeline.parent.mkdir()
        shutil.copy(arguments.pipeline, pipeline)
        words = ["run", str(pipeline.relative_to(folder))]
        tilewright = [sys.executable, "-m", "tilewright"]
        # What it prints in the end would be on the screen as well.
        seen = list(screens(f"{shlex.join([*tilewright, *words])} > {folder}/printed", folder))
        (run,) = (folder / "runs").iterdir()
        subprocess.run([*tilewright, "report", str(run)], check=True)
        (out / LIVE).write_text(live_display(seen, shlex.join(["tilewright", *words])))
        for name, picture in parts_of_page(run / "report.html"):
            (out / name).write_bytes(picture)
        sys.stdout.write((folder / "printed").read_text())


if __name__ == "__main__":
    main()
