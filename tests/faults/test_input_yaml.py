"""D-25: pipeline files as text: YAML 1.2 core values, places, and everything that is refused."""

from __future__ import annotations

import os
import re
import resource
from contextlib import suppress

import pytest

from tilewright.errors import UsageError
from tilewright_pipeline.pipeline import Pipeline
from tilewright_pipeline.yaml.planner import Planner
from tilewright_pipeline.yaml.yaml_source import YamlSource

GOOD = """\
version: 1
name: toyrun
target: {kind: toy, threads: 1}
measure: {runner: toy, builder: toy, repeat: 5}
stages:
  - source: {}
  - tune:
      tuner: {toy: {batch: 5}}
      scheduler: toy
      budget: 60s
  - check: {}
"""


def changed(line, text):
    """The good file with one line (from 1) replaced."""
    lines = GOOD.splitlines()
    lines[line - 1] = text
    return "\n".join(lines) + "\n"


def inserted(line, text):
    lines = GOOD.splitlines()
    lines.insert(line - 1, text)
    return "\n".join(lines) + "\n"


SHAPE = [
    ("unclosed bracket", changed(3, "target: {kind: toy, threads: 1"), 3),
    ("unclosed list", changed(6, "  - source: {sizes: [8, 16}"), 6),
    ("unclosed quote", changed(2, 'name: "toyrun'), 2),
    ("unclosed single quote", changed(11, "  - check: 'abc"), 11),
    ("tab as indentation", changed(8, "\t  tuner: toy"), 8),
    ("tab after spaces", changed(9, "      \tscheduler: toy"), 9),
    ("tab before a dash", changed(6, "\t- source: {}"), 6),
    ("python object", changed(2, "name: !!python/object:os.system x"), 2),
    ("python name", changed(10, "      budget: !!python/name:os.system"), 10),
    ("python apply", changed(6, "  - source: !!python/object/apply:os.system [ls]"), 6),
    ("own tag", changed(4, "measure: !own {runner: toy}"), 4),
    ("standard tag", changed(2, "name: !!str toyrun"), 2),
    ("tag on a key", inserted(3, "!!str seed: 1"), 3),
    ("tag on a list", changed(5, "stages: !!seq"), 5),
    ("duplicate top key", inserted(3, "version: 1"), 3),
    ("duplicate nested key", inserted(9, "      tuner: toy"), 9),
    ("duplicate flow key", changed(3, "target: {kind: toy, kind: x}"), 3),
    ("duplicate stage in one item", inserted(12, "    check: {}"), 12),
    ("NUL", changed(2, "name: toy\0run"), 2),
    ("escape character", changed(10, "      budget: \x1b[31m60s"), 10),
    ("bell", inserted(7, "  # \x07"), 7),
    ("delete", changed(2, "name: toy\x7frun"), 2),
    ("end of a string", inserted(7, "  # \x9c"), 7),
    ("unknown alias", changed(9, "      scheduler: *nothing"), 9),
    ("alias of itself", changed(6, "  - source: &a {sizes: *a}"), 6),
    ("list as key", inserted(3, "[a, b]: 1"), 3),
    ("mapping as key", inserted(3, "{a: b}: 1"), 3),
    ("second document", GOOD + "---\nversion: 1\n", 12),
    ("infinity", changed(4, "measure: {runner: toy, builder: toy, min_repeat_ms: .inf}"), 4),
    ("not a number", changed(4, "measure: {runner: toy, builder: toy, min_repeat_ms: .nan}"), 4),
    ("too large", changed(4, "measure: {runner: toy, builder: toy, min_repeat_ms: 1e999}"), 4),
    ("depth", changed(6, "  - source: {sizes: " + "[" * 40 + "]" * 40 + "}"), 6),
    ("wrong indentation", changed(9, "     scheduler: toy"), 9),
    ("no colon", changed(9, "      scheduler toy"), 9),
    ("two colons", changed(2, "name: a: b"), 2),
    ("stray bracket", changed(11, "  - check: ]"), 11),
    ("reserved character", changed(2, "name: @toyrun"), 2),
    ("backtick", changed(2, "name: `toyrun`"), 2),
    ("bad escape", changed(2, 'name: "toy\\qrun"'), 2),
]

