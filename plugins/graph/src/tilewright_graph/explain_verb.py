"""`tilewright explain FILE.yaml|MODEL [NODE]`: why a node has the layouts it has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tilewright.cli import shared_options as shared
from tilewright.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from tilewright.pipeline.pipeline import Pipeline
    from tilewright.roles import RunContext
    from tilewright_graph.explanation import Explanation
    from tilewright_graph.extraction import ExtractedNetwork


@click.command()
@click.argument("source", metavar="FILE.yaml|MODEL")
@click.argument("node", required=False)
@click.option("--out", type=click.Path(path_type=Path), help="The run's folder.  [runs/NAME]")
@click.option("--target", help="In place of the file's target.")
@shared.device
@shared.settings
@shared.plugin_files
@shared.as_json
def explain(
    *,
    source: str,
    node: str | None,
    out: Path | None,
    target: str | None,
    device: str | None,
    settings: tuple[str, ...],
    plugin: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Say why a node has the layouts it has, from the records; nothing is measured.

    NODE is a node's name or key, or the key of a task, for all its nodes. Without it, every node
    that is not at its own best is explained.
    """
    from tilewright.cli.stage_verbs import pipeline_of
    from tilewright.pipeline import Pipeline

    pipeline = Pipeline.load(
        pipeline_of(source, "graph-tune"),
        settings=settings,
        plugins=plugin,
        target=target,
        only="extract",
    )
    context = pipeline.context(out=out, device=device)
    networks = _networks(pipeline, context)
    found = [explained for network in networks for explained in _explain(network, node, context)]
    if node is not None and not found:
        kernels = [kernel.name for network in networks for kernel in network.kernels]
        raise UsageError(
            f"no node and no task is named {node!r}",
            where=source,
            remedy=did_you_mean(node, kernels),
        )
    if as_json:
        shared.print_json({"nodes": [explanation.to_json() for explanation in found]})
        return
    for explanation in found:
        click.echo("\n".join(explanation.lines()))
    if not found:
        click.echo("every node is at its own best")


def _networks(pipeline: Pipeline, context: RunContext) -> list[ExtractedNetwork]:
    """The networks of a pipeline, by the stages that lead to them; creates nothing."""
    from tilewright.pipeline.values import RunValues
    from tilewright_graph.extraction import ExtractedNetwork

    values = RunValues()
    for stage in pipeline.plan.stages:
        values.run(stage, context)
    found = [own.find(ExtractedNetwork) for own in (values, *values.branches.values())]
    return [network for network in found if network is not None]


def _explain(
    network: ExtractedNetwork, name: str | None, context: RunContext
) -> Iterator[Explanation]:
    from tilewright_graph.explanation import Explainer

    explainer = Explainer(network, context)
    for kernel in network.kernels:
        if name in (kernel.name, kernel.key, kernel.task.workload.key):
            yield explainer.explain(kernel)
        elif name is None:
            explanation = explainer.explain(kernel)
            if explanation.chosen != explanation.best:
                yield explanation
