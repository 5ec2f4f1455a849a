"""`tilewright new plugin NAME`: a distribution with one plugin and its tests, to build on."""

from __future__ import annotations

import keyword
import re
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template

import click

from tilewright.errors import UsageError, did_you_mean
from tilewright.host.plugin_host import PluginHost
from tilewright.plugins.loading.distributions import CORE, how_to_get, installer, who_brings
from tilewright_cli.terminal import shared_options as shared
from tilewright_cli.terminal.entry_point_choices import entry_point_choices
from tilewright_pipeline.writing import writing

_GROUP = "tilewright.templates"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_SHARED = ("README.md", "pyproject.toml")  # of every kind
_SUFFIX = ".txt"  # templates are no modules


@click.command()
@click.argument("name")
@click.option(
    "--kind", required=True, help="What the plugin offers, such as tuner, operator, stage."
)
@shared.as_json
def plugin(name: str, kind: str, as_json: bool) -> None:
    """Write the folder NAME: a distribution with one plugin and tests that pass."""
    folder = Path(name)
    written = plugin_files(name, kind)
    if folder.exists():
        raise UsageError(f"{folder} exists", remedy="take another name, or remove it")
    with writing(folder.absolute(), "new plugin"):
        for path, text in written.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
    if as_json:
        shared.print_json({"files": [str(folder / path) for path in written]})
        return
    for path in written:
        click.echo(folder / path)
    tool = installer()
    tests = "uv run pytest" if tool.startswith("uv") else f"{tool.removesuffix('pip')}pytest"
    click.echo(f"now: {tool} install -e '{folder}[test]' && {tests} {folder}")


def plugin_files(name: str, kind: str) -> dict[str, str]:
    """Texts of the new distribution by path in its folder.

    The kinds are entry points of the group `tilewright.templates`, each a folder of a distribution
    that the new one will depend on: modules `test_*` become its tests, others its package, and what
    is no module is beside them.
    Raises UsageError for a name that is none or taken, and for an unknown kind.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a plugin",
            remedy="take small letters, digits and single hyphens, such as my-search",
        )
    package = name.replace("-", "_")
    kinds = entry_point_choices(_GROUP, "template")
    chosen = kinds.find(kind)
    if chosen is None:
        remedy = how_to_get(who_brings("templates", kind)) or did_you_mean(kind, list(kinds.offers))
        raise UsageError(f"no template of a '{kind}'", remedy=remedy)
    template = kinds.offers[chosen]
    kind = template.name
    if taken := _taken(name, package, kind):
        raise UsageError(taken, remedy="take another name")
    requirements = ", ".join(f'"{one}"' for one in sorted({CORE, template.owner.distribution}))
    words = {"name": name, "package": package, "kind": kind, "requirements": requirements}
    words["summary"] = _text(template.value.value, "plugin.py", words).split('"""')[1]
    found = {
        **{title: _text("tilewright_cli.templates", title, words) for title in _SHARED},
        f"src/{package}/__init__.py": f'"""A {kind} for Tilewright."""\n',
        f"src/{package}/py.typed": "",
    }
    for file in sorted(one.name for one in files(template.value.value).iterdir()):
        title = file.removesuffix(_SUFFIX)
        found[_path(title, package)] = _text(template.value.value, title, words)
    return found


def _path(title: str, package: str) -> str:
    """Where a file of a template belongs."""
    if not title.endswith(".py"):
        return title
    tested = title.removeprefix("test_")
    # pytest takes no two files of one name from folders that are no packages.
    return f"src/{package}/{title}" if tested == title else f"tests/test_{package}_{tested}"


def _taken(name: str, package: str, kind: str) -> str:
    """Why the name cannot be taken; empty where it can."""
    if keyword.iskeyword(package):
        return f"'{package}' is a word of Python"
    if find_spec(package) is not None:
        return f"there is a package '{package}' already"
    host = PluginHost.load()
    if any(one.name == name for one in host.plugins):
        return f"there is a plugin '{name}' already"
    word = kind.replace("-", "_")  # a role's name may have a word before the kind: graph_pass
    roles = [role for role in host.roles() if role == word or role.endswith(f"_{word}")]
    taken = any(name in host.components(role) for role in sorted(roles, key=len)[:1])
    return f"there is a {kind} '{name}' already" if taken else ""


def _text(folder: str, title: str, words: dict[str, str]) -> str:
    template = files(folder).joinpath(f"{title}{_SUFFIX}").read_text(encoding="utf-8")
    return Template(template).substitute(words)
