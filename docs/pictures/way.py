"""Draws the way of a program through Tilewright.

`python docs/pictures/way.py > docs/pictures/way.svg`. Boxes are values, in the words of
docs/glossary.md; the part of a plugin that turns one into the next stands on the arrow. The colours
follow the reader's choice of a light or a dark page.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from html import escape

TITLE = "The way of a program, from a model file to a compiled network and its report"
BOX, GAP, HEIGHT = 152, 98, 50
LEFT, TOP = 44, 50
ROWS_AT = (TOP, TOP + 132, TOP + 294)  # below the second there is room for its loop
STYLE = """
  .page { fill: #ffffff; stroke: #d0d7de; }
  .box { fill: #eaf2fb; stroke: #3572b0; stroke-width: 1.5; }
  .arrow { fill: none; stroke: #57606a; stroke-width: 1.5; }
  .head { fill: #57606a; }
  text { fill: #1f2328; font: 15px system-ui, sans-serif; text-anchor: middle; }
  .part { fill: #57606a; font-size: 13px; }
  .row { font-weight: 600; text-anchor: start; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; stroke: #30363d; }
    .box { fill: #16283d; stroke: #6ea8e0; }
    .arrow { stroke: #9198a1; }
    .head { fill: #9198a1; }
    text { fill: #e6edf3; }
    .part { fill: #9198a1; }
  }
"""


@dataclass(frozen=True)
class Row:
    """A stretch of the way: its title, its values, and the parts between them."""

    title: str
    values: tuple[str, ...]
    parts: tuple[str, ...]


ROWS = (
    Row(
        "Read",
        ("model", "network", "task", "config space"),
        ("frontend", "graph pass", "strategy"),
    ),
    Row(
        "Tune, again and again until the budget is spent",
        ("config", "loop program", "artifact", "trial"),
        ("strategy", "builder", "runner"),
    ),
    Row(
        "Choose and compile",
        ("record", "graph choice", "compiled network", "report"),
        ("graph tuner", "target", "oracle, peer"),
    ),
)
BETWEEN = ("tuner, task scheduler", "record store")  # from the end of a row to the next
TUNED, LOOP = 1, "tuner: what was measured decides what is tried next"


def place(row: int, column: int) -> tuple[int, int]:
    """The upper left corner of a box."""
    return LEFT + column * (BOX + GAP), ROWS_AT[row]


def text(x: int, y: int, words: str, kind: str) -> str:
    """A line of text; of a part and of a value, `x` is the middle."""
    return f'<text class="{kind}" x="{x}" y="{y}">{escape(words)}</text>'


def arrow(*points: tuple[int, int]) -> str:
    """A line through the points, with a head at the last."""
    (x, y), (last_x, last_y) = points[-1], points[-2]
    if x == last_x:
        step = 8 if y > last_y else -8
        head = f"{x},{y} {x - 5},{y - step} {x + 5},{y - step}"
    else:
        head = f"{x},{y} {x - 8},{y - 5} {x - 8},{y + 5}"
    line = " ".join(f"{px},{py}" for px, py in points)
    return f'<polyline class="arrow" points="{line}"/>\n<polygon class="head" points="{head}"/>'


def rectangle(kind: str, x: float, y: float, width: int, height: int) -> str:
    """A rectangle with round corners."""
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>'


def drawn_row(number: int) -> list[str]:
    """A row's title, boxes and arrows."""
    row, (left, y) = ROWS[number], place(number, 0)
    drawn = [text(left, y - 14, row.title, "row")]
    level = y + HEIGHT // 2
    for column, value in enumerate(row.values):
        x, _ = place(number, column)
        drawn += [
            rectangle("box", x, y, BOX, HEIGHT),
            text(x + BOX // 2, level + 5, value, "value"),
        ]
    for column, part in enumerate(row.parts, 1):
        x, _ = place(number, column)
        drawn += [
            arrow((x - GAP + 3, level), (x - 3, level)),
            text(x - GAP // 2, level - 8, part, "part"),
        ]
    return drawn


def drawn_turn(number: int, part: str) -> list[str]:
    """The arrow from the end of a row to the start of the next."""
    last, y = place(number, len(ROWS[number].values) - 1)
    x, bottom = last + BOX * 3 // 4, y + HEIGHT
    turn = bottom + (52 if number == TUNED else 22)
    level = place(number + 1, 0)[1] + HEIGHT // 2
    return [
        arrow((x, bottom + 3), (x, turn), (20, turn), (20, level), (LEFT - 3, level)),
        text((LEFT + x) // 2, turn - 7, part, "part"),
    ]


def drawn_loop() -> list[str]:
    """The arrow from the end of the tuned row back to its start."""
    (first, y), (last, _) = place(TUNED, 0), place(TUNED, len(ROWS[TUNED].values) - 1)
    to, x, bottom = first + BOX // 2, last + BOX // 2, y + HEIGHT
    turn = bottom + 22
    return [
        arrow((x, bottom + 3), (x, turn), (to, turn), (to, bottom + 3)),
        text((to + x) // 2, turn - 7, LOOP, "part"),
    ]


def picture() -> str:
    """The whole file."""
    columns = max(len(row.values) for row in ROWS)
    width = LEFT + 24 + columns * BOX + (columns - 1) * GAP
    height = place(len(ROWS) - 1, 0)[1] + HEIGHT + 24
    drawn = [rectangle("page", 0.5, 0.5, width - 1, height - 1)]
    for number in range(len(ROWS)):
        drawn += drawn_row(number)
    for number, part in enumerate(BETWEEN):
        drawn += drawn_turn(number, part)
    drawn += drawn_loop()
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{TITLE}</title>",
            f"<style>{STYLE}</style>",
            *drawn,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(picture())
