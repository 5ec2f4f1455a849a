"""`tilewright compile` and `bench network`: one stage, with what leads to it.

Nothing is tuned: what the records know is used, and fallback configs for the rest.
"""

from __future__ import annotations

from tilewright_cli.terminal.pipeline_verb import stage_verb


@stage_verb("compile", "compile")
def compile_network() -> None:
    """Compile a network with the best configs in the records."""


@stage_verb("bench-network", "benchmark")
def bench_network() -> None:
    """Compile a network and time it."""
