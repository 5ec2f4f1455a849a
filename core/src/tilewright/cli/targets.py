"""`tilewright targets`: kinds of target and the devices of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tilewright.cli import shared_options as shared


@click.command()
@shared.plugin_files
@shared.as_json
def targets(plugin: tuple[Path, ...], as_json: bool) -> None:
    """List kinds of target with the devices of each on this machine."""
    from tilewright.extras import how_to_install_any

    host = shared.load_host(plugin)
    rows: list[dict[str, Any]] = [
        {
            "kind": kind,
            "summary": component.summary,
            "devices": [device.to_json() for device in host.backend(kind).probe()],
        }
        for kind, component in host.components("target").items()
    ]
    if as_json:
        shared.print_json({"targets": rows})
        return
    if not rows:
        shared.say(f"no target is installed: {how_to_install_any()}", err=True)
    for row in rows:
        shared.say(f"{row['kind']}: {row['summary']}")
        for device in row["devices"]:
            shown = ", ".join(f"{k}={v}" for k, v in device["attributes"].items())
            shared.say(f"  {device['name']} ({device['fingerprint']}): {shown}")
        if not row["devices"]:
            shared.say("  no device on this machine")
