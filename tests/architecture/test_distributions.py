"""What core says of this project's distributions is what they bring."""

from __future__ import annotations

import json
from importlib.metadata import distribution, entry_points
from pathlib import Path
from typing import Any

import pytest

from tilewright.host import hookspecs
from tilewright.host.plugin_host import PluginHost
from tilewright.plugins.loading.distributions import FILE

PLUGINS = Path(__file__).parents[2] / "plugins"
# Whose components nobody asks for by a name that only one distribution could have.
UNNAMED = {"graph_pass", "operator", "reference", "strategy"}


def brought(host: PluginHost) -> dict[str, Any]:
    """The content of the file, by what is installed."""
    own = {
        f"tilewright-{folder.name}": {
            "module": f"tilewright_{folder.name}",
            "plugin": folder.name,
            "hooks": [],
            "roles": {},
            "verbs": [],
            "templates": [],
        }
        for folder in PLUGINS.iterdir()
    }
    for role in host.roles():
        for name, owner in host.owners(role).items():
            if owner.distribution in own:
                names = own[owner.distribution]["roles"].setdefault(role, [])
                names += [] if role in UNNAMED else [name]
    for module in host.hook_values("tilewright_hookspecs"):
        if module is hookspecs:
            continue
        found = own[f"tilewright-{module.__name__.partition('.')[0].partition('_')[2]}"]
        found["hooks"] += [
            name for name, value in vars(module).items() if hasattr(value, "tilewright_spec")
        ]
    for kind, group in (("verbs", "tilewright.commands"), ("templates", "tilewright.templates")):
        for point in entry_points(group=group):
            if point.dist is not None and point.dist.name in own:
                own[point.dist.name][kind].append(point.name)
    for brings in own.values():
        for kind in ("hooks", "verbs", "templates"):
            brings[kind].sort()
    return dict(sorted(own.items()))


def test_the_file_tells_of_every_distribution_what_it_brings(tmp_path: Path) -> None:
    found = brought(PluginHost.load())
    assert set(found) == {f"tilewright-{path.name}" for path in PLUGINS.iterdir()}
    written = tmp_path / FILE.name
    written.write_text(f"{json.dumps(found, indent=1, sort_keys=True)}\n")
    assert written.read_text() == FILE.read_text(), f"copy {written} to {FILE}"


@pytest.mark.parametrize("name", json.loads(FILE.read_text()))
def test_its_hooks_are_none_of_cores(name: str) -> None:
    assert distribution(name).version
    assert not any(hasattr(hookspecs, hook) for hook in json.loads(FILE.read_text())[name]["hooks"])
