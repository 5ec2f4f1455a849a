"""The passes that come with tilewright-graph."""

from __future__ import annotations

from importlib import import_module

from tilewright_graph.passes.graph_pass import GraphPass, GraphPassEntry, Phase


def _entry(name: str, phase: Phase, *, after: bool = False, makes: str = "") -> GraphPassEntry:
    """The pass of a name, in the file of that name in the folder of its phase."""

    def load() -> GraphPass:
        module = import_module(f"tilewright_graph.passes.{phase.name.lower()}.{name}")
        found: GraphPass = getattr(module, name)
        return found

    return GraphPassEntry(name, phase, load, after, makes)


BUILTIN_PASSES = (
    _entry("drop_identities", Phase.CANONICAL),
    _entry("decompose_batch_norm", Phase.CANONICAL),
    _entry("flatten_products", Phase.CANONICAL),
    _entry("global_pooling", Phase.CANONICAL),
    _entry("join_attention", Phase.CANONICAL, makes="attention"),
    _entry("known_functions", Phase.CANONICAL),
    _entry("split_joins", Phase.CANONICAL),
    # in front of what is folded into weights, an average would keep factors from them
    _entry("exchange_averages", Phase.FOLD, after=True),
    _entry("fold_constants", Phase.FOLD),
    _entry("fold_affine", Phase.FOLD),
    _entry("merge_constants", Phase.FOLD),
    _entry("merge_nodes", Phase.FOLD),
    _entry("remove_dead", Phase.FOLD),
)
