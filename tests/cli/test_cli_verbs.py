"""The command line: verbs, exit codes, one object under --json, messages without tracebacks."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tilewright.plugins.loading import distributions
from tilewright_cli import main
from tilewright_pipeline.context import exit_codes


def test_ctrl_c_while_modules_are_imported_is_an_exit_code(monkeypatch):
    class Interrupting:
        def find_spec(self, *_):
            raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "tilewright_cli.terminal.group", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupting()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == exit_codes.INTERRUPTED


TOY_CHOICES = ("--tuner", "toy", "--scheduler", "toy", "--runner", "toy", "--builder", "toy")


def test_version_and_help(call):
    assert call("--version", plugin=False)[1].startswith("tilewright 0.")
    code, out, _ = call("--help", plugin=False)
    assert code == 0
    for verb in [
        "run",
        "tune",
        "tasks",
        "space",
        "records",
        "plugins",
        "targets",
        "doctor",
        "bench",
    ]:
        assert f"  {verb} " in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tuen",), "did you mean 'tune'"),
        (("run",), "Missing argument"),
        (("run", "none.yaml"), "none.yaml: no such pipeline file in /"),
        (("plugins", "--nope"), "No such option"),
        (("records", "ls", "none.jsonl"), "none.jsonl: no such records file in /"),
        (("tune", "toyadd(4)", "--target", "toynative", "--budget", "soon"), "write 60s"),
        (("tune", "nonsense", "--target", "toynative"), "write operator(arguments)"),
        (("tune", "x.json", "--target", "toynative"), "x.json: no such task file in /"),
        (("tune", "toyadd(4)", "--target", "moon"), "no target named 'moon'"),
    ],
)
def test_mistakes_are_one_message_and_exit_2(call, tmp_path, arguments, message):
    tunes = arguments[0] == "tune"
    code, out, err = call(*arguments, *(TOY_CHOICES if tunes else ()), plugin=tunes)
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert out == ""
    assert [path.name for path in tmp_path.iterdir() if path.name != "cache"] == []


@pytest.mark.parametrize(
    ("redirection", "code", "said"),
    [
        (">/dev/full", 2, "error: the output cannot be written: No space left on device\n"),
        (">&-", 0, ""),
        ("2>&-", 0, ""),
    ],
)
def test_streams_that_take_nothing_cost_no_traceback(redirection, code, said):
    started = (sys.executable, "-m", "tilewright", "plugins")
    done = subprocess.run(
        ["sh", "-c", f'"$@" {redirection}', "sh", *started],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (code, said)


def test_run_prints_tables_or_one_object(call, pipeline_file):
    path = pipeline_file()
    code, out, err = call("run", str(path), plugin=False)
    assert code == 0
    assert "layer1" in out
    assert "tune: ok" in err
    code, out, err = call("run", str(path), "--json", plugin=False)
    assert json.loads(out)["measurement"]["trials"] == 0
    assert err == ""
    code, out, err = call("run", str(path), "--quiet", plugin=False)
    assert "layer1" in out
    assert err == ""


def test_run_takes_settings_more_out_and_seed(call, pipeline_file, tmp_path):
    path = pipeline_file()
    arguments = ("--set", "tune.budget=6", "--out", "elsewhere", "--seed", "3", "--json")
    code, out, _ = call("run", str(path), *arguments, plugin=False)
    assert (code, json.loads(out)["measurement"]["trials"]) == (0, 6)
    assert (tmp_path / "elsewhere" / "run.json").exists()
    code, out, _ = call("run", str(path), *arguments, "--more", "4", plugin=False)
    assert json.loads(out)["measurement"]["trials"] == 4


def test_a_failed_check_is_exit_1(call, pipeline_file):
    assert call("run", str(pipeline_file(check="{passes: false}")), plugin=False)[0] == 1


def test_a_partial_result_is_exit_3(call, pipeline_file):
    assert call("run", str(pipeline_file(runner="fails: all")), plugin=False)[0] == 3


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("zoo:squeezenet_v1.1", "zoo-squeezenet_v1.1"),
        ("models/net.v2.onnx", "net.v2"),
        ("onnx-light:resnet50", "onnx-light-resnet50"),
    ],
)
def test_a_run_is_named_after_its_model(source, name):
    from tilewright_cli.terminal.pipeline_verb import pipeline_of

    assert pipeline_of(source).plain()["name"] == name


def test_a_mistake_in_the_pipeline_of_a_model_has_no_line_of_it():
    """Nobody wrote that text."""
    from tilewright_cli.terminal.pipeline_verb import pipeline_of

    assert pipeline_of("a.moon").where(("stages", 3)) == "a.moon: stages[3]"


def test_tasks_and_space_describe_without_measuring(call, pipeline_file, tmp_path):
    path = pipeline_file()
    _, out, _ = call("tasks", str(path), "--json", plugin=False)
    found = json.loads(out)["tasks"]
    assert [task["text"] for task in found] == ["toyadd(8)", "toyadd(16)"]
    assert not (tmp_path / "runs").exists()
    _, out, _ = call("space", "toyadd(8)", "--target", "toynative", "--json")
    (alternative,) = json.loads(out)["alternatives"]
    assert alternative["configs"] == 128
    assert [knob["name"] for knob in alternative["knobs"]] == ["unroll", "width"]


def test_records_verify_finds_a_bad_line(call, pipeline_file, tmp_path):
    call("run", str(pipeline_file(tune="tuner: toy, budget: 9")), plugin=False)
    log = tmp_path / "runs/toyrun/records.jsonl"
    assert call("records", "verify", str(log), plugin=False)[0] == 0
    log.write_bytes(log.read_bytes().replace(b"unroll", b"unrool", 1))
    code, out, _ = call("records", "verify", str(log), plugin=False)
    assert code == 1
    assert ":1: the checksum" in out
    code, out, _ = call("records", "merge", str(log), "--into", "new.jsonl", plugin=False)
    assert "9 records added" in out


def test_targets_and_peaks_come_from_the_backends(call):
    found = json.loads(call("targets", "--json")[1])["targets"]
    (toy,) = (row for row in found if row["kind"] == "toy")
    assert [device["name"] for device in toy["devices"]] == ["toy0", "toy1"]
    _, out, _ = call("bench", "peak", "--target", "toy", "--threads", "2", "--json")
    assert json.loads(out)["peaks"][0] == {
        "device": "toy0",
        "threads": 2,
        "precision": "float32",
        "instruction": None,
        "gflops": 2.0,
        "gbytes_per_second": 1.0,
    }


def test_bench_peak_raises_what_is_kept_and_never_lowers_it(call, tmp_path):
    measure = ("bench", "peak", "--target", "toy", "--threads", "2", "--json")
    call(*measure)
    kept = tmp_path / "cache" / "tilewright" / "peaks.json"
    known = json.loads(kept.read_text())
    assert len(known) == 2
    assert all(entry == {"toy:threads=2": [2e9, 1e9]} for entry in known.values())
    busy = {device: {"toy:threads=2": [1e3, 9e9], "other": [1, 1]} for device in known}
    kept.write_text(json.dumps(busy))
    peaks = json.loads(call(*measure)[1])["peaks"]
    assert peaks[0]["gbytes_per_second"] == 1.0
    raised = {"toy:threads=2": [2e9, 9e9], "other": [1, 1]}
    assert json.loads(kept.read_text()) == dict.fromkeys(known, raised)


@pytest.mark.needs("search")
def test_plugins_are_listed_with_owner_state_and_offers(call, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "search")
    rows = {row["name"]: row for row in json.loads(call("plugins", "--json")[1])["plugins"]}
    assert rows["core"]["offers"] == {}
    readers = ["jsonl", "kernel-tuner"]
    assert rows["records"]["offers"] == {"record_reader": readers, "record_store": ["jsonl"]}
    assert rows["pipeline"]["offers"] == {"stage": ["tune"]}
    assert rows["search"]["state"] == "blocked"
    assert rows["toy_plugin"]["offers"]["tuner"] == ["toy"]
    assert call("plugins", "--check")[0] == 0


def test_a_bad_plugin_spoils_only_the_check(call, tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text(
        "from tilewright import hookimpl\n@hookimpl\ndef tilewright_tuners():\n    raise ValueError('no')\n"
    )
    code, out, _ = call("plugins", "--plugin", str(bad))
    assert code == 0
    assert "raised ValueError: no" in out
    assert call("plugins", "--check", "--plugin", str(bad))[0] == 1


def test_a_clash_is_listed_and_fails_the_check(call, toy, tmp_path):
    twin = tmp_path / "twin.py"
    twin.write_text(toy.read_text())
    code, _, err = call("plugins", "--check", "--plugin", str(twin))
    assert code == 1
    assert "two plugins offer the tuner 'toy'" in err


def test_schemas_are_printed(call):
    assert "stages" in json.loads(call("schema")[1])["properties"]
    assert (
        json.loads(call("schema", "--run-json", plugin=False)[1])["title"] == "Tilewright run.json"
    )


def test_without_any_target_it_is_said_how_to_get_one(call, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "cuda,x86")
    code, out, err = call("targets", plugin=False)
    assert (code, out) == (0, "")
    assert err == "no target is installed: `tilewright plugins` says what is blocked\n"


def test_doctor_names_what_is_missing(call, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "measure,search")
    code, out, _ = call("doctor", plugin=False)
    assert code == 1
    assert "FAIL 0 of role tuner: what offers it is blocked: `tilewright plugins` lists" in out


BROKEN = """
from tilewright import Component, hookimpl

