"""Plugin files as texts that cross from a driver to workers, byte for byte."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from tilewright.errors import UsageError
from tilewright.reading import read_file


def plugin_texts(files: Iterable[Path]) -> dict[str, str]:
    """Their texts by name. Raises UsageError for one that cannot be read."""
    texts = {}
    for path in files:
        try:
            texts[path.name] = read_file(path).decode("utf-8", "surrogateescape")
        except OSError as error:
            raise UsageError(f"cannot read it: {error.strerror}", where=str(path)) from error
    return texts


def write_plugins(texts: Mapping[str, str], folder: Path) -> list[Path]:
    """Files of these texts in a folder; of a name, only its last part counts."""
    files = []
    for name, text in texts.items():
        path = folder / Path(name).name
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        files.append(path)
    return files
