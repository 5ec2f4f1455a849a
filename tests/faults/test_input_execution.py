"""D-26 and D-29: nothing that a file says is executed, by what the code says and by what it does."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tilewright.errors import UsageError
from tilewright.space.feasible.constraint import expression_from_json

MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib"}
BUILTINS = {"eval", "exec", "__import__", "compile"}
CALLS = {"os.system", "os.popen", "torch.load", "code.interact"}


@pytest.fixture(scope="module")
def shipped():
    """(place, node) of every call and import in the files that are shipped."""
    root = Path(__file__).parents[2]
    files = [p for folder in ("core", "plugins") for p in (root / folder).glob("**/src/**/*.py")]
    assert len(files) > 100
    wanted = ast.Call | ast.Import | ast.ImportFrom
    return [
        (f"{path.name}:{node.lineno}", node)
        for path in files
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, wanted)
    ]


def executes(call):
    if not isinstance(call.func, ast.Name | ast.Attribute):
        return False
    name, keywords = ast.unparse(call.func), {k.arg: k.value for k in call.keywords}
    pickles = keywords.get("allow_pickle", ast.Constant(value=False))
    return (
        name in BUILTINS | CALLS
        or "shell" in keywords
        or ast.unparse(pickles) != "False"
        or name.startswith(("yaml.unsafe", "yaml.full"))
        or (name in ("yaml.load", "yaml.load_all") and len(call.args) + len(keywords) < 2)
    )


def test_d29_no_shipped_call_executes_data(shipped):
    calls = [(place, node) for place, node in shipped if isinstance(node, ast.Call)]
    assert [place for place, call in calls if executes(call)] == []


@pytest.mark.parametrize(
    "line",
    [
        "eval(text)",
        "subprocess.run(text, shell=True)",
        "yaml.load(text)",
        "yaml.unsafe_load(text)",
        "np.load(path, allow_pickle=True)",
        "torch.load(path)",
    ],
)
def test_d29_a_call_that_executes_data_would_be_seen(line):
    assert executes(ast.parse(line).body[0].value)


def test_d29_no_module_that_executes_data_is_imported(shipped):
    offenders = [
        place
        for place, node in shipped
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None), *(alias.name for alias in node.names)]
        if (name or "").partition(".")[0] in MODULES
    ]
    assert offenders == []


# Python starts with it, here and in every worker; it notes that it did, and each dangerous event.
AUDIT = """
import os, sys

def note(text):
    log = os.open(os.environ["AUDIT_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, text.encode() + b"\\n")
    os.close(log)

def heard(event, arguments):
    shell = event == "subprocess.Popen" and os.path.basename(str(arguments[0])) in ("sh", "bash")
    if shell or event in ("pickle.find_class", "os.system", "os.exec"):
        note(f"{event} {arguments}")

note("audited " + " ".join(sys.orig_argv))
sys.addaudithook(heard)
"""


@pytest.fixture
def audited(tmp_path):
    """A function that runs Python code under the audit hook and gives what it noted."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(AUDIT)

    def run(code, *arguments):
        environment = {
            **os.environ,
            "PYTHONPATH": str(tmp_path / "site"),
            "AUDIT_LOG": str(tmp_path / "log"),
        }
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout, (tmp_path / "log").read_text().splitlines()

    return run


def test_d29_a_whole_tune_unpickles_nothing_and_starts_no_shell(audited):
    flags = ("--target", "x86:threads=1", "--tuner", "xgb", "--budget", "24", "--json")
    out, noted = audited(
        "from tilewright_cli import main; main()", "tune", "dense(8x64, 64x64)", *flags
    )
    assert json.loads(out)["trials"] >= 24
    assert sum("tilewright_measure.local.worker" in line for line in noted) >= 2
    assert [line for line in noted if not line.startswith("audited")] == []


def test_d29_the_audit_would_notice(audited):
    _, noted = audited("import pickle, collections; pickle.loads(pickle.dumps(collections.deque))")
    assert any(line.startswith("pickle.find_class") for line in noted)


DEEP = ["not", 1]
for _ in range(200_000):
    DEEP = ["not", DEEP]
ATTACKS = {
    "import": "__import__('os').system('true')",
    "attribute": "().__class__.__bases__[0].__subclasses__()",
    "power": "9**9**9",
    "power in lists": ["**", ["**", 9, 9], 9],
    "call": ["call", "__import__", "os"],
    "index": ["item", "a", "__class__"],
    "item of an item": ["item", ["item", "a", "__class__"], 0],
    "name": ["knob", 3],
    "object": {"knob": "a"},
    "too few parts": ["+", 1],
    "nothing": [],
    "megabyte": "x" * 2**20,
    "huge number": 10**30,
    "number of 5000 digits": 10**5000,
    "infinity": float("inf"),
    "no number": float("nan"),
    "deep": DEEP,
    "deep in what is refused": ["power", DEEP],
}


@pytest.mark.parametrize("name", ATTACKS)
def test_d26_a_constraint_is_no_text_and_what_is_not_listed_is_refused(name, soon):
    """Short texts are constants to compare knobs with; they stay the texts that they are."""
    attack = ATTACKS[name]
    with soon(0.010):
        if isinstance(attack, str) and len(attack) < 100:
            assert expression_from_json(attack).evaluate({}) == attack
        else:
            with pytest.raises(UsageError, match="constraint"):
                expression_from_json(attack)


def test_d26_the_size_of_a_constraint_is_bounded():
    wide = 1
    for _ in range(9):
        wide = ["+", wide, wide]
    with pytest.raises(UsageError, match="parts"):
        expression_from_json(wide)


EVALUATIONS = """
import sys
from pathlib import Path
from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright_pipeline.yaml.planner import Planner
from tilewright_pipeline.yaml.yaml_source import YamlSource
from tilewright.vocabulary.target import Target
from tilewright_pipeline.api.task_text import find_task

host, heard, listening = PluginHost.load(), [], False

def hook(event, arguments):
    if listening and event in ("compile", "exec", "import", "object.__getattr__", "os.system"):
        heard.append(event)

def refused(attack):
    for ask in (
        lambda: find_task(f"conv2d({attack})", Target.parse("x86"), host, None),
        lambda: find_task(attack, Target.parse("x86"), host, None),
        lambda: Target.parse(attack),
        lambda: Planner(YamlSource.parse(f'version: 1\\ntarget: "{attack}"\\nstages: [{{tune: {{budget: "{attack}"}}}}]', "f")).plan(host),
        lambda: Planner(YamlSource.parse(f'version: 1\\ntarget: x86\\nstrategies: "{attack}"\\nstages: [{{"{attack}": 1}}]', "f")).plan(host),
    ):
        try:
            ask()
            sys.exit(f"not refused: {attack}")
        except UsageError:
            pass

refused("1+1")  # modules are imported by now
sys.addaudithook(hook)
listening = True
for attack in ("__import__('os').system('true')", "().__class__", "9**9**9", "(" * 2**16):
    refused(attack)
listening = False
sys.exit(str(heard) if heard else 0)
"""


def test_d26_texts_of_files_and_of_the_command_line_are_evaluated_nowhere():
    done = subprocess.run(
        [sys.executable, "-c", EVALUATIONS], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
