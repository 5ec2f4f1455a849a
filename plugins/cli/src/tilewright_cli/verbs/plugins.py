"""`tilewright plugins`: what is installed, from which distribution, in which state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright_cli.terminal import shared_options as shared
from tilewright_pipeline.context.exit_codes import DONE, FAILED

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost


@click.command()
@shared.plugin_files
@shared.as_json
@click.option("--check", is_flag=True, help="Try what they offer; exit with 1 for a fault.")
@click.option("--hooks", "page", flag_value="hooks", help="Instead, the hooks there are.")
@click.option("--protocols", "page", flag_value="protocols", help="Instead, what each role offers.")
@click.option("--options", "page", flag_value="options", help="Instead, the options there are.")
def plugins(plugin: tuple[Path, ...], as_json: bool, check: bool, page: str | None) -> int:
    """List plugins with state, owner, version and what they offer."""
    host = shared.load_host(plugin)
    if page is not None:
        pages = {"hooks": _print_hooks, "protocols": _print_protocols, "options": _print_options}
        pages[page](host, as_json=as_json)
        return DONE
    offers: dict[str, dict[str, list[str]]] = {}
    clashes: list[str] = []
    for role in host.roles():
        clashes += map(str, host.catalogue(role).clashes())
        for name, owner in host.owners(role).items():
            offers.setdefault(str(owner), {}).setdefault(role, []).append(name)
    faults = _faults(host) if check else []
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
        shared.print_json({"plugins": rows, "clashes": clashes, "faults": faults})
    else:
        for row in rows:
            shared.say(
                f"{row['name']:10} {row['state']:9} {row['distribution']} {row['version']} "
                f"({row['module']}) {row['load_ms']} ms"
            )
            if row["reason"]:
                shared.say(f"{'':10} {row['reason']}")
            for role, names in row["offers"].items():
                shared.say(f"{'':10} {role}: {', '.join(names)}")
        for text in (*clashes, *faults):
            shared.say(text, err=True)
    bad = clashes or faults or any(row["state"] in ("failed", "conflict") for row in rows)
    return FAILED if check and bad else DONE


def _faults(host: PluginHost) -> list[str]:
    from tilewright_cli.reference.plugin_faults import plugin_faults

    return list(plugin_faults(host))


def _print_hooks(host: PluginHost, *, as_json: bool) -> None:
    from tilewright_cli.reference.hook_specification import hook_specifications, hooks_page

    if as_json:
        shared.print_json({"hooks": [hook.to_json() for hook in hook_specifications(host)]})
    else:
        shared.say("\n".join(hooks_page(host)))


def _print_protocols(host: PluginHost, *, as_json: bool) -> None:
    from tilewright_cli.reference.protocol_reference import protocols_page, role_references, to_json

    if as_json:
        shared.print_json({"protocols": [to_json(one) for one in role_references(host)]})
    else:
        shared.say("\n".join(protocols_page(host)))


def _print_options(host: PluginHost, *, as_json: bool) -> None:
    from tilewright_cli.reference.option_reference import option_references, options_page

    if as_json:
        shared.print_json({"options": [one.to_json() for one in option_references(host)]})
    else:
        shared.say("\n".join(options_page(host)))
