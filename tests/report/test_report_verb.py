"""`tilewright report`: where it writes, what it says, and what it refuses."""

from __future__ import annotations

import json

import pytest
from page_reader import Page

from tilewright_cli.terminal.group import run


@pytest.fixture
def call(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def answer(*arguments):
        capsys.readouterr()
        code = run(["report", *map(str, arguments)])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return answer


def test_the_page_is_put_into_the_runs_folder(call, copied):
    (copied / "report.html").unlink()
    code, out, _ = call(copied)
    assert (code, out.split(": ")[0]) == (0, str(copied / "report.html"))
    assert Page((copied / "report.html").read_text()).sections[0] == "run"


def test_it_is_put_where_it_is_asked_for_and_told_as_json(call, copied, tmp_path):
    code, out, _ = call(copied / "run.json", "--output", "page.html", "--json")
    page = tmp_path / "page.html"
    assert code == 0
    assert json.loads(out) == {"page": "page.html", "bytes": page.stat().st_size, "runs": 1}


def test_several_runs_have_one_page(call, copied, result):
    code, _, _ = call(copied, result.folder)
    assert code == 0
    assert Page((copied / "comparison.html").read_text()).sections[0] == "runs"


def test_open_shows_it(call, copied, monkeypatch):
    opened = []
    monkeypatch.setattr("click.launch", opened.append)
    call(copied, "--open")
    assert opened == [(copied / "report.html").as_uri()]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nowhere",), "nowhere/run.json: No such file or directory"),
        (("{run}", "--output", "/proc/none/page.html"), "/proc/none/page.html: the page:"),
        (("{run}", "--plugin", "none.py"), "none.py"),
    ],
)
def test_mistakes_are_told_in_a_line(call, copied, arguments, told):
    code, out, err = call(*(one.format(run=copied) for one in arguments))
    assert (code, out) == (2, "")
    assert told in err
    assert "Traceback" not in err
