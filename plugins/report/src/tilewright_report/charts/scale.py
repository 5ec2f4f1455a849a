"""From values to places along an axis, and the marks on it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tilewright_pipeline.context.time_text import significant_text


class Scale(Protocol):
    """Values to places, in units of the drawing; and the values to mark."""

    def place(self, value: float) -> float: ...

    def ticks(self) -> Sequence[tuple[float, str]]: ...


@dataclass(frozen=True, slots=True)
class Linear:
    """From `low` at `start` to `high` at `end`."""

    low: float
    high: float
    start: float
    end: float
    marks: int = 5

    @classmethod
    def around(
        cls, values: Iterable[float], start: float, end: float, *, zero: bool = False
    ) -> Linear:
        """With all values inside and some room; from zero where asked."""
        known = list(values) or [0.0, 1.0]
        low, high = min(known), max(known)
        room = 0.04 * (high - low) or 0.05 * abs(high) or 1.0
        return cls(0.0 if zero else low - room, high + room, start, end)

    def place(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """Multiples of 1, 2 or 5 times a power of ten."""
        step = _round_step((self.high - self.low) / self.marks)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        values = (number * step for number in range(first, last + 1))
        return [(value, f"{value:,.{digits}f}") for value in values]


@dataclass(frozen=True, slots=True)
class Log:
    """As `Linear`, by the logarithm; both ends are above zero."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def around(cls, values: Iterable[float], start: float, end: float) -> Log:
        """With all values that are above zero inside, and some room."""
        known = [value for value in values if value > 0] or [1.0, 10.0]
        low, high = min(known), max(known)
        room = max((high / low) ** 0.06, 1.25)
        return cls(low / room, high * room, start, end)

    def place(self, value: float) -> float:
        share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """Powers of ten, with their doubles and fives where there are few."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        every = max(1, len(powers) // 7)
        whole = [10.0**power for power in powers if power % every == 0]
        found = [value for value in whole if self.low <= value <= self.high]
        if len(found) < 3:
            fine = [10.0**power * digit for power in powers for digit in (1, 2, 5)]
            found = [value for value in fine if self.low <= value <= self.high]
        return [(value, plain(value)) for value in found]


def fitting(values: Sequence[float], start: float, end: float) -> Scale:
    """By the logarithm where the values differ by more than a factor of four."""
    spread = bool(values) and 0 < 4 * min(values) < max(values)
    return (Log if spread else Linear).around(values, start, end)


def plain(value: float) -> str:
    """A mark on an axis: short, with thousands apart."""
    if value == 0 or abs(value) >= 1:
        return f"{value:,.0f}" if abs(value) < 1e6 else f"{value:.0e}".replace("e+0", "e")
    return significant_text(value).rstrip("0")


def _round_step(step: float) -> float:
    if step <= 0 or not math.isfinite(step):
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return power * next(digit for digit in (1, 2, 5, 10) if digit * power >= step * (1 - 1e-9))
