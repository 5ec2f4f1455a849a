"""Makes pages of the site from Markdown files outside `docs/`, and links between them work.

In the repository a page links files by their paths, as GitHub shows them. On the site the README is
the first page, and those of the parts stand below `repository/`.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
FIRST = "README.md"
RESULTS = "benchmarks/RESULTS.md"
OTHERS = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "benchmarks/models/README.md")
DECISIONS = "docs/decisions"
CHARTS = "benchmarks/results"
LINK = re.compile(r"(?<=\]\()(?!\w+:)([^)#\s]+)((?:#[\w-]+)?)(?=\))")


def pages() -> dict[str, str]:
    """Where the site has what the repository has elsewhere."""
    parts = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("plugins/*/README.md"))
    others = {path: f"repository/{path}" for path in (*OTHERS, "core/README.md", *parts, RESULTS)}
    return {FIRST: "index.md"} | others


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Names the decisions and the pages of the parts in the navigation."""
    others = sorted(path.name for path in (ROOT / DECISIONS).glob("[!R]*.md"))
    entry = named("Decisions", config.nav)
    entry["Decisions"] = [f"decisions/{name}" for name in ("README.md", *others)]
    shown = {path: place for path, place in pages().items() if path not in (FIRST, RESULTS)}
    entry = named("Parts", named("Reference", config.nav)["Reference"])
    entry["Parts"] = [{title(path): place} for path, place in shown.items()]
    return config


def named(name: str, entries: Any) -> dict[str, Any]:
    """The entry of the navigation that has this name."""
    (entry,) = (entry for entry in entries if isinstance(entry, dict) and name in entry)
    return entry


def title(path: str) -> str:
    """The first heading of a page."""
    found = re.search(r"^# (.*)$", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else path


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds them."""
    for path, place in pages().items():
        text = (ROOT / path).read_text(encoding="utf-8")
        files.append(File.generated(config, place, content=text))
    for path in sorted((ROOT / CHARTS).glob("*.svg")):
        place = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, f"repository/{place}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links to files of the repository become links to pages of the site."""
    places = pages()
    own = {place: path for path, place in places.items()}
    here = page.file.src_uri
    folder = posixpath.dirname(own.get(here, f"docs/{here}"))

    def moved(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link[1]))
        chart = posixpath.dirname(path) == CHARTS
        place = f"repository/{path}" if chart else places.get(path, path.removeprefix("docs/"))
        return posixpath.relpath(place, posixpath.dirname(here) or ".") + link[2]

    return LINK.sub(moved, markdown)