MEANING = [
    ("unknown top key", inserted(3, "targets: x"), 3),
    ("misspelt top key", changed(2, "nmae: toyrun"), 2),
    ("wrong version", changed(1, "version: 2"), 1),
    ("version as text", changed(1, "version: 'one'"), 1),
    ("name with a slash", changed(2, "name: ../up"), 2),
    ("name is a number", changed(2, "name: 3"), 2),
    ("target without kind", changed(3, "target: {threads: 1}"), 3),
    ("target is a list", changed(3, "target: [toy]"), 3),
    ("bad target attribute", changed(3, "target: {kind: toy, Threads: 1}"), 3),
    ("repeat too small", changed(4, "measure: {runner: toy, builder: toy, repeat: 1}"), 4),
    ("repeat is a text", changed(4, "measure: {runner: toy, builder: toy, repeat: no}"), 4),
    ("unknown runner", changed(4, "measure: {runner: tooy, builder: toy}"), 4),
    ("unknown measure key", changed(4, "measure: {runer: toy}"), 4),
    ("unknown option of a runner", changed(4, "measure: {runner: {toy: {failz: x}}}"), 4),
    ("negative seed", inserted(3, "seed: -1"), 3),
    ("unknown stage", changed(6, "  - sauce: {}"), 6),
    ("stage with two keys", inserted(7, "    more: {}"), 7),
    ("stage without mapping", changed(6, "  - source: 3"), 6),
    ("unknown option", changed(10, "      bugdet: 60s"), 10),
    ("bad budget", changed(10, "      budget: soon"), 10),
    ("budget with a wrong unit", changed(10, "      budget: 60 parsecs"), 10),
    ("unknown tuner", changed(8, "      tuner: tooy"), 8),
    ("unknown option of a tuner", changed(8, "      tuner: {toy: {batch: 5, trails: 3}}"), 8),
    ("bad value of a tuner's option", changed(8, "      tuner: {toy: {batch: many}}"), 8),
    ("two tuners", changed(8, "      tuner: {toy: {}, other: {}}"), 8),
    ("unknown scheduler", changed(9, "      scheduler: round"), 9),
    ("missing input", changed(6, "  - check: {}"), 6),
    ("bad early stopping", inserted(11, "      early_stopping: 0"), 11),
    ("bad value in a list", changed(6, "  - source: {sizes: [8, x]}"), 6),
]


def complaint(text, host):
    with pytest.raises(UsageError) as error:
        Planner(YamlSource.parse(text, "toy.yaml")).plan(host)
    (mistake,) = error.value.each  # and nothing that only follows from it
    return mistake


def test_d25_there_are_sixty_broken_files():
    assert len(SHAPE) + len(MEANING) >= 60


def test_the_good_file_is_good(host):
    plan = Planner(YamlSource.parse(GOOD, "toy.yaml")).plan(host)
    assert [stage.name for stage in plan.stages] == ["source", "tune", "check"]


def test_a_run_may_be_called_whatever_a_folder_can_be():
    text = changed(2, "name: größe 2 (März)")
    assert Planner(YamlSource.parse(text, "toy.yaml")).file.name == "größe 2 (März)"


@pytest.mark.parametrize(
    ("text", "line"), [case[1:] for case in SHAPE + MEANING], ids=[c[0] for c in SHAPE + MEANING]
)
def test_d25_a_broken_file_is_refused_on_the_right_line(host, text, line):
    error = complaint(text, host)
    file, found, column = error.where.split(":")[:3]
    assert (file, int(found)) == ("toy.yaml", line), str(error)
    assert int(column) >= 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (changed(11, "  - check"), "expected a mapping, got 'check'\n  write `check: {}`"),
        (changed(6, "  - source: {sizes: 8}"), "expected a list, got 8\n  write `[8]`"),
        ("version: 1\nstages: []\n", "expected at least one item, got none\n  add one"),
        (
            "version: 1\nstages: {tune: {}}\n",
            "expected a list, got {'tune': {}}\n  begin each item with a dash, or write `[ITEM, ...]`",
        ),
        (changed(1, "version: 2"), "expected 1, got 2\n  write 1"),
    ],
)
def test_d25_a_value_of_another_shape_is_refused_with_the_right_one(host, text, says):
    assert str(complaint(text, host)).endswith(f": {says}")


