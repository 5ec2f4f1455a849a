"""The rows of a network's dimensions inside it, of which a run may leave out the last.

Rows that a mask fills are read by others, so they are always computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilewright.vocabulary.workload import TensorSpec
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.ranges.dimensions import Dimensions, Sizes
from tilewright_graph.ranges.rows import RowsMeetError, prove_rows
from tilewright_graph.ranges.stage_rows import Rows
from tilewright_tensor.ir.loop_ir import OutputRows
from tilewright_tensor.layouts.layout import Layout


@dataclass(frozen=True)
class InnerRows:
    """Where they lie in tensors, by the number of the dimension: given ones need no others.

    sizes   of each dimension
    """

    sizes: Sizes
    rows: Mapping[int, Mapping[str, Rows]]
    specs: Mapping[str, TensorSpec]

    @classmethod
    def of(
        cls, extracted: ExtractedNetwork, dimensions: Dimensions, sizes: Sizes
    ) -> InnerRows | None:
        """Those of dimensions of two rows or more that may be padded; None where there are none.

        The proof is that of the network as the graph passes left it.
        """
        network, found = extracted.network, {}
        for place, (one, count) in enumerate(zip(dimensions.each, sizes, strict=True)):
            if one.padded and count > 1:
                given = {name: one.rows[name] for name in network.asked if name in one.rows}
                masks = {name: (Rows(0),) for name in network.masks if name == one.mask}
                tails = {name: {0: 0.0} for name in masks}
                try:
                    proof = prove_rows(network, given | masks, count, extracted.operators, tails)
                except RowsMeetError:
                    continue
                if not proof.masks:
                    left_out = {
                        name: [lie for lie in rows if lie.axis not in proof.tails.get(name, {})]
                        for name, rows in proof.rows.items()
                    }
                    found[place] = {name: rows[0] for name, rows in left_out.items() if rows}
        return cls(sizes, found, network.specs) if found else None

    def in_output(self, tensor: str, layout: str) -> tuple[OutputRows, ...]:
        """Where they lie in a tensor that is written in a layout, of those that lie in order."""
        return tuple(self._in_order(tensor, Layout.parse(layout)))

    def _in_order(self, tensor: str, layout: Layout) -> Iterator[OutputRows]:
        for dimension, of_tensors in self.rows.items():
            rows = of_tensors.get(tensor)
            if rows is None or layout.blocks[rows.axis] > 1:
                continue
            if self.specs[tensor].shape[rows.axis] == self.sizes[dimension] * rows.within:
                axis = next(at for at, one in enumerate(layout.dims) if one.axis == rows.axis)
                yield OutputRows(axis, rows.within, dimension)
