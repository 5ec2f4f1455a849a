"""What won inside the network, kept as the choice for it."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.record import WonInNetwork
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.selection.dispatching import Dispatched
from tilewright_graph.selection.kept_choice import keep_choice
from tilewright_pipeline.context.run_context import RunContext


def keep_winners(
    extracted: ExtractedNetwork,
    dispatched: Dispatched,
    winners: Mapping[str, ConfigEntity],
    context: RunContext,
) -> None:
    """Keep all nodes as they were dispatched, but for the winners, which say what they won over.

    That is what was chosen by the kernels' own times, whatever won over it before.
    """
    configs = dispatched.configs
    held = context.store.graph_choices(context.device.fingerprint, context.host.revisions)
    known = {key: one for key, one in held.items() if one.config == configs.get(key)}
    won = {key: choice.won for key, choice in known.items() if choice.won is not None}
    bounds = {key: choice.bound for key, choice in known.items() if choice.bound is not None}
    free = [kernel for kernel in extracted.kernels if kernel.key not in dispatched.entered]
    for kernel in free:
        if kernel.key in winners:
            won.pop(kernel.key, None)
            before = known.get(kernel.key)
            over = configs[kernel.key] if before is None else before.by_own_times
            configs[kernel.key] = winner = winners[kernel.key]
            if winner != over:
                won[kernel.key] = WonInNetwork(extracted.name, kernel.name, over)
    keep_choice(free, configs, context, bounds, won)
