"""Sums in which a quotient and its remainder stand side by side, made whole again."""

from __future__ import annotations

from tilewright_tensor.expressions.affine import Affine, Element, FloorDiv, Mod, Var, mod


def simplify_div_mod(value: Affine) -> Affine:
    """The same index with its divided parts joined again.

    `(v // d)*d + v % d` is `v`, and `(v // d % e)*d + v % d` is `v % (d*e)`.
    """
    if len(value.terms) < 2:
        return value
    for atom, _ in value.terms:
        if isinstance(atom, Mod):
            break
    else:
        return value
    remainders = [coefficient for atom, coefficient in value.terms if isinstance(atom, Mod)]
    for atom, coefficient in value.terms:
        if isinstance(atom, Var | Element):
            continue
        inner = _quotient(atom)
        if inner is None or coefficient % inner.divisor:
            continue
        scale = coefficient // inner.divisor
        if all(one % scale for one in remainders):
            continue
        rest = mod(inner.value, inner.divisor)
        found = [(a, c * scale) for a, c in rest.terms]
        if not rest.constant and len(found) == 1 and found[0] in value.terms:
            others = tuple(term for term in value.terms if term[0] not in (atom, found[0][0]))
            whole = inner.value
            if isinstance(atom, Mod):
                whole = mod(whole, inner.divisor * atom.divisor)
            return simplify_div_mod(Affine(others, value.constant) + whole * scale)
    return value


def _quotient(atom: FloorDiv | Mod) -> FloorDiv | None:
    """The `v // d` that is the atom, or of which it is the remainder."""
    if isinstance(atom, FloorDiv):
        return atom
    if len(atom.value.terms) == 1 and not atom.value.constant:
        ((inner, coefficient),) = atom.value.terms
        if isinstance(inner, FloorDiv) and coefficient == 1:
            return inner
    return None
