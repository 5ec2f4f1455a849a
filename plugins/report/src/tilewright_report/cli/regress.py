"""`tilewright bench regress --against OLD [NEW]`: whether a network became slower."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from tilewright_cli.terminal import shared_options as shared
from tilewright_pipeline.context.exit_codes import DONE, FAILED, PARTIAL
from tilewright_pipeline.context.time_text import time_text


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
    beside OLD. Exits with 1 where a network became
    slower by more than noise, with 3 where there are too few samples to tell.
    """
    from tilewright_report.data.regressions import latest_beside, network_changes
    from tilewright_report.sections.latency import p_text

    new = new or latest_beside(old)
    found = network_changes(old, new, least, peer)
    if as_json:
        networks = [asdict(change) for change in found]
        shared.print_json({"new": str(new), "networks": networks, "peer": peer})
    for change in () if as_json else found:
        times = [
            time_text(one / 1e3) if peer is None else f"{one:.3f} of {peer}"
            for one in (change.before, change.after)
        ]
        ratio = f", {change.after / change.before:.3f} times" if change.before else ""
        shared.say(
            f"{change.network}: {times[0]} became {times[1]}{ratio}, p {p_text(change.p)}: "
            f"{change.verdict}"
        )
    verdicts = {change.verdict for change in found}
    if "slower" in verdicts:
        return FAILED
    return PARTIAL if "too few samples" in verdicts else DONE
