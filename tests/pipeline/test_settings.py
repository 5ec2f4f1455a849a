"""What `--set` and other options of the command line are read as."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.errors import UsageError
from tilewright.options import Choice
from tilewright_cli.terminal.choice_text import choice_of
from tilewright_pipeline.writing import write_whole
from tilewright_pipeline.yaml.settings import Setting, apply_setting
from tilewright_pipeline.yaml.yaml_source import YamlSource


def test_a_setting_reaches_every_stage_of_its_name():
    data = {"stages": [{"tune": None}, {"extract": None}, {"tune": {"tuner": "grid"}}]}
    below = "tune", "tuner", "xgb", "options"
    assert apply_setting(data, Setting.of("tune.tuner.xgb.options=[8]")) == [
        ("stages", 0, *below),
        ("stages", 2, *below),
    ]
    first, _, last = (next(iter(stage.values())) for stage in data["stages"])
    first["tuner"]["xgb"]["options"].append(9)  # each has its own
    assert last == {"tuner": {"xgb": {"options": [8]}}}


@pytest.mark.parametrize("text", ["", " "])
def test_a_blank_component_is_told_as_such(text):
    with pytest.raises(UsageError, match="--tuner: expected a name"):
        choice_of("--tuner", text)


def test_several_names_where_one_is_chosen_are_told():
    with pytest.raises(ValueError, match="got several: xgb, genetic"):
        Choice.parse({"xgb": {}, "genetic": {}})


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path, monkeypatch):
    file = tmp_path / "tasks.json"
    write_whole(file, "old", "FOLDER")

    def full(path, *_):
        path.write_bytes(b"ne")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        with pytest.raises(UsageError, match=r"tasks\.json: FOLDER: No space left"):
            write_whole(file, "new", "FOLDER")
    assert (file.read_text(), list(tmp_path.iterdir())) == ("old", [file])


def test_a_pipeline_file_may_lie_in_the_home_folder(tmp_path, monkeypatch):
    (tmp_path / "net.yaml").write_text("version: 1\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert YamlSource.read(Path("~/net.yaml")).plain() == {"version": 1}
