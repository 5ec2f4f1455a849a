"""What strangers named, on a terminal: no line of its own, nothing that steers, nothing endless."""

from __future__ import annotations

import copy
import pickle

import pytest

from tilewright.errors import UsageError
from tilewright.terminal_text import printable


@pytest.mark.parametrize("part", ["message", "where", "remedy"])
def test_a_name_with_a_newline_makes_no_line_of_its_own(part):
    told = {"message": "no", "where": "here", "remedy": "do", part: "a\nerror: forged\r\n\x1b[2Jb"}
    error = UsageError(told.pop("message"), **told)
    assert len(str(error).splitlines()) == 2
    assert "a error: forged \N{REPLACEMENT CHARACTER}[2Jb" in str(error)


@pytest.mark.parametrize("part", ["message", "where", "remedy"])
def test_a_name_of_a_megabyte_is_cut_in_its_middle(part):
    told = {"message": "no", part: f"first {'x' * 1_300_000} last"}
    text = str(UsageError(told.pop("message"), **told))
    assert len(text) < 2200
    assert "first x" in text
    assert "x last" in text
    assert "...1298011 characters..." in text


def test_what_a_reader_takes_in_is_left_whole():
    assert printable("größe " * 300) == "größe " * 300


def test_several_mistakes_are_told_one_a_line_with_their_places():
    first, second = UsageError("bad", where="a", remedy="mend"), UsageError("worse")
    every = UsageError.several([first.within("net"), second.within("other")])
    assert str(every) == "net: a: bad\n  mend\nother: worse"
    assert str(every.placed("file")) == str(every)


@pytest.mark.parametrize("again", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_error_from_another_process_says_the_same(again):
    error = UsageError("bad", where="a", remedy="mend", also=[UsageError("worse")])
    assert str(again(error)) == str(error)
