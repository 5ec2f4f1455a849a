"""Running pipelines over the toy world: run.json, folders, devices, settings, exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from tilewright import Pipeline
from tilewright.errors import UsageError
from tilewright.plugins.plugin import hookimpl
from tilewright.vocabulary.budget import Budget
from tilewright_pipeline.run.run_report import SCHEMA_FILE

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(path, *settings, **options):
    return Pipeline.load(path, settings=settings).run(**options)


def read_report(folder):
    report = json.loads((folder / "run.json").read_text())
    jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text()))
    return report


def test_a_run_writes_a_report_after_the_schema(pipeline_file):
    result = run(pipeline_file())
    report = read_report(result.folder)
    assert result.exit_code == 0
    assert report == result.report
    assert [stage["status"] for stage in report["stages"]] == ["ok", "ok", "ok"]
    assert report["measurement"]["trials"] == 20
    assert [task["name"] for task in report["tasks"]] == ["layer0", "layer1"]
    first = report["tasks"][0]
    assert first["gflops"] == pytest.approx(8 / first["best_seconds"] / 1e9)
    assert first["peak_share"] == pytest.approx(8 / first["best_seconds"] / 1e9)
    assert report["verify"]["passed"] is True


def test_run_json_says_what_is_to_come_while_the_run_goes_on(pipeline_file):
    seen = {}

    class Watch:
        @hookimpl
        def tilewright_stage_finished(self, run, outcome):
            is_there = (run.folder / "run.json").exists()
            seen[outcome.name] = read_report(run.folder).get("to_come") if is_there else None

    result = Pipeline.load(pipeline_file(), observers=[Watch()]).run()
    # Each sees what was written after the stage before it; nothing, where the folder was empty.
    assert seen == {"source": None, "tune": None, "check": ["check"]}
    assert "to_come" not in read_report(result.folder)


def test_a_second_run_measures_nothing_and_more_goes_on(pipeline_file):
    path = pipeline_file()
    run(path)
    assert run(path).report["measurement"]["trials"] == 0
    for more in (Budget(trials=7), "7 trials", 7):
        assert run(path, more=more).report["measurement"]["trials"] == 7
    assert run(path).report["measurement"]["trials"] == 0
    with pytest.raises(UsageError, match=r"--more: expected seconds or .*'soon'\n  write 60s"):
        run(path, more="soon")


def test_what_the_tuning_stages_measured_adds_up(pipeline_file):
    path = pipeline_file(check="{}\n  - tune: {tuner: toy, scheduler: toy, budget: 8}")
    found = read_report(run(path).folder)["measurement"]
    assert (found["trials"], found["counts"]) == (28, {"built": 28})
    assert found["split"]["lower"] == pytest.approx(28e-6)


def test_more_that_suits_not_every_tuning_stage_is_refused_before_the_first_measures(
    pipeline_file, tmp_path
):
    path = pipeline_file(check="{}\n  - tune: {tuner: toy, scheduler: toy, budget: 9s}")
    with pytest.raises(UsageError, match=r"--more: 7 trials cannot be added .* in seconds"):
        run(path, more=Budget(trials=7))
    assert not (tmp_path / "runs").exists()


def test_another_option_is_another_stage(pipeline_file):
    path = pipeline_file()
    run(path)
    assert run(path, "tune.budget=24").report["measurement"]["trials"] == 24


def test_a_failed_check_skips_the_rest_and_is_reported(pipeline_file):
    path = pipeline_file(check="{passes: false}\n  - tune: {tuner: toy, scheduler: toy}")
    result = run(path)
    report = read_report(result.folder)
    assert result.exit_code == 1
    assert [s["status"] for s in report["stages"]] == ["ok", "ok", "failed", "skipped"]
    assert report["verify"]["passed"] is False


@pytest.mark.parametrize(
    ("adds", "message"),
    [("error", "not JSON compliant"), ("tasks", "the members tasks of run.json")],
)
def test_a_stage_whose_report_run_json_cannot_hold_is_named_and_the_rest_is_told(
    pipeline_file, tmp_path, adds, message
):
    with pytest.raises(ValueError, match=message) as error:
        run(pipeline_file(check=f"{{adds: {adds}}}"))
    assert error.value.__notes__[0].startswith("in the stage 'check' of ")
    report = read_report(tmp_path / "runs" / "toyrun")
    assert [stage["status"] for stage in report["stages"]] == ["ok", "ok", "failed"]
    assert report["measurement"]["trials"] == len(report["tasks"]) * 10


def test_tasks_that_never_work_make_the_result_partial(pipeline_file, caplog):
    result = run(pipeline_file(runner="fails: all"))
    assert result.exit_code == 3
    assert read_report(result.folder)["tasks"][0]["best_seconds"] is None
    assert re.search(r"layer0: all \d+ trials failed", caplog.text)
    assert "crash (SIGTOY): toy failure" in caplog.text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["tune.bugdet=3"], "did you mean 'budget'"),
        (["tuen.budget=3"], "did you mean 'tune'"),
        (["tune=3"], "names a stage"),
        (["tune"], "expected stage.option=value"),
        (["tune.tuner.toy.batch=many"], "--set tune.tuner.toy.batch=many"),
        (["measure.repeat=0"], "expected a whole number from 3 to 1000, got 0\n  the default is 5"),
        (["seed=x"], "expected a whole number from 0 to 2147483647, got 'x'"),
        (["strategies=toy.lop*"], r"--set strategies=.*'toy.lop\*'\n  did you mean 'toy.loop'"),
    ],
)
def test_a_bad_setting_is_refused_before_anything_runs(pipeline_file, tmp_path, settings, message):
    with pytest.raises(UsageError, match=message):
        Pipeline.load(pipeline_file(), settings=settings)
    assert not (tmp_path / "runs").exists()


def test_settings_reach_below_a_short_choice(pipeline_file):
    pipeline = Pipeline.load(pipeline_file(), settings=["tune.tuner.toy.batch=9", "seed=7"])
    assert pipeline.plan.stages[1].options.tuner.options == {"batch": 9}
    assert pipeline.file.seed == 7


def test_the_plan_refuses_a_stage_without_its_input(tmp_path, toy):
    path = tmp_path / "p.yaml"
    path.write_text(
        f"version: 1\ntarget: toy\nplugins: ['{toy}']\nmeasure: {{runner: toy, builder: toy}}\n"
        "stages:\n  - check: {}\n  - source: {}\n"
    )
    with pytest.raises(UsageError, match=r":6:5: stages\[0\].check: .*needs a TaskSet") as error:
        Pipeline.load(path)
    assert "move 'source' before it" in str(error.value)


def test_peaks_are_measured_once(pipeline_file, tmp_path):
    run(pipeline_file())
    kept = tmp_path / "cache" / "tilewright" / "peaks.json"
    (entry,) = json.loads(kept.read_text()).values()
    assert entry == {"toy:threads=1": [1e9, 1e9]}
    known = json.loads(kept.read_text())
    kept.write_text(json.dumps({f: {"toy:threads=1": [5e9, 1e9]} for f in known}))
    assert run(pipeline_file()).report["device"]["peak_flops"] == {"1": 5e9}
    kept.write_text("{broken")
    assert run(pipeline_file()).report["device"]["peak_flops"] == {"1": 1e9}


def test_a_long_search_raises_peaks_that_were_measured_in_a_busy_hour(pipeline_file, tmp_path):
    run(pipeline_file())
    kept = tmp_path / "cache" / "tilewright" / "peaks.json"
    known = json.loads(kept.read_text())
    kept.write_text(json.dumps({f: {"toy:threads=1": [1e3, 1e9]} for f in known}))
    assert run(pipeline_file()).report["device"]["peak_flops"] == {"1": 1e3}
    long = run(pipeline_file(), "tune.budget=20s", "tune.early_stopping=1")
    assert long.report["device"]["peak_flops"] == {"1": 1e9}


def test_the_folder_of_a_run_is_a_path_or_a_text(pipeline_file, tmp_path):
    path = pipeline_file()
    for out in (tmp_path / "own", str(tmp_path / "own")):
        assert run(path, out=out).folder == tmp_path / "own"


@pytest.mark.parametrize("case", ["file", "below-file", "loop", "long", "not-utf8", "nul"])
def test_a_folder_that_cannot_be_made_is_one_clear_error(pipeline_file, tmp_path, case):
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    out = {
        "file": tmp_path / "file",
        "below-file": tmp_path / "file" / "below",
        "loop": tmp_path / "loop" / "x",
        "long": tmp_path / ("n" * 256),
        "not-utf8": tmp_path / "file" / "\udcff",
        "nul": tmp_path / "\0",
    }[case]
    before = sorted(tmp_path.iterdir())
    path = pipeline_file()
    with pytest.raises(UsageError) as error:
        run(path, out=out)
    str(error.value).encode()
    assert sorted(p for p in tmp_path.iterdir() if p not in (path, tmp_path / "cache")) == before


def test_a_stage_that_is_wrong_about_its_input_leaves_nothing(pipeline_file, tmp_path):
    with pytest.raises(UsageError, match=r"matches '\*/none'"):
        run(pipeline_file(sizes="[]"), "strategies='*/none'", "source.sizes=[4]")
    assert not (tmp_path / "runs").exists()


def test_a_stage_that_is_wrong_about_its_input_says_where_it_stands(pipeline_file):
    with pytest.raises(UsageError, match=r"toy.yaml:8:5: stages\[1\].tune: .*matches '\*/none'"):
        run(pipeline_file(), "strategies='*/none'")


def test_a_mistake_in_the_input_keeps_the_report_of_the_run_before(pipeline_file):
    path = pipeline_file()
    before = run(path).folder / "run.json"
    text = before.read_text()
    with pytest.raises(UsageError, match="negative"):
        run(path, "source.sizes=[-1]")
    assert before.read_text() == text


def test_only_a_stage_and_what_leads_to_it_is_run(pipeline_file):
    path = pipeline_file()
    result = Pipeline.load(path, only="check").run()
    assert [stage["name"] for stage in result.report["stages"]] == ["source", "check"]
    with pytest.raises(UsageError, match=r"no stage 'compile' in this pipeline\n.*add `- compile"):
        Pipeline.load(path, only="compile")


def test_a_target_given_beside_the_file_replaces_its_own(pipeline_file):
    path = pipeline_file()
    assert Pipeline.load(path, target="toy:threads=3").plan.target.threads == 3
    with pytest.raises(UsageError, match="--target: no target named 'moon'"):
        Pipeline.load(path, target="moon")


def test_the_schema_accepts_the_good_and_refuses_the_misspelt(host):
    from tilewright_pipeline.yaml.schema import pipeline_schema

    schema = pipeline_schema(host)
    jsonschema.Draft202012Validator.check_schema(schema)
    tune = {"tune": {"tuner": {"toy": {"batch": 3}}, "budget": "60s"}}
    good = {
        "version": 1,
        "target": {"kind": "toy"},
        "stages": [{"source": {}}, tune, {"check": None}],
    }
    jsonschema.validate(good, schema)
    for bad in (
        {**good, "stagse": []},
        {**good, "stages": [{"tune": {"tuner": {"toy": {"bach": 3}}}}]},
        {**good, "stages": [{"tune": {"tuner": "tooy"}}]},
        {**good, "stages": [{"sauce": {}}]},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema)


def test_the_schema_says_what_every_key_and_every_choice_means(host):
    from tilewright_pipeline.yaml.schema import pipeline_schema

    keys = pipeline_schema(host)["properties"]
    assert [name for name, key in keys.items() if not key.get("description")] == []
    section = keys["measure"]["properties"]
    assert [name for name, key in section.items() if not key.get("description")] == []


def test_the_schema_has_every_default_as_a_file_would_write_it(host):
    from tilewright_pipeline.yaml.schema import pipeline_schema

    schema = pipeline_schema(host)
    (tune,) = (
        stage
        for stage in schema["properties"]["stages"]["items"]["anyOf"]
        if "tune" in stage["properties"]
    )
    options = tune["properties"]["tune"]["anyOf"][0]["properties"]
    shown = {name: options[name]["default"] for name in ("tuner", "scheduler", "budget")}
    assert shown == {"tuner": "xgb", "scheduler": "round-robin", "budget": "60s"}
    assert schema["properties"]["measure"]["properties"]["runner"]["default"] == "local"
    assert schema["properties"]["record_store"]["default"] == "jsonl"
    assert schema["properties"]["target"]["default"] == "x86"


def test_a_target_that_the_device_cannot_run_is_refused(pipeline_file, tmp_path):
    with pytest.raises(UsageError, match=r"target.threads=64: .*toy:threads=64: toy0 has 4"):
        run(pipeline_file(), "target.threads=64")
    assert not (tmp_path / "runs").exists()


@pytest.mark.needs("graph", "onnx", "search")
def test_the_schema_accepts_what_the_examples_say(host):
    from tilewright_pipeline.yaml.schema import pipeline_schema
    from tilewright_pipeline.yaml.yaml_source import YamlSource

    schema = pipeline_schema(host)
    jsonschema.Draft202012Validator.check_schema(schema)
    for path in EXAMPLES.glob("*.yaml"):
        jsonschema.validate(YamlSource.read(path).plain(), schema)
