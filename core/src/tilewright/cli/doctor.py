"""`tilewright doctor`: whether this installation can do the job."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tilewright.cli import shared_options as shared
from tilewright.exit_codes import DONE, FAILED

if TYPE_CHECKING:
    from tilewright.host import PluginHost

_NEEDED = ("target", "strategy", "reference", "tuner", "scheduler", "builder", "runner", "stage")


@click.command()
@shared.plugin_files
@shared.as_json
def doctor(plugin: tuple[Path, ...], as_json: bool) -> int:
    """Check plugins, devices and folders, and say what is missing.

    Exit with 1 where something is wrong.
    """
    checks = list(_checks(plugin))
    if as_json:
        shared.print_json(
            {
                "checks": [
                    {"ok": ok, "what": what, "remedy": "" if ok else remedy}
                    for ok, what, remedy in checks
                ]
            }
        )
    else:
        for ok, what, remedy in checks:
            shared.say(f"{'ok  ' if ok else 'FAIL'} {what}{'' if ok else f': {remedy}'}")
    return DONE if all(ok for ok, _, _ in checks) else FAILED


def _checks(files: tuple[Path, ...]) -> list[tuple[bool, str, str]]:
    from tilewright.errors import UsageError

    version = platform.python_version()
    found = [(sys.version_info >= (3, 11), f"Python {version}", "install 3.11 or newer")]
    host = shared.load_host(files)
    for loaded in host.plugins:
        ok = loaded.state in ("ok", "blocked")
        found.append((ok, f"plugin {loaded.name} is {loaded.state}", "; ".join(loaded.reasons)))
    for role in (*_NEEDED, *(role for role in host.roles() if role not in _NEEDED)):
        try:
            found += _components(host, role)
        except UsageError as error:
            found.append((False, f"role {role}", f"{error.message}; {error.remedy}"))
        except (Exception, SystemExit) as error:  # noqa: BLE001  whatever a plugin raises
            problem = f"role {role}: {type(error).__name__}: {error}"
            found.append((False, problem, "`tilewright plugins` says whose that is"))
    return [*found, *_targets(host), *_surroundings()]


def _components(host: PluginHost, role: str) -> Iterator[tuple[bool, str, str]]:
    """How many there are of a role, if one is needed, and what they lack."""
    from tilewright.extras import how_to_install_any
    from tilewright.plugin import Component

    components = host.components(role)
    if role in _NEEDED:
        count = len(components)
        yield count > 0, f"{count} of role {role}", how_to_install_any()
    for name, component in components.items():
        if isinstance(component, Component) and (lack := component.lacks()):
            yield True, f"{role.replace('_', ' ')} {name}: {lack}", ""


def _targets(host: PluginHost) -> Iterator[tuple[bool, str, str]]:
    """What each target does here; what one of them raises costs no other."""
    from tilewright.errors import UsageError

    with suppress(UsageError):  # which is told of the role
        for kind, owner in host.owners("target").items():
            try:
                yield from _devices(host, kind)
            except (Exception, SystemExit) as error:  # noqa: BLE001  whatever a plugin raises
                problem = f"{kind}: {type(error).__name__}: {error}"
                yield False, problem, f"mend or uninstall {owner}"


def _devices(host: PluginHost, kind: str) -> Iterator[tuple[bool, str, str]]:
    """Each device by what it does: its peak is measured with code generated for it."""
    from tilewright.errors import UsageError
    from tilewright.roles import TellsItsParts
    from tilewright.target import Target

    backend = host.backend(kind)
    devices = backend.probe()
    if not devices:
        yield True, f"{kind}: no device on this machine", ""
    for device in devices:
        name = f"{kind}: {device.name} ({device.attributes.get('model', '?')})"
        try:
            flops, bandwidth = backend.measure_peak(device, Target(kind))
        except (UsageError, RuntimeError, OSError) as error:
            yield False, f"{name} runs no generated code", str(error)
            continue
        speed = f"{flops / 1e9:.0f} GFLOP/s, {bandwidth / 1e9:.0f} GB/s"
        if "cores" in device.attributes:
            speed += " with one thread"
        yield True, f"{name}: {speed}", ""
    if isinstance(backend, TellsItsParts):
        for what, which in backend.found().items():
            yield True, f"{kind}: {what} {which}", ""
        for what, why in backend.missing().items():
            yield True, f"{kind}: {what} is not there: {why}", ""


def _surroundings() -> Iterator[tuple[bool, str, str]]:
    """What else a run needs: a folder to write into, and a machine that is not busy."""
    here = Path.cwd()
    yield os.access(here, os.W_OK), f"folder {here} is writable", "run it in another one"
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    advice = "" if load < cores / 2 else ": busy, measured times will be noisy"
    yield True, f"{load:.1f} processes run on {cores} cores{advice}", ""
