"""What stands inside an index and is found in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright_tensor.expressions.affine import Affine, Atom, Element, Mod, Var, divided


def elements(atom: Atom) -> list[Element]:
    """What inside of it is found in memory, but for what these are found by."""
    if isinstance(atom, Element):
        return [atom]
    inner = () if isinstance(atom, Var) else atom.value.terms
    return [one for part, _ in inner for one in elements(part)]


def with_elements(value: Affine, change: Callable[[Any], Any]) -> Affine:
    """The index with its `Lookup`s replaced."""
    total = Affine((), value.constant)
    for atom, coefficient in value.terms:
        new = Affine(((atom, 1),))
        if isinstance(atom, Element):
            new = atom.with_value(change(atom.value))
        elif not isinstance(atom, Var) and elements(atom):
            new = divided(with_elements(atom.value, change), atom.divisor, {})[
                isinstance(atom, Mod)
            ]
        total += new * coefficient
    return total
