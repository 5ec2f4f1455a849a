"""What the pages show runs, and prints what they show, numbers aside.

Blocks of Python, commands of `tilewright` and `pip install -e FOLDER`, changes (`diff`), files that a
block is said to be, and pipelines; whatever else a page shows in indented lines is not run.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import jsonschema
import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright_cli.terminal.group import run
from tilewright_pipeline.yaml.schema import pipeline_schema
from tilewright_pipeline.yaml.yaml_source import YamlSource

ROOT = Path(__file__).parents[2]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "how-to").glob("*.md")])
NUMBER = re.compile(r"\d+(\.\d+)?(e-?\d+)?( (s|ms|us|ns)\b)?")  # its unit suits a time


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Peaks of the machine are measured once for all pages."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def install(tmp_path, monkeypatch):
    """What `pip install -e FOLDER` does, for this process and those that it starts."""

    def editable(folder):
        from hatchling.builders.wheel import WheelBuilder

        site = tmp_path / "site"
        (wheel,) = WheelBuilder(folder).build(directory=str(site), versions=["standard"])
        with zipfile.ZipFile(wheel) as files:
            files.extractall(site, [name for name in files.namelist() if ".dist-info/" in name])
        for path in (site, Path(folder, "src").absolute()):
            monkeypatch.syspath_prepend(path)
            monkeypatch.setenv("PYTHONPATH", str(path), prepend=os.pathsep)

    return editable


def forget_modules_below(folder):
    """A command starts with what is in the files now, as one in a shell does."""
    for name, module in list(sys.modules.items()):
        if Path(getattr(module, "__file__", None) or "/").is_relative_to(folder):
            del sys.modules[name]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run_in_order(
    page, blocks, cache, tmp_path, monkeypatch, capsys, install
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    # Its emulated device would be compiled for, which takes longer than all the rest.
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "cuda")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        place = f"{page.name}:{block.line}"
        if block.file:
            (tmp_path / block.file).parent.mkdir(exist_ok=True)
            (tmp_path / block.file).write_text(block.text)
        elif block.language == "python":
            exec(compile("\n" * block.line + block.text, str(page), "exec"), names)
        elif block.language == "diff":
            subprocess.run(["git", "apply", "-"], input=block.text, text=True, check=True)
        elif block.language == "console":
            for command, shown in block.commands():
                forget_modules_below(tmp_path)
                if command.startswith("pip install -e "):
                    install(command.split()[-1])
                else:
                    check_command(command, shown, capsys, place)
        if block.language == "yaml":
            check_pipeline(block.text, place)
    forget_modules_below(tmp_path)


def check_command(command, shown, capsys, place):
    capsys.readouterr()
    program, *arguments = shlex.split(command, comments=True)
    assert program == "tilewright", place
    code = run(arguments)
    printed = capsys.readouterr()
    assert code == 0 or "error: " in shown, f"{place}: {command}: {printed.err}"
    if shown and "--json" in arguments:
        check_shape(json.loads(shown), json.loads(printed.out), f"{place}: {command}")
    else:
        check_text(shown, printed.out + printed.err, f"{place}: {command}")


def check_text(shown, printed, place):
    """Every line shown is printed, in order; `...` stands for anything, numbers for numbers."""
    lines = iter(normal(line) for line in printed.splitlines())
    for line in filter(None, map(normal, shown.splitlines())):
        pattern = re.escape(line).replace(re.escape("..."), ".*")
        assert any(re.fullmatch(pattern, other) for other in lines), f"{place}: {line}\n{printed}"


def normal(line):
    return NUMBER.sub("#", " ".join(line.split()))


def check_shape(shown, printed, place):
    """Equal members with values of equal types; {} and [] and null stand for any of them."""
    if isinstance(shown, dict) and shown:
        assert isinstance(printed, dict), place
        assert set(shown) == set(printed), place
        for name, value in shown.items():
            check_shape(value, printed[name], f"{place}: {name}")
    elif isinstance(shown, list) and shown:
        assert isinstance(printed, list), place
        for value in printed:
            check_shape(shown[0], value, f"{place}: []")
    elif shown is not None and printed is not None:
        assert kind(shown) is kind(printed), f"{place}: {printed!r}"


def kind(value):
    return float if type(value) is int else type(value)


def check_pipeline(text, place):
    """A whole file, or some stages or keys of one."""
    part = YamlSource.parse(text, place).plain()
    whole = {"stages": part} if isinstance(part, list) else {"stages": [{"tune": {}}], **part}
    schema = pipeline_schema(PluginHost.load([Path(name) for name in whole.get("plugins", ())]))
    jsonschema.validate({"version": 1, **whole}, schema)
