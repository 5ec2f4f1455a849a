"""D-31: plugins that raise, exit, lie, clash, dawdle or talk cost nobody but themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright_cli.terminal.group import run

TUNER = """
@hookimpl
def tilewright_tuners():
    return [Component("{name}", "a tuner", lambda: None)]
"""


@pytest.fixture
def fake_distribution(tmp_path, monkeypatch):
    """A function that installs a distribution with one module and one entry point of group `tilewright`."""

    def install(name, body, entry=None):
        module = name.replace("-", "_")
        (tmp_path / f"{module}.py").write_text(
            "from tilewright import Component, hookimpl\n" + body
        )
        folder = tmp_path / f"{module}-2.3.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.3\n")
        (folder / "entry_points.txt").write_text(f"[tilewright]\n{entry or module} = {module}\n")
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        monkeypatch.delitem(sys.modules, module, raising=False)

    return install


def state(host, name):
    (plugin,) = [plugin for plugin in host.plugins if plugin.name == name]
    return plugin.state, "; ".join(plugin.reasons)


def test_d31_two_plugins_with_one_name_are_an_error_that_names_both(toy, fake_distribution):
    fake_distribution("acme-tuners", TUNER.format(name="toy"))
    with pytest.raises(UsageError) as error:
        PluginHost.load([toy]).component("tuner", "toy")
    assert "acme-tuners 2.3 (acme_tuners)" in str(error.value)
    assert str(toy) in str(error.value)
    assert error.value.remedy == (
        f"choose 'acme-tuners/toy' or 'toy_plugin.py/toy', or rename that of {toy}, "
        "or block one: TILEWRIGHT_BLOCK_PLUGINS=acme-tuners"
    )


def test_d31_what_no_variable_blocks_is_to_be_renamed(tmp_path, fake_distribution, toy):
    fake_distribution("acme-stages", TUNER.format(name="tune").replace("tuners", "stages"))
    own = tmp_path / "own.py"
    own.write_text(toy.read_text())
    with pytest.raises(UsageError) as error:
        PluginHost.load().component("stage", "tune")
    assert error.value.remedy.endswith("', or block one: TILEWRIGHT_BLOCK_PLUGINS=acme-stages")
    with pytest.raises(UsageError) as error:
        PluginHost.load([toy, own]).component("tuner", "toy")
    _, *renamed = error.value.remedy.split(", or ")
    assert sorted(renamed) == sorted(f"rename that of {path}" for path in (own, toy))


def test_a_plugin_file_named_twice_is_one_plugin(toy):
    assert "toy" in PluginHost.load([toy, toy.parent / "." / toy.name]).components("tuner")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise RuntimeError('broken on purpose')", "broken on purpose"),
        ("import sys\nsys.exit(3)", "SystemExit"),
        ("import no_such_module_here", "ModuleNotFoundError"),
        ("TILEWRIGHT_API = 0", "made for API 0"),
        ("@hookimpl\ndef tilewright_tuner():\n    return []", "unknown hook 'tilewright_tuner'"),
        ("@hookimpl\ndef tilewright_tuners(extra):\n    return []", "does not register"),
        ("@hookimpl(wrapper=True)\ndef tilewright_tuners():\n    return (yield)", "wrappers"),
        ("@hookimpl\ndef tilewright_hookspecs():\n    return [3]", "sequence of modules"),
        ("@hookimpl\ndef tilewright_hookspecs():\n    return 3", "sequence of modules"),
        ("@hookimpl\ndef tilewright_hookspecs():\n    raise SystemExit(2)", "raised SystemExit"),
    ],
    ids=[
        "raises",
        "exits",
        "misses",
        "old-api",
        "misspelt",
        "arguments",
        "wrapper",
        "specs",
        "no-specs",
        "specs-exit",
    ],
)
def test_d31_a_bad_plugin_is_listed_and_the_others_work(
    toy, fake_distribution, capsys, body, reason
):
    fake_distribution("acme-bad", body)
    host = PluginHost.load([toy])
    assert state(host, "acme_bad")[0] == "failed"
    assert reason in state(host, "acme_bad")[1]
    assert "acme-bad 2.3" in capsys.readouterr().err
    assert "toy" in host.components("tuner")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("@hookimpl\ndef tilewright_tuners():\n    raise KeyError('oh')", "raised KeyError: 'oh'"),
        (
            "@hookimpl\ndef tilewright_tuners():\n    return 'toy'",
            "expected a list or tuple, got str",
        ),
        ("@hookimpl\ndef tilewright_tuners():\n    return [3]", "a int is no tuner"),
        (TUNER.replace('"{name}"', "7"), "a Component is no tuner"),
        (
            "@hookimpl\ndef tilewright_tuners():\n    import sys\n    sys.exit(1)",
            "raised SystemExit",
        ),
    ],
    ids=["raises", "no-list", "no-component", "no-name", "exits"],
)
def test_d31_a_hook_that_misbehaves_costs_only_its_plugin(toy, fake_distribution, body, reason):
    fake_distribution("acme-hook", body)
    host = PluginHost.load([toy])
    assert "toy" in host.components("tuner")
    assert reason in state(host, "acme_hook")[1]


def test_d31_strict_makes_a_bad_plugin_fatal(fake_distribution, monkeypatch):
    fake_distribution("acme-bad", "raise RuntimeError('broken')")
    monkeypatch.setenv("TILEWRIGHT_STRICT_PLUGINS", "1")
    with pytest.raises(RuntimeError, match=r"acme-bad 2\.3.*broken"):
        PluginHost.load()


def test_d31_a_blocked_plugin_is_not_imported(fake_distribution, monkeypatch):
    fake_distribution("acme-bad", "raise RuntimeError('imported all the same')")
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "search,acme-bad")
    host = PluginHost.load()
    assert state(host, "acme_bad")[0] == state(host, "search")[0] == "blocked"
    assert "acme_bad" not in sys.modules


def test_d31_an_entry_point_name_taken_twice_is_a_conflict(fake_distribution):
    fake_distribution("acme-one", TUNER.format(name="one"), entry="same")
    fake_distribution("acme-two", TUNER.format(name="two"), entry="same")
    host = PluginHost.load()
    states = {p.owner.distribution: p.state for p in host.plugins if p.name == "same"}
    assert states == {"acme-one": "ok", "acme-two": "conflict"}
    assert "two" not in host.components("tuner")


def test_d31_what_a_plugin_prints_goes_to_stderr(fake_distribution, capsys):
    fake_distribution("acme-loud", "print('hello')")
    PluginHost.load()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "hello" in captured.err


MAIN = "from tilewright_cli import main; main()"


def tilewright(folder, *arguments):
    """The command in a fresh interpreter that sees what `fake_distribution` installed."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", MAIN, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


