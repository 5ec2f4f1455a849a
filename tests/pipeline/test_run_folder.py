"""A run's folder: made before the first stage, kept for one model and one target."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import jsonschema
import pytest

from tilewright.errors import UsageError
from tilewright.options import NoOptions
from tilewright_pipeline.pipeline import Pipeline
from tilewright_pipeline.run.run_report import SCHEMA_FILE
from tilewright_pipeline.stages.planned_stage import PlannedStage
from tilewright_pipeline.stages.stage import StageResult


@dataclass(frozen=True)
class Net:
    name: str
    origin: str
    content_hash: str


class Reads:
    """A stage that makes the networks of a test, and notes whether the run's folder is there."""

    consumes = optional = produces = ()
    nets: tuple[Net, ...] = ()
    folder_was_there = False

    def __init__(self, options, context):
        self.context = context

    def run(self, values):
        Reads.folder_was_there = self.context.folder.is_dir()
        if not self.nets:
            raise UsageError("no such model")
        if len(self.nets) == 1:
            return StageResult(self.nets)
        return StageResult(branches={net.name: (net,) for net in self.nets})


@pytest.fixture
def run(pipeline_file, monkeypatch):
    """A function that runs a stage which reads these networks: the content of run.json."""
    path = pipeline_file()

    def invoke(*nets, target=None, out=None):
        monkeypatch.setattr(Reads, "nets", nets)
        made = Pipeline.load(path, target=target)
        stages = (PlannedStage("source", NoOptions(), Reads, "file:1:1"),)
        pipeline = replace(made, plan=replace(made.plan, stages=stages))
        report = json.loads((pipeline.run(out=out).folder / "run.json").read_text())
        jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text()))
        return report

    return invoke


ONE = Net("model", "a/model.onnx", "1111")
OTHER = Net("model", "b/model.onnx", "2222")


HOSTILE = (5, [[]], [{"name": []}], [{"origin": 3, "content": {}}], {"name": 1}, [None, {}])


@pytest.mark.parametrize("models", HOSTILE)
def test_a_report_that_says_nonsense_of_its_models_says_nothing(run, tmp_path, models):
    out = tmp_path / "out"
    for nets in ((ONE,), (ONE, replace(OTHER, name="other"))):
        run(ONE, out=out)
        written = json.loads((out / "run.json").read_text())
        (out / "run.json").write_text(json.dumps({**written, "models": models}))
        named = run(*nets, out=out)["models"]
        assert [model["content"] for model in named] == [net.content_hash for net in nets]
        (out / "run.json").unlink()


def test_an_origin_is_any_text(run, tmp_path):
    """The home of a user that does not exist, and no path at all."""
    for origin in ("~nobody-of-that-name/model.onnx", "a\0b", "zoo:resnet18"):
        run(replace(ONE, origin=origin), out=tmp_path / "out")
        run(replace(ONE, origin=origin, content_hash="3333"), out=tmp_path / "out")
        (tmp_path / "out" / "run.json").unlink()


def test_the_folder_of_a_run_exists_before_the_first_stage(run):
    run(ONE)
    assert Reads.folder_was_there


def test_a_stage_that_is_wrong_about_its_input_leaves_no_folder(run, tmp_path):
    with pytest.raises(UsageError, match="no such model"):
        run()
    assert Reads.folder_was_there
    assert not (tmp_path / "runs").exists()


def test_the_folder_says_whose_it_is(run):
    assert run(ONE)["models"] == [{"name": "model", "origin": "a/model.onnx", "content": "1111"}]


def test_the_folder_of_another_model_is_not_overwritten(run, tmp_path):
    before = run(ONE)
    with pytest.raises(UsageError) as error:
        run(OTHER)
    assert str(error.value) == (
        "runs/toyrun: the folder of a run of a/model.onnx, and this is b/model.onnx\n"
        "  take another folder, such as --out runs/toyrun-2, or remove this one"
    )
    assert json.loads((tmp_path / "runs/toyrun/run.json").read_text()) == before
    run(OTHER, out="runs/toyrun-2")
    with pytest.raises(UsageError, match="--out runs/toyrun-3"):
        run(replace(OTHER, content_hash="3333", origin="c/model.onnx"))


def test_the_folder_of_another_target_is_not_overwritten(run):
    run(ONE)
    with pytest.raises(UsageError, match="a run for toy:threads=1, and this is for toy:threads=2"):
        run(ONE, target="toy:threads=2")


def test_the_same_model_goes_on_in_its_folder_also_where_it_was_moved_or_named_in_full(
    run, tmp_path, caplog
):
    run(ONE)
    run(ONE)
    run(replace(ONE, origin="elsewhere/m.onnx"))
    run(ONE)
    assert caplog.messages == []


def test_a_model_that_changed_goes_on_in_its_folder_and_is_told(run, tmp_path, caplog):
    run(ONE)
    changed = replace(ONE, content_hash="1112", origin=str(tmp_path / "a" / "model.onnx"))
    assert run(changed)["models"][0]["content"] == "1112"
    (said,) = caplog.messages
    assert "model.onnx is not as in the run before in runs/toyrun (its file, its shapes" in said


def test_of_several_networks_each_place_is_kept_for_its_own(run):
    two = replace(OTHER, name="other")
    run(ONE, two)
    run(two, ONE)
    run(two, ONE, Net("third", "c.onnx", "3333"))
    with pytest.raises(UsageError, match=r"a run of b/model.onnx, and this is d.onnx"):
        run(ONE, replace(two, origin="d.onnx", content_hash="4444"))


@pytest.mark.parametrize("text", ["", "[]", "{broken", '{"models": [3], "target": null}'])
def test_a_report_that_says_nothing_keeps_nobody_out(run, tmp_path, text):
    (tmp_path / "runs/toyrun").mkdir(parents=True)
    (tmp_path / "runs/toyrun/run.json").write_text(text)
    assert run(ONE)["models"]
