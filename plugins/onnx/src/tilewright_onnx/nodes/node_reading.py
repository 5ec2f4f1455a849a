"""The nodes of a model, one after the other: checked, then evaluated, read, or taken apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.errors import UsageError
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_onnx.model.branch import is_decided, taken_branch
from tilewright_onnx.model.definition import definition_of, has_definition
from tilewright_onnx.model.model_check import node_name
from tilewright_onnx.model.node_check import DOMAINS_OF_ONNX, TensorType, check_node
from tilewright_onnx.model.node_site import NodeSite
from tilewright_onnx.model.reading_budget import ReadingBudget
from tilewright_onnx.nodes.folding import Folding
from tilewright_onnx.nodes.operators import READERS
from tilewright_onnx.nodes.own_domains import RUNTIMES_OWN, OwnDomains, is_own, operator_name
from tilewright_onnx.onnx_reader import OnnxReader

_RANDOM = (
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
    "RandomUniformLike",
)  # fmt: skip

_OF_ANY_NUMBER = ("Compress", "NonZero", "Unique")

_MOST_TOLD = 8
"""Of the nodes of one operator, and of the problems of others."""


class _NoReaderError(Exception):
    """Nothing reads such nodes: the operator with its domain, and what to do."""


class NodeReading:
    """Emits nodes to a builder.

    known        values of tensors that do not depend on the network's inputs; grows
    opsets       version of the operator set of each domain
    outputs      what the network is to give
    model_bytes  how large the model is, its weights included
    readers      plugins' own, by `DOMAIN.OPERATOR`
    """

    def __init__(
        self,
        builder: NetworkBuilder,
        known: dict[str, Any],
        opsets: Mapping[str, int],
        outputs: Sequence[str],
        model_bytes: int,
        *,
        readers: Mapping[str, OnnxReader],
    ) -> None:
        self._builder = builder
        self._known = known
        self._opsets = opsets
        self._outputs = outputs
        self._copies = dict.fromkeys(outputs, "")
        self._budget = ReadingBudget(model_bytes)
        self._folding = Folding()
        self._own = OwnDomains(builder, readers)

    def read_all(self, nodes: Sequence[Any]) -> None:
        """All of them in order. Raises one UsageError for all that cannot be read."""
        used = set(self._outputs).union(*(node.input for node in nodes))
        unread: dict[tuple[str, str], list[str]] = defaultdict(list)
        others: list[UsageError] = []
        lost: set[str] = set()
        taken: set[str] = set()
        for index, node in enumerate(nodes):
            name = node_name(node, index)
            while name in taken:  # what a node is made of is named after it
                name = f"{name}_{index}"
            taken.add(name)
            site = self._site(node, name, self._opsets)
            try:
                if lost.isdisjoint(node.input):
                    self._read_one(node, site, used)
                    continue
                self._expect_reader(node, site)
            except _NoReaderError as error:
                operator, remedy = error.args
                if operator != (own := _operator(node)):
                    operator = f"{own}, which is made of {operator}"
                unread[operator, remedy].append(name)
            except UsageError as error:
                others.append(error)
            lost.update(node.output)
        if unread or others:
            raise UsageError.several([*self._no_reader(unread), *others[:_MOST_TOLD]])

    def _no_reader(self, unread: Mapping[tuple[str, str], Sequence[str]]) -> list[UsageError]:
        """One error for all operators without a reader, with counts and nodes."""
        if not unread:
            return []
        where = self._builder.name
        remedy = next(iter(unread))[1]
        if len(unread) == 1 and len(names := next(iter(unread.values()))) == 1:
            ((operator, _),) = unread
            problem = f"no reader for the ONNX operator {operator!r}"
            return [UsageError(problem, where=f"{where}: node {names[0]!r}", remedy=remedy)]
        told = []
        for (operator, _), names in unread.items():
            more = f" and {len(names) - _MOST_TOLD} more" if len(names) > _MOST_TOLD else ""
            listed = ", ".join(map(repr, names[:_MOST_TOLD]))
            told.append(f"{operator} ({len(names)}: {listed}{more})")
        problem = f"no reader for {len(unread)} ONNX operators: {'; '.join(told)}"
        return [UsageError(problem, where=where, remedy=remedy)]

    def _read_one(self, node: Any, site: NodeSite, used: set[str]) -> None:
        """Read one node; errors in reading it name the node."""
        try:
            inferred = self._read(node, site)
        except (UsageError, _NoReaderError):
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".rstrip(": ")
            raise site.error(
                f"{node.op_type} as it stands here is not read ({reason})",
                "if ONNX Runtime runs the model, report it: a check is missing",
            ) from error
        for place, output in enumerate(node.output):
            if not output or output not in used:
                continue
            made = self._known.get(output, self._builder.specs.get(output))
            if made is None:
                raise site.error(f"output {place} ({output!r}) of {node.op_type} is not supported")
            told = inferred.get(output, TensorType("", None))
            if told.shape not in (None, made.shape):
                raise site.error(
                    f"{node.op_type} makes {list(told.shape)} by ONNX, {list(made.shape)} as read"
                )
            if told.dtype not in ("", str(made.dtype)):
                raise site.error(f"{node.op_type} makes {told.dtype} by ONNX, {made.dtype} as read")

    def _read(self, node: Any, site: NodeSite) -> dict[str, TensorType]:
        """Emit a node, or evaluate it where nothing it reads depends on the inputs."""
        self._expect_reader(node, site)
        self._expect_all_rows(node, site)
        own = self._own.reader(node)
        if own is not None:
            own(site)
            return {}
        specs, known = self._builder.specs, self._known
        if is_decided(node, known):
            parts, constants = taken_branch(node, site, known)
            known.update(constants)
            self._read_parts(parts, site, site.opsets)
            return {}
        inferred = check_node(node, site, specs, known)
        if node.op_type == "Shape" and node.input[0] in specs:
            known[node.output[0]] = _shape_value(node, specs[node.input[0]].shape)
        elif (nothing := _without_elements(node, inferred)) is not None:
            known.update(nothing)
        elif self._folding.applies(node, site, known):
            known.update(self._folding.results(node, site, known, inferred))
        elif node.domain in DOMAINS_OF_ONNX and node.op_type in READERS:
            READERS[node.op_type](site)
        else:
            parts, opsets = definition_of(node, site, specs, known)
            if not parts:
                raise self._without_reader(node)
            self._read_parts(parts, site, opsets)
        return inferred

    def _read_parts(self, parts: Sequence[Any], site: NodeSite, opsets: Mapping[str, int]) -> None:
        for number, part in enumerate(parts):
            name = f"{site.name}/{part.op_type}_{number}"
            self._read(part, self._site(part, name, opsets))

    def _site(self, node: Any, name: str, opsets: Mapping[str, int]) -> NodeSite:
        shared = self._builder, self._known, opsets
        return NodeSite(node, name, *shared, copies=self._copies, budget=self._budget)

    def _expect_all_rows(self, node: Any, site: NodeSite) -> None:
        """Raise an error for a node that reads as many rows as values decide."""
        for name in node.input:
            producer = self._builder.producer(name)
            if producer and self._builder.operators[producer.operator].counted:
                raise site.error(
                    f"{node.op_type} reads {name!r}, of which values decide how many rows it has, "
                    "and here every shape is fixed",
                    f"end the model at {name!r}, and do outside what comes behind it",
                )

    def _expect_reader(self, node: Any, site: NodeSite) -> None:
        """Raise an error for a node that cannot be read with any operands."""
        if node.domain in DOMAINS_OF_ONNX and node.op_type in _RANDOM:
            raise site.error(
                f"{node.op_type} draws other values in every run", "make them an input"
            )
        is_onnx = node.domain in DOMAINS_OF_ONNX
        if is_onnx and (node.op_type in READERS or node.op_type in ("Shape", "Constant")):
            return
        if self._own.reader(node) is not None:
            return
        if self._folding.applies(node, site, self._known) or has_definition(node, site.opsets):
            return
        if is_decided(node, self._known):
            return
        raise self._without_reader(node)

    def _without_reader(self, node: Any) -> _NoReaderError:
        remedy = "the README of tilewright-onnx lists the operators that are read"
        if is_own(node):
            remedy = (
                f"a plugin may offer an operator named '{operator_name(node.op_type)}' "
                f"(tilewright_operators), or a reader '{_operator(node)}' (tilewright_onnx_readers)"
                "; --plugin FILE loads one that is a file"
            )
        if _operator(node) in _OF_ANY_NUMBER:
            remedy = (
                "values decide how many results it has, and here every shape is fixed: "
                "end the model at the tensors that it reads"
            )
        if node.domain.startswith(RUNTIMES_OWN):
            remedy = "ONNX Runtime made it: give the model as it was, or optimised at level `basic`"
        return _NoReaderError(_operator(node), remedy)


def _without_elements(node: Any, inferred: Mapping[str, TensorType]) -> dict[str, Any] | None:
    """The outputs of a node of which none has an element; None where one has, or may have."""
    types = {output: inferred.get(output, TensorType("", None)) for output in node.output if output}
    if any(not one.dtype or one.shape is None or 0 not in one.shape for one in types.values()):
        return None
    return {output: np.zeros(one.shape or (), one.dtype) for output, one in types.items()}


def _operator(node: Any) -> str:
    """With its domain, where it is not ONNX's own."""
    return ".".join(filter(None, (node.domain, node.op_type)))


def _shape_value(node: Any, shape: tuple[int, ...]) -> Any:
    limits = {attribute.name: attribute.i for attribute in node.attribute}
    return np.array(shape[limits.get("start", 0) : limits.get("end", len(shape))], np.int64)