def load():
    import libfoo

@hookimpl
def tilewright_targets():
    return [Component("%s", "a target whose library is missing", load=load)]
"""


def test_doctor_tells_of_a_broken_target_and_of_all_others(call, tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "cuda,x86")  # whose peaks take seconds
    told = {
        "foo": "FAIL foo: it raised ModuleNotFoundError: No module named 'libfoo': mend or uninst",
        "toy": "FAIL two plugins offer the target 'toy': ",
    }
    for name, problem in told.items():
        (tmp_path / f"broken_{name}.py").write_text(BROKEN % name)
        code, out, _ = call("doctor", "--plugin", f"broken_{name}.py")
        assert code == 1
        assert problem in out
        kind = "toy" if name == "foo" else "toy_plugin.py/toy"
        assert f"ok   {kind}: toy0 " in out
        assert " processes run on " in out


def test_doctor_survives_a_component_that_cannot_say_what_it_lacks(call, tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "cuda,x86")
    (tmp_path / "odd.py").write_text(
        "from tilewright import Component, hookimpl\n@hookimpl\ndef tilewright_tuners():\n"
        "    return [Component('odd', 'a tuner', dict, lacks=lambda: 1 / 0)]\n"
    )
    code, out, _ = call("doctor", "--plugin", "odd.py")
    assert code == 1
    assert "FAIL tuner odd: lacks() raised ZeroDivisionError: division by zero: mend or" in out
    assert " processes run on " in out


@pytest.mark.parametrize(
    "verb", [("schema",), ("plugins", "--json"), ("--help",), ("run", "toy.yaml", "--quiet")]
)
def test_a_reader_that_has_gone_is_no_mistake_of_ours(verb, pipeline_file):
    folder = pipeline_file().parent
    reader, writer = os.pipe()
    os.close(reader)
    command = (sys.executable, "-m", "tilewright", *verb)
    with os.fdopen(writer, "w") as gone:
        ended = subprocess.run(
            command, stdout=gone, stderr=subprocess.PIPE, check=False, text=True, cwd=folder
        )
    assert (ended.returncode, ended.stderr) == (0, "")


FAULTY = """
from tilewright import Component, Strategy, hookimpl
from tilewright.strategies.strategy import strategy
from tilewright.space.knobs import Knobs