BAD = {
    "acme-exits": "import sys\nsys.exit(3)",
    "acme-raises": "raise RuntimeError('broken on purpose')",
    "acme-talks": "print('hello')\nimport sys\nsys.stdout.write('again')",
    "acme-dawdles": "import time\ntime.sleep(0.2)",
}


def test_d31_help_imports_no_plugin_and_exits_with_0_whatever_they_do(tmp_path, fake_distribution):
    for name, body in BAD.items():
        fake_distribution(name, f"open({str(tmp_path / name)!r}, 'w').close()\n{body}")
    done = tilewright(tmp_path, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Commands:" in done.stdout
    assert not any((tmp_path / name).exists() for name in BAD)


def test_d31_the_list_says_what_is_wrong_and_how_long_each_took(tmp_path, fake_distribution):
    for name, body in BAD.items():
        fake_distribution(name, body)
    done = tilewright(tmp_path, "plugins", "--json")
    rows = {row["distribution"]: row for row in json.loads(done.stdout)["plugins"]}
    assert done.returncode == 0
    assert {name: rows[name]["state"] for name in BAD} == {
        "acme-exits": "failed",
        "acme-raises": "failed",
        "acme-talks": "ok",
        "acme-dawdles": "ok",
    }
    assert "SystemExit: 3" in rows["acme-exits"]["reason"]
    assert "broken on purpose" in rows["acme-raises"]["reason"]
    assert rows["acme-dawdles"]["load_ms"] >= 200
    assert rows["tilewright-search"]["offers"]["tuner"]
    assert tilewright(tmp_path, "plugins", "--check").returncode == 1


MISBEHAVES = """
import ctypes
import os
import sys
from tilewright import Component, hookimpl

class Misbehaves:
    def __init__(self, options, context):
        print("making")
        self.space = context.space

    def propose(self, count):
        print("proposing", count)
        os.write(1, b"to the descriptor\\n")
        ctypes.CDLL(None).puts(b"from C")
        if "EXIT" in os.environ:
            sys.exit(int(os.environ["EXIT"]))
        return list(self.space.points())[:1]

    def observe(self, trials):
        print("observing", trials)

@hookimpl
def tilewright_tuners():
    print("offering")
    return [Component("misbehaves", "prints, and may exit", lambda: Misbehaves)]
"""


@pytest.fixture
def misbehaving(tmp_path, toy, monkeypatch):
    """What makes `tilewright` tune with that tuner; and its file."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "misbehaves.py"
    path.write_text(MISBEHAVES)
    parts = ("--scheduler", "toy", "--runner", "toy", "--builder", "toy", "--tuner", "misbehaves")
    plugins = ("--plugin", str(toy), "--plugin", str(path))
    return ("tune", "toyadd(8)", "--target", "toy", *parts, *plugins, "--budget", "4"), path


def test_d31_what_a_tuner_prints_does_not_spoil_the_answer(misbehaving, capsys):
    arguments, _ = misbehaving
    assert run([*arguments, "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["trials"] >= 1
    assert {"making", "offering"} <= set(said.err.splitlines())


def test_d31_nor_does_what_native_code_prints(misbehaving, tmp_path):
    done = tilewright(tmp_path, *misbehaving[0], "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["trials"] >= 1
    said = set(done.stderr.splitlines())
    assert {"making", "offering", "to the descriptor", "from C"} <= said


@pytest.mark.parametrize("code", ["0", "3"])
def test_d31_a_component_that_exits_is_a_defect_with_its_place(
    misbehaving, tmp_path, monkeypatch, code
):
    arguments, path = misbehaving
    monkeypatch.setenv("EXIT", code)
    done = tilewright(tmp_path, *arguments)
    assert done.returncode == 1
    line = MISBEHAVES[: MISBEHAVES.index("sys.exit")].count("\n") + 1
    assert done.stderr.splitlines()[-1].startswith(
        f"RuntimeError: {path}:{line} called exit({code})"
    )
