"""What a plugin registers to read the nodes of an operator that ONNX does not have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright_onnx.model.node_site import NodeSite


@dataclass(frozen=True, slots=True)
class OnnxReader:
    """Reads the nodes of one operator of a domain that is not ONNX's.

    >>> OnnxReader("mine.Distances", lambda: read_distances)

    name   domain and operator, as `DOMAIN.OPERATOR`
    load   imports and returns the function, which is called with the `NodeSite` of each such node
           and gives every output of the node to the network; it raises `site.error(...)` for a node
           that it cannot read
    """

    name: str
    load: Callable[[], Callable[[NodeSite], None]]