def tilewright_stages():
    return []

@strategy("mine.loop", operator="toyadd", target="toy")
class Mine:
    def alternatives(self, task):
        return [Knobs("other.loop").alternative()]

@hookimpl
def tilewright_strategies():
    return [Mine, Strategy("yours", 1, ("toy",), ("nowhere",), lambda host: Mine)]

@hookimpl
def tilewright_tuners():
    return [
        Component("Bad Name!", "a tuner", lambda: dict),
        Component("", "a tuner", lambda: dict),
        Component("odd", "a tuner", lambda: 1 / 0, lambda: int),
    ]
"""


NO_MODEL = "options() gave <class 'int'>, expected a pydantic model"
NO_MATCH = "its alternative is called 'other.loop', expected 'mine.loop' or 'mine.loop/VARIANT'"


def test_the_check_tells_of_each_fault_in_a_line_and_fails(call, tmp_path):
    (tmp_path / "faulty.py").write_text(FAULTY)
    (tmp_path / "empty.py").write_text("")
    files = ("--plugin", "faulty.py", "--plugin", "empty.py")
    assert call("plugins", *files)[0] == 0
    code, out, err = call("plugins", "--check", *files)
    assert code == 1
    place = f"file {tmp_path}/faulty.py"
    for fault in (
        f"{place}: tilewright_stages is never called: it lacks @hookimpl",
        f"{place}: tuner 'Bad Name!': names are small letters and digits, with - _ or . between",
        f"{place}: tuner 'odd': options() raised TypeError: {NO_MODEL}",
        f"{place}: tuner 'odd': load() raised ZeroDivisionError: division by zero",
        f"{place}: strategy 'yours': nobody defines its operator 'nowhere'",
        f"{place}: strategy 'mine.loop': alternatives() raised ValueError: {NO_MATCH}",
        f"file {tmp_path}/empty.py: it implements no hook",
    ):
        assert fault in err.splitlines()
    assert "tilewright_tuners: '' is no name for a tuner: nobody could choose it" in out
    assert json.loads(call("plugins", "--check", "--json", *files)[1])["faults"]


def test_errors_begin_alike_and_help_lists_commands_alike(call):
    for arguments in (("tuen",), ("run",), ("plugins", "--nope"), ("tune", "x", "--target", "7")):
        code, _, err = call(*arguments, plugin=False)
        assert code == 2
        assert "error: " in err
        assert "Error" not in err
    for group in ((), ("bench",), ("records",), ("new",)):
        out = call(*group, "--help", plugin=False)[1]
        assert "\nCommands:\n" in out
        assert "Verbs" not in out


def test_how_to_install_is_said_for_what_this_environment_has(monkeypatch, tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    monkeypatch.setattr(sys, "executable", str(tools / "python"))
    monkeypatch.delenv("UV", raising=False)
    monkeypatch.setenv("PATH", str(tools))

    def there(*names):
        for name in names:
            (tools / name).write_text("")
            (tools / name).chmod(0o755)

    assert distributions.installer() == f"{tools / 'python'} -m pip"  # started by its path
    there("python")
    assert distributions.installer() == "python -m pip"
    there("pip")
    assert distributions.installer() == "pip"
    there("uv")
    assert distributions.installer() == "pip"
    monkeypatch.setenv("UV", "uv")
    assert distributions.installer() == "uv pip"
    monkeypatch.delenv("UV")
    monkeypatch.setattr(distributions.importlib.util, "find_spec", lambda _: None)
    assert distributions.installer() == "uv pip"
