"""Whatever a run's files contain, the page is made, and what they contain stays text."""

from __future__ import annotations

import copy
import json
import math

import pytest
from page_reader import Page

import tilewright
from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright_report.data.run_folder import run_of
from tilewright_report.pages.run_page import MOST_BYTES, run_page

NAMES = {
    "script": "</script><script>alert(1)</script>",
    "attribute": '" onmouseover="alert(1)',
    "title": "</title></style><img src=x onerror=alert(1)>",
    "control": "a\x00\x1b[31m\u202eb\ufeff",
    "surrogate": "half \ud800 of a letter",
    "entity": "&lt;b&gt; & <!-- -->",
    "cdata": "]]><svg onload=alert(1)>",
    "long": "n" * 1_000_000,
}


def names_everywhere(value, name):
    """The value with every text in it replaced; keys and what the schema needs stay."""
    if isinstance(value, dict):
        return {key: names_everywhere(one, name) for key, one in value.items()}
    if isinstance(value, list):
        return [names_everywhere(one, name) for one in value]
    return name if isinstance(value, str) else value


@pytest.mark.parametrize("kind", NAMES)
def test_names_stay_texts(kind, result):
    hostile = names_everywhere(result.report, NAMES[kind])
    text = run_page(run_of(hostile, None, PluginHost.load()))
    page = Page(text)
    assert len(page.tags("script")) == 1
    assert page.handlers() == []
    assert page.fetched() == []
    assert len(text.encode()) < MOST_BYTES
    for letter in "\x00\x1b\u202e\ud800":
        assert letter not in text


def test_the_drawing_of_layouts_stays_a_picture(copied):
    (copied / "layouts.svg").write_text("<svg onload='alert(1)'></svg><script>alert(2)</script>")
    page = Page(tilewright.report.html(copied))
    assert len(page.tags("script")) == 1
    (image,) = page.tags("img")
    assert image["src"].startswith("data:image/svg+xml;base64,")


def places(value, path=()):
    """The path of everything inside a JSON value."""
    yield path
    every = enumerate(value) if isinstance(value, list) else ()
    for key, one in value.items() if isinstance(value, dict) else every:
        yield from places(one, (*path, key))


def put(report, path, value):
    changed = copy.deepcopy(report)
    inside = changed
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return changed


STRANGE = [None, "text", -1, 0, math.nan, math.inf, 10**400, [], {}, [[]], [{}], {"": None}, True]


def test_any_part_of_it_may_be_anything(result):
    """Of equal parts (`tasks[3].weight`) the first; each is any other kind of value once."""
    report, host = json.loads(json.dumps(result.report)), PluginHost.load()
    shapes = {}
    for path in places(report):
        if path:
            shapes.setdefault(tuple("*" if isinstance(k, int) else k for k in path), path)
    assert len(shapes) > 150
    for number, path in enumerate(shapes.values()):
        for strange in STRANGE[number % 2 :: 2]:
            Page(run_page(run_of(put(report, path, strange), None, host)))


def test_a_page_of_a_run_that_is_not_over_says_what_is_to_come(changed):
    def going_on(report):
        report["to_come"] = ["benchmark", "report"]

    page = changed(going_on)
    assert "not over when its report was written. To come: benchmark." in page.text
    assert "not over" not in changed(lambda report: report.update(to_come=["report"])).text


@pytest.mark.parametrize("stages", range(1, 8))
def test_a_run_that_came_less_far_has_fewer_parts(stages, changed):
    order = [None, None, "measurement", "graph", "compile", "verify", "benchmark"]

    def interrupt(report):
        for name in filter(None, order[stages:]):
            report.pop(name, None)
        if stages < 5:
            report.pop("prediction")
        if stages < 3:
            report.pop("tuning_curve")
        report["stages"] = report["stages"][:stages]
        report["stages"][-1]["status"] = "interrupted"

    page = changed(interrupt)
    assert "ended early" in page.text
    assert ("latency" in page.sections) == (stages > 4)
    assert page.broken_links() == []


def test_without_records_it_says_so(copied):
    (copied / "records.jsonl").unlink()
    page = Page(tilewright.report.html(copied))
    assert "Without its records" in page.text
    assert "tuning" in page.sections
    assert "landscape" not in page.sections


def test_records_that_have_moved_are_named(copied, tmp_path):
    (copied / "records.jsonl").rename(tmp_path / "moved.jsonl")
    page = Page(tilewright.report.html(copied, records=tmp_path / "moved.jsonl"))
    assert "landscape" in page.sections


def test_damaged_records_cost_their_lines_only(copied):
    file = copied / "records.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    lines[1::3] = [b'{"version":1,"kind":"trial",\n' for _ in lines[1::3]]
    file.write_bytes(b"".join(lines)[:-20])
    page = Page(tilewright.report.html(copied))
    assert "lines that are none" in page.text
    assert page.sections[:2] == ["run", "latency"]


@pytest.mark.parametrize("content", [None, "", "[]", "{", "\xff", "1" * 5000])
def test_what_is_no_run_is_refused_in_one_line(content, tmp_path):
    if content is not None:
        (tmp_path / "run.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(UsageError) as raised:
        tilewright.report.html(tmp_path)
    assert str(tmp_path / "run.json") in str(raised.value)
