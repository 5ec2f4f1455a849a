"""`tilewright plugins`: what is installed, from whom, in which state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tilewright.cli import shared_options as shared
from tilewright.errors import UsageError


@click.command()
@shared.plugin_files
@shared.as_json
@click.option("--check", is_flag=True, help="Exit with 1 where a plugin failed or clashes.")
def plugins(plugin: tuple[Path, ...], as_json: bool, check: bool) -> int:
    """List plugins with state, owner, version and what they offer."""
    host = shared.load_host(plugin)
    offers: dict[str, dict[str, list[str]]] = {}
    clashes = []
    for role in host.roles():
        try:
            for name, owner in host.owners(role).items():
                offers.setdefault(str(owner), {}).setdefault(role, []).append(name)
        except UsageError as error:
            clashes.append(str(error))
    rows: list[dict[str, Any]] = [
        {
            "name": found.name,
            "state": found.state,
            "distribution": found.owner.distribution,
            "version": found.owner.version,
            "module": found.owner.module,
            "load_ms": round(found.seconds * 1e3, 1),
            "reason": "; ".join(found.reasons),
            "offers": offers.get(str(found.owner), {}),
        }
        for found in host.plugins
    ]
    if as_json:
        shared.print_json({"plugins": rows, "clashes": clashes})
    else:
        for row in rows:
            click.echo(
                f"{row['name']:10} {row['state']:9} {row['distribution']} {row['version']} "
                f"({row['module']}) {row['load_ms']} ms"
            )
            if row["reason"]:
                click.echo(f"{'':10} {row['reason']}")
            for role, names in row["offers"].items():
                click.echo(f"{'':10} {role}: {', '.join(names)}")
        for text in clashes:
            click.echo(text, err=True)
    bad = clashes or any(row["state"] in ("failed", "conflict") for row in rows)
    return 1 if check and bad else 0
