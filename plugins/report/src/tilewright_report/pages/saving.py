"""Writing a page to a file."""

from __future__ import annotations

from pathlib import Path

from tilewright_pipeline.writing import writing_file


def save_page(page: str, path: Path) -> None:
    """Whole, with the folders above it. Raises UsageError where it cannot be written."""
    with writing_file(path, "the page"):
        path.write_text(page, "utf-8")
