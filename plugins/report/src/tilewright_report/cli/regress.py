"""`tilewright bench regress --against OLD [NEW]`: whether a network became slower."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tilewright_cli.terminal import shared_options as shared
from tilewright_pipeline.context.exit_codes import DONE, FAILED, PARTIAL
from tilewright_pipeline.context.time_text import time_text

if TYPE_CHECKING:
    from tilewright_report.data.regressions import NetworkChange


@click.command()
@click.argument("new", metavar="[NEW]", required=False, type=shared.NAMED_PATH)
@click.option("--against", "old", required=True, type=shared.NAMED_PATH, help="The run before.")
@click.option(
    "--least",
    type=click.FloatRange(0.0, 1.0),
    default=0.02,
    show_default=True,
    help="Changes by a smaller share are none.",
)
@click.option("--peer", help="Measure both by this peer, which was timed in turns with them.")
@shared.as_json
def regress(*, new: Path | None, old: Path, least: float, peer: str | None, as_json: bool) -> int:
    """Say whether a network of the run NEW is slower than in another run.

    NEW and OLD are folders of runs with the stage `benchmark`; without NEW it is the latest run
    beside OLD. Exits with 1 where a network became slower by more than noise, with 3 where there
    are too few samples to tell, and where NEW has not timed a network that OLD has.
    """
    from tilewright_report.data.regressions import latest_beside, network_changes

    new = new or latest_beside(old)
    found = network_changes(old, new, least, peer)
    if as_json:
        networks = [asdict(change) for change in found]
        shared.print_json({"new": str(new), "networks": networks, "peer": peer})
    for change in () if as_json else found:
        shared.say(_line(change, peer))
    verdicts = {change.verdict for change in found}
    if "slower" in verdicts:
        return FAILED
    return PARTIAL if verdicts & {"too few samples", "not timed"} else DONE


def _line(change: NetworkChange, peer: str | None) -> str:
    from tilewright_report.sections.latency import p_text

    def told(time: float) -> str:
        return time_text(time / 1e3) if peer is None else f"{time:.3f} of {peer}"

    begin = f"{change.network}: {told(change.before)}"
    if change.after is None:
        return f"{begin}, {change.verdict} by the new run"
    ratio = f", {change.after / change.before:.3f} times" if change.before else ""
    became = f"{begin} became {told(change.after)}{ratio}"
    return f"{became}, p {p_text(change.p)}: {change.verdict}"
