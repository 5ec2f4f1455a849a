"""Sizes given to the dimensions that a model names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.errors import UsageError, did_you_mean
from tilewright_graph.frontends.frontend import Frontend, NamesDimensions
from tilewright_graph.ranges.size_range import SizeRange


@dataclass(frozen=True)
class NamedDimensions:
    """The sizes that a caller gives, and the inputs that have such dimensions."""

    sizes: Mapping[str, SizeRange]
    inputs: Mapping[str, Sequence[int | str]]

    @classmethod
    def of(
        cls,
        frontend: Frontend,
        frontend_name: str,
        model: Any,
        sizes: Mapping[str, SizeRange],
        shapes: Mapping[str, Sequence[int]],
    ) -> NamedDimensions:
        """Raises UsageError for names that the model does not have.

        `shapes` says the sizes of other inputs.
        """
        where = f"{model}: dims" if isinstance(model, str) else "dims"
        if not isinstance(frontend, NamesDimensions):
            raise UsageError(
                f"models that {frontend_name!r} reads name no dimensions",
                where=where,
                remedy="export the model to ONNX with a dynamic axis",
            )
        told = frontend.named_dimensions(model)
        inputs = {name: dims for name, dims in told.items() if dims and name not in shapes}
        known = [dim for dims in inputs.values() for dim in dims if isinstance(dim, str)]
        for name in sizes:
            if name not in known:
                none = "all its dimensions have sizes: export it with a dynamic axis"
                given = [one for one in shapes if name in (told.get(one) or ())]
                if given:
                    none = f"leave out the shape of {given[0]!r}, which says its size"
                raise UsageError(
                    f"the model has no dimension named {name!r}",
                    where=where,
                    remedy=did_you_mean(name, sorted(set(known)), none=none),
                )
        return cls(sizes, inputs)

    @property
    def ranges(self) -> dict[str, SizeRange]:
        """Of the dimensions that have more than one size."""
        return {name: one for name, one in self.sizes.items() if one.is_range}

    def shapes(self, of_ranges: Mapping[str, int]) -> dict[str, list[int]]:
        """The shapes of those inputs all of whose dimensions are known then.

        of_ranges   a size of each dimension with a range
        """
        known = {**{name: one.most for name, one in self.sizes.items()}, **of_ranges}
        made = {
            name: [known.get(dim, -1) if isinstance(dim, str) else dim for dim in dims]
            for name, dims in self.inputs.items()
        }
        return {name: shape for name, shape in made.items() if min(shape) > 0}

    def axes(self, dimension: str) -> dict[str, tuple[int, ...]]:
        """The axes of a dimension, by input that has it."""
        found = {
            name: tuple(axis for axis, dim in enumerate(dims) if dim == dimension)
            for name, dims in self.inputs.items()
        }
        return {name: places for name, places in found.items() if places}
