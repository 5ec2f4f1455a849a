"""Nodes of domains that are not ONNX's, such as a user's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tilewright_graph.network.builder import NetworkBuilder
from tilewright_onnx.model.node_check import DOMAINS_OF_ONNX
from tilewright_onnx.model.node_site import NodeSite
from tilewright_onnx.onnx_reader import OnnxReader

RUNTIMES_OWN = "com.microsoft"
"""Domains of what ONNX Runtime puts into models that it optimises begin so."""

_THEIRS = ("ai.onnx", RUNTIMES_OWN)


class OwnDomains:
    """Reads the nodes of other domains: by a plugin's reader, else as an operator of that name.

    builder   of the network, which knows the operators that there are
    readers   by `DOMAIN.OPERATOR`
    """

    def __init__(self, builder: NetworkBuilder, readers: Mapping[str, OnnxReader]) -> None:
        self._operators = builder.operators
        self._built_in = NetworkBuilder("").operators
        self._readers = readers

    def reader(self, node: Any) -> Callable[[NodeSite], None] | None:
        """The function that reads the node; None where nothing does."""
        reader = self._readers.get(f"{node.domain}.{node.op_type}")
        if reader is not None:
            return reader.load()
        operator = self._operator(node) if is_own(node) else None
        return None if operator is None else _Applied(operator)

    def _operator(self, node: Any) -> str | None:
        """The operator of the node's name, of the owner that its domain names where there is one.

        No built-in one: `Relu` of another domain may be another operator.
        """
        for name in (node.op_type, operator_name(node.op_type)):
            for called in (f"{node.domain}/{name}", name):
                if called in self._operators and called not in self._built_in:
                    return called
        return None


def is_own(node: Any) -> bool:
    """Whether the node's domain is a user's: neither ONNX's nor ONNX Runtime's."""
    return node.domain not in DOMAINS_OF_ONNX and not node.domain.startswith(_THEIRS)


def operator_name(op_type: str) -> str:
    """What an operator is called that is `RoiAlign` in ONNX: `roi_align`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", op_type).lower()


@dataclass(frozen=True, slots=True)
class _Applied:
    """Applies an operator to all operands, with the node's attributes by name."""

    operator: str

    def __call__(self, site: NodeSite) -> None:
        operands = [site.tensor(position) for position in range(len(site.inputs))]
        site.finish(self.operator, *operands, **site.attributes)
