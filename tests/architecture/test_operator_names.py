"""What operators are is said by traits of their definitions: no list of names remains in graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from tilewright_tensor.operators.operators import builtin_operators

REWRITTEN = {
    "decompose_batch_norm.py": {"batch_norm"},
    "exchange_averages.py": {"avg_pool2d", "conv2d"},
    "flatten_products.py": {"matmul"},
    "global_pooling.py": {"avg_pool2d"},
    "join_attention.py": {"matmul", "softmax", "where", "add", "multiply", "divide", "transpose"},
}
"""The operators that a pass is about; that is no fact about others."""

MODELS = "/zoo/"
"""Networks are written in operators."""


def _names(node: ast.AST) -> list[str]:
    """Operators that a collection lists, or a comparison or match names."""
    listed: Sequence[ast.AST | None] = ()
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        listed = node.elts
    elif isinstance(node, ast.Dict):
        listed = node.keys
    elif isinstance(node, ast.Compare):
        listed = (node.left, *node.comparators)
    elif isinstance(node, ast.MatchValue):
        listed = (node.value,)
    return [
        one.value
        for one in listed
        if isinstance(one, ast.Constant)
        and isinstance(one.value, str)
        and one.value in builtin_operators()
    ]


def _offenders(source: Any) -> Iterator[str]:
    allowed = REWRITTEN.get(source.path.name, set())
    for node in ast.walk(source.tree):
        if names := set(_names(node)) - allowed:
            yield f"{source.place}:{getattr(node, 'lineno', 0)}: {', '.join(sorted(names))}"


def test_no_list_of_operators_stands_for_a_trait(sources: Sequence[Any]) -> None:
    graph = [one for one in sources if one.distribution == "graph" and MODELS not in one.place]
    assert [found for source in graph for found in _offenders(source)] == []


def test_a_list_or_a_comparison_would_be_found() -> None:
    tree = ast.parse("LINEAR = ('conv2d', 'dense')\nif operator == 'conv3d': pass")
    assert [name for node in ast.walk(tree) for name in _names(node)] == [
        "conv2d",
        "dense",
        "conv3d",
    ]
