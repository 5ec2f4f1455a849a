"""`tilewright doctor`: checks what this installation can do."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from tilewright_cli.terminal import shared_options as shared
from tilewright_pipeline.context.exit_codes import DONE, FAILED

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost

_NEEDED = ("target", "strategy", "reference", "tuner", "scheduler", "builder", "runner", "stage")


@dataclass(frozen=True, slots=True)
class _Check:
    """One check: `ok`, `FAIL`, or `note` for something that is absent and not needed."""

    state: Literal["ok", "note", "FAIL"]
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        remedy = f": {self.remedy}" if self.remedy else ""
        return f"{self.state:4} {self.what}{remedy}"


def _check(ok: bool, what: str, remedy: str) -> _Check:
    return _Check("ok", what) if ok else _Check("FAIL", what, remedy)


@click.command()
@shared.plugin_files
@shared.as_json
def doctor(plugin: tuple[Path, ...], as_json: bool) -> int:
    """Check plugins, devices and folders, and say what is missing.

    Exit with 1 where something is wrong.
    """
    checks = list(_checks(plugin))
    if as_json:
        rows = [
            {"ok": found.state != "FAIL", "what": found.what, "remedy": found.remedy}
            for found in checks
        ]
        shared.print_json({"checks": rows})
    else:
        for found in checks:
            shared.say(found)
    return FAILED if any(found.state == "FAIL" for found in checks) else DONE


def _checks(files: tuple[Path, ...]) -> Iterator[_Check]:
    version = platform.python_version()
    yield _check(sys.version_info >= (3, 11), f"Python {version}", "install 3.11 or newer")
    host = shared.load_host(files)
    roles = (*_NEEDED, *(role for role in host.roles() if role not in _NEEDED))
    # Collected first: what a hook does wrong is its plugin's failure.
    components = [check for role in roles for check in _components(host, role)]
    targets = [check for kind in host.components("target") for check in _target(host, kind)]
    for loaded in host.plugins:
        ok = loaded.state in ("ok", "blocked")
        yield _check(ok, f"plugin {loaded.name} is {loaded.state}", "; ".join(loaded.reasons))
    yield from components
    yield from targets
    yield from _surroundings()


def _components(host: PluginHost, role: str) -> Iterator[_Check]:
    """The number of components of a role, what they lack, and which names clash."""
    from tilewright.plugins.loading.distributions import how_to_get, who_has_role
    from tilewright.plugins.offers import lack_of, word_of
    from tilewright.plugins.plugin import Component

    components = host.components(role)
    if role in _NEEDED:
        blocked = "what offers it is blocked: `tilewright plugins` lists that"
        remedy = how_to_get(who_has_role(role)) or blocked
        yield _check(len(components) > 0, f"{len(components)} of role {role}", remedy)
    for clash in host.catalogue(role).clashes():
        yield _Check("FAIL", clash.message, clash.remedy)
    for name, component in components.items():
        if not isinstance(component, Component):
            continue
        lack, problem = host.tried(role, name, "lacks()", partial(lack_of, component))
        if problem:
            yield _broken(host, role, name, f"{word_of(role)} {name}: {problem}")
        elif lack:
            yield _Check("note", f"{word_of(role)} {name}: {lack}")


def _target(host: PluginHost, kind: str) -> list[_Check]:
    """What a target does here; what it raises costs no other."""
    told: list[_Check] = []
    _, problem = host.tried("target", kind, "it", lambda: told.extend(_devices(host, kind)))
    return [*told, *([_broken(host, "target", kind, f"{kind}: {problem}")] if problem else [])]


def _broken(host: PluginHost, role: str, name: str, what: str) -> _Check:
    return _Check("FAIL", what, f"mend or uninstall {host.owner(role, name)}")


def _devices(host: PluginHost, kind: str) -> Iterator[_Check]:
    """Each device by what it does: its peak is measured with code generated for it."""
    from tilewright.errors import UsageError
    from tilewright.roles import MeasuresInstructions, TellsItsParts
    from tilewright.vocabulary.target import Target

    backend = host.backend(kind)
    devices = backend.probe()
    if not devices:
        yield _Check("note", f"{kind}: no device on this machine")
    for device in devices:
        name = f"{kind}: {device.name} ({device.attributes.get('model', '?')})"
        try:
            flops, bandwidth = backend.measure_peak(device, Target(kind))
            others: Mapping[str, float] = {}
            if isinstance(backend, MeasuresInstructions) and not device.emulated:
                others = backend.measure_instructions(device, Target(kind))
        except (UsageError, RuntimeError, OSError) as error:
            yield _Check("FAIL", f"{name} runs no generated code", str(error))
            continue
        speed = f"{flops / 1e9:.0f} GFLOP/s, {bandwidth / 1e9:.0f} GB/s"
        speed += "".join(f", {name} {one / 1e9:.0f} GFLOP/s" for name, one in others.items())
        if "cores" in device.attributes:
            speed += " with one thread"
        yield _Check("ok", f"{name}: {speed}")
    if isinstance(backend, TellsItsParts):
        for what, which in backend.found_parts().items():
            yield _Check("ok", f"{kind}: {what} {which}")
        for what, why in backend.missing_parts().items():
            yield _Check("note", f"{kind}: {what} is not there: {why}")


def _surroundings() -> Iterator[_Check]:
    """What else a run needs: a folder to write into, and a machine that is not busy."""
    here = Path.cwd()
    yield _check(os.access(here, os.W_OK), f"folder {here} is writable", "run it in another one")
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    advice = "" if load < cores / 2 else ": busy, measured times will be noisy"
    yield _Check("note" if advice else "ok", f"{load:.1f} processes run on {cores} cores{advice}")
