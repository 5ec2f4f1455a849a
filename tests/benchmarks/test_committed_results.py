"""The results of the repository: whole, and of questions that somebody asks."""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "benchmarks" / "results"


def test_each_file_is_as_the_scripts_would_write_it(module, tmp_path):
    data = module("result_data")
    for file in data.read_all(FOLDER):
        path = tmp_path / f"{file.machine.name}.json"
        data.write(file, path)
        assert path.read_text() == (FOLDER / path.name).read_text()


def test_each_entry_answers_a_question_in_its_unit(module):
    question_named = module("questions").question_named
    for file in module("result_data").read_all(FOLDER):
        for entry in file.entries:
            asked = question_named(entry.question)
            told = (entry.unit, entry.better, entry.peer)
            assert told == (asked.unit, asked.better, asked.peer), entry.question


def test_files_name_no_place_of_a_machine():
    for path in FOLDER.glob("*.json"):
        commands = [entry["command"] for entry in json.loads(path.read_text())["entries"]]
        assert not [command for command in commands if " /" in command or "=/" in command]
