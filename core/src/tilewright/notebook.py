"""What notebooks show of a value: its page, by whichever plugin draws one."""

from __future__ import annotations

from importlib.metadata import entry_points


def notebook_html(value: object) -> str | None:
    """HTML for a notebook, which shows the value's text where this is None.

    A distribution names a function of the value under the entry points `tilewright.notebook`; the
    first that gives a text is taken.
    """
    for point in entry_points(group="tilewright.notebook"):
        found = point.load()(value)
        if isinstance(found, str):
            return found
    return None