def test_d25_values_follow_yaml_1_2():
    text = "a: [no, yes, 1e3, 012, 0x1F, 0o17, 12:30:45, ~, true, .5, '7', 1_000]"
    expected = ["no", "yes", 1000.0, 12, 31, 15, "12:30:45", None, True, 0.5, "7", "1_000"]
    assert YamlSource.parse(text, "f").plain() == {"a": expected}


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n...\n---\n"])
def test_d25_an_empty_file_or_two_documents_are_refused(text, host):
    assert complaint(text, host).where.startswith("toy.yaml:")


def test_d25_byte_order_mark_and_crlf_are_read(tmp_path, host):
    path = tmp_path / "toy.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert Planner(YamlSource.read(path)).plan(host).file.name == "toyrun"


def test_d25_bytes_that_are_no_utf8_are_refused_with_their_line(tmp_path):
    path = tmp_path / "toy.yaml"
    path.write_bytes(b"version: 1\nname: \xff\xfe\n")
    with pytest.raises(UsageError) as error:
        YamlSource.read(path)
    assert error.value.where == f"{path}:2:7"


def test_anchors_may_be_used_plainly():
    text = "a: &x {k: 1}\nb: *x\nc: [*x, *x]\n"
    assert YamlSource.parse(text, "f").plain()["c"] == [{"k": 1}, {"k": 1}]


MIB = 2**20 - 16
HOSTILE = {
    "six levels of aliases": "\n".join(
        ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
        + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 7)]
    ),
    "a chain of aliases": "\n".join(
        ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 2000))]
    ),
    "a thousand lists": "[" * 1000,
    "a thousand mappings": "{a: " * 1000,
    "a thousand dashes": "- " * 1000,
    "a thousand keys that are keys": "? " * 1000,
    "a thousand levels": "\n".join(" " * level + "a:" for level in range(1000)),
    "a megabyte of lists": "[" * MIB,
    "a megabyte of dashes": "- " * (MIB // 2),
    "a megabyte of items": "[" + "1," * (MIB // 2) + "]",
    "a megabyte of one key": "a: 1\n" * (MIB // 5),
    "a megabyte of keys": "\n".join(f"k{n}: 1" for n in range(MIB // 11)),
    "a megabyte of a key": "x" * MIB + ": 1",
    "a megabyte of a tag": "a: !" + "x" * MIB,
    "a megabyte of an alias": "a: *" + "x" * MIB,
    "a megabyte of documents": "---\n" * (MIB // 4),
    "a megabyte of directives": "%YAML 1.1\n" * (MIB // 10),
    "a megabyte of tabs": "\t" * MIB,
    "a megabyte of comments": "# x\n" * (MIB // 4),
    "a megabyte and a NUL": "a" * MIB + "\0",
    "a number of a megabyte": "a: [" + "9" * MIB + "\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_d25_what_would_exhaust_memory_or_time_is_refused_early_in_few_words(name, soon):
    with soon(0.5), pytest.raises(UsageError) as error:
        YamlSource.parse(HOSTILE[name], "f").plain()
    assert re.match(r"f:[0-9]+:[0-9]+\Z", error.value.where)
    assert len(str(error.value)) < 300


def test_d25_none_of_it_takes_100_mb():
    def peak_kib():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    child = os.fork()
    if child == 0:
        code = 1
        try:
            before = peak_kib()
            for text in HOSTILE.values():
                with suppress(UsageError):
                    YamlSource.parse(text, "f").plain()
            code = int(peak_kib() - before > 100e3)
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def test_d25_a_large_file_is_not_read(tmp_path):
    path = tmp_path / "big.yaml"
    path.write_bytes(b"a: 1\n" * 2_200_000)
    assert path.stat().st_size > 10e6
    with pytest.raises(UsageError, match="at most 1048576 are read"):
        YamlSource.read(path)


def test_the_place_of_a_value_is_that_of_its_key_or_item():
    source = YamlSource.parse(GOOD, "f")
    assert source.where(("stages", 1, "tune", "tuner", "toy")) == "f:8:15: stages[1].tune.tuner.toy"
    assert source.where(("stages", 0)) == "f:6:5: stages[0]"
    assert source.where(()) == "f:1:1"


def test_a_plugin_file_that_is_not_there_is_told_with_its_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.py").touch()
    (tmp_path / "file.yaml").write_text(inserted(3, "plugins:\n  - one.py\n  - two.py"))
    with pytest.raises(UsageError) as error:
        Pipeline.load("file.yaml")
    assert error.value.where.endswith("file.yaml:5:5: plugins[1]")
    assert error.value.message == f"two.py: no such plugin file in {tmp_path}"
