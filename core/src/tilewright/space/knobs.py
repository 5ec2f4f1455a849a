"""The builder that declares knobs, under AutoTVM's names."""

# ruff: noqa: A002  `filter` is AutoTVM's word
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from tilewright.canonical import freeze
from tilewright.errors import UsageError
from tilewright.space.alternative import Alternative
from tilewright.space.entities.knob_values import KnobKind, KnobValues
from tilewright.space.entities.split import (
    NO_LIMIT,
    SplitPolicy,
    candidate_entities,
    split_entities,
)
from tilewright.space.feasible.constraint import Expression, Knob, holds


class Knobs:
    """Declares the knobs of one alternative, named `STRATEGY` or `STRATEGY/VARIANT`.

    >>> knobs = Knobs("direct")
    >>> tile = knobs.define_split("tile_ow", 56, num_outputs=2)
    >>> vectors = knobs.define_knob("vectors", [1, 2, 4])
    >>> knobs.constrain(tile[-1] * vectors <= 28)
    >>> alternative = knobs.alternative()

    Every `define_` returns the knob as an expression for constraints. `filter`, an expression over
    the one knob, takes entities away before they are counted; `constrain` leaves the count and
    makes points infeasible.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._knobs: dict[str, KnobValues] = {}
        self._constraints: list[Expression] = []

    def define_split(
        self,
        name: str,
        length: int,
        *,
        num_outputs: int,
        policy: SplitPolicy = "factors",
        max_factor: int = NO_LIMIT,
        no_tail: bool | None = None,
        candidate: Sequence[Sequence[int]] = (),
        filter: Expression | None = None,
    ) -> Knob:
        """Cut a loop in `num_outputs`; an entity is the complete factorisation, outermost first."""
        if length < 1 or num_outputs < 1:
            raise UsageError(
                f"{self.name}: split {name!r} of {length} into {num_outputs}",
                remedy="both are at least 1",
            )
        if policy == "candidate":
            entities = candidate_entities(length, num_outputs, candidate)
        else:
            entities = split_entities(length, num_outputs, policy, max_factor, no_tail)
        return self.define_entities(name, "split", entities, filter)

    def define_knob(
        self, name: str, candidates: Iterable[Any], *, filter: Expression | None = None
    ) -> Knob:
        """Choose one of these values: numbers, texts, truth values, None, or lists of them."""
        return self.define_entities(
            name, "other", tuple(freeze(value) for value in candidates), filter
        )

    def define_entities(
        self,
        name: str,
        kind: KnobKind,
        entities: tuple[Any, ...],
        filter: Expression | None = None,
    ) -> Knob:
        """Choose one of these entities of a kind: what every other `define_` comes to."""
        if name in self._knobs:
            raise UsageError(f"{self.name}: knob {name!r} is declared twice", remedy="rename one")
        if filter is not None:
            if filter.knobs() != {name}:
                raise UsageError(
                    f"{self.name}: the filter of knob {name!r} reads {sorted(filter.knobs())}",
                    remedy="a filter reads its own knob; use constrain() for several",
                )
            entities = tuple(value for value in entities if holds(filter, {name: value}))
        self._knobs[name] = KnobValues(name, kind, entities)
        return Knob(name)

    def constrain(self, constraint: Expression) -> None:
        """Make every point infeasible at which the constraint does not hold."""
        self._constraints.append(constraint)

    @property
    def names(self) -> Set[str]:
        """Of the knobs declared so far."""
        return self._knobs.keys()

    def include(self, other: Knobs, names: Mapping[str, str]) -> None:
        """Declare another's knobs here, too, some under other names, with what constrains them."""
        for knob in other._knobs.values():
            name = names.get(knob.name, knob.name)
            self.define_entities(name, knob.kind, knob.values)
        self._constraints += [constraint.renamed(names) for constraint in other._constraints]

    def alternative(self) -> Alternative:
        """The product of the knobs declared so far, under the constraints.

        Raises UsageError for a constraint that reads no knob, or one that was not declared.
        """
        return Alternative(self.name, tuple(self._knobs.values()), tuple(self._constraints))
