"""The lines of the live display as they stand on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


class DrawnLines:
    """What Rich draws over: it goes up as many rows as it drew lines.

    A window that is made narrower wraps what is on it, as tmux and most terminals do, so that those
    lines take more rows. Where a terminal cuts them off instead (xterm), as many rows above the
    display are lost.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._widths: tuple[int, ...] = ()

    def replaced(self, lines: Sequence[Text]) -> Text:
        """The next lines to draw, in place of the last ones, with the cursor where Rich has it."""
        from rich.control import Control
        from rich.segment import ControlType
        from rich.text import Text

        columns = self._console.width
        wrapped = sum(max(0, width - 1) // columns for width in self._widths)
        up = ((ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1))
        if wrapped:
            self._console.control(Control(*up * wrapped))
        self._widths = tuple(line.cell_len for line in lines)
        return Text("\n", no_wrap=True, overflow="ignore").join(lines)
