"""`tilewright targets`: kinds of target and the devices of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright_cli.terminal import shared_options as shared

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost


@click.command()
@shared.plugin_files
@shared.as_json
def targets(plugin: tuple[Path, ...], as_json: bool) -> None:
    """List kinds of target: the devices of each on this machine, and its tensor instructions."""
    from tilewright.plugins.loading.distributions import how_to_get, who_has_role

    host = shared.load_host(plugin)
    rows = [_row(host, kind) for kind in host.components("target")]
    if as_json:
        shared.print_json({"targets": rows})
        return
    if not rows:
        remedy = how_to_get(who_has_role("target")) or "`tilewright plugins` says what is blocked"
        shared.say(f"no target is installed: {remedy}", err=True)
    for row in rows:
        shared.say(f"{row['kind']}: {row['summary']}")
        for device in row["devices"]:
            shown = ", ".join(f"{k}={v}" for k, v in device["attributes"].items())
            shared.say(f"  {device['name']} ({device['fingerprint']}): {shown}")
        if instructions := row["tensor_instructions"]:
            listed = ", ".join(f"{one['name']} ({one['feature']})" for one in instructions)
            shared.say(f"  tensor instructions: {listed}")
        if row["problem"]:
            shared.say(f"  cannot say its devices: {row['problem']}")
        elif not row["devices"]:
            shared.say("  no device on this machine")


def _row(host: PluginHost, kind: str) -> dict[str, Any]:
    def probed() -> list[dict[str, Any]]:
        return [device.to_json() for device in host.backend(kind).probe()]

    devices, problem = host.tried("target", kind, "probe()", probed)
    summary = host.component("target", kind).summary
    offered: list[Any] = list(host.components("tensor_instruction").values())
    return {
        "kind": kind,
        "summary": summary,
        "devices": devices or [],
        "tensor_instructions": [
            {"name": x.name, "feature": x.feature} for x in offered if x.target == kind
        ],
        "problem": problem,
    }
