"""What README.md and the page of commands say can be typed, and what the README shows runs."""

from __future__ import annotations

import re
from pathlib import Path

import jsonschema
import pytest

import tilewright
from tilewright.host.plugin_host import PluginHost
from tilewright_cli.terminal.group import run
from tilewright_pipeline.yaml.schema import pipeline_schema
from tilewright_pipeline.yaml.yaml_source import YamlSource

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
LINKING = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "*/README.md", "plugins/*/README.md")
    for page in ROOT.glob(pattern)
)
EXAMPLES = sorted((ROOT / "examples").glob("**/*.yaml"))
VERB = re.compile(r"(?<!from )tilewright((?: [a-z][a-z-]*)+)(?= |`|$)", re.MULTILINE)
VERBS = sorted({verb for page in (README, COMMANDS) for verb in VERB.findall(page)})


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_that_is_named_exists(verb, capsys):
    assert run([*verb.split(), "--help"]) == 0
    usage = capsys.readouterr().out.partition("Usage: tilewright")[2].partition(" [")[0]
    assert usage
    assert verb.startswith(usage)  # an argument may follow


def test_the_readme_is_read_in_one_sitting():
    assert README.count("\n") <= 200


def test_every_path_of_the_readme_exists():
    named = re.findall(r"(?:core|plugins|examples|benchmarks|tests|docs)/[\w./-]*\w", README)
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", LINKING, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page):
    """Files exist, and headings behind `#` stand on the page that is linked."""
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        if link.startswith("https://"):
            continue
        linked = page.parent / path if path else page
        if not linked.exists() or (anchor and anchor not in headings(linked)):
            broken.append(link)
    assert broken == []


def headings(page):
    """Their anchors, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_pipeline_of_the_readme_is_the_example():
    (shown,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    shown, kept = (
        YamlSource.parse(text, "yaml").plain()
        for text in (shown, (ROOT / "examples/resnet50.yaml").read_text(encoding="utf-8"))
    )
    kept.pop("measure")
    assert shown == kept


@pytest.mark.parametrize(
    "name", ["cuda", "graph", "measure", "onnx", "pipeline", "records", "search", "tensor", "x86"]
)
def test_the_readme_of_a_plugin_names_what_it_registers(name):
    page = (ROOT / "plugins" / name / "README.md").read_text(encoding="utf-8")
    host = PluginHost.load()
    offered = {
        component
        for role in set(host.roles()) - {"operator", "reference", "strategy", "graph_pass"}
        for component, owner in host.owners(role).items()
        if owner.distribution == f"tilewright-{name}"
    }
    assert {component for component in offered if f"`{component}`" not in page} == set()


def test_what_readmes_show_of_pipelines_is_valid():
    schema = pipeline_schema(PluginHost.load())
    shown = [
        YamlSource.parse(text, str(page)).plain()
        for page in ROOT.glob("plugins/*/README.md")
        for text in re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    ]
    assert len(shown) >= 3
    for part in shown:
        whole = {"stages": part} if isinstance(part, list) else {"stages": [{"tune": {}}], **part}
        jsonschema.validate({"version": 1, **whole}, schema)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_is_planned(path):
    assert tilewright.Pipeline.load(path).plan.stages


def test_the_snippet_of_the_readme_runs(folder):
    """On a tiny network and budget; its texts are otherwise what a reader would paste."""
    (snippet,) = re.findall(r"```python\n(import tilewright\n.*?)```", README, re.DOTALL)
    for shown, small in (
        ("examples/resnet50.yaml", "tiny.yaml"),
        ("onnx-light:resnet50", "tiny.onnx"),
        ('budget="10s"', "budget=2"),
        ("1x3x224x224", "1x8x7x7"),
        ("(1, 3, 224, 224)", "(1, 8, 7, 7)"),
    ):
        snippet = snippet.replace(shown, small)
    names = {}
    exec(compile(snippet, "README.md", "exec"), names)
    assert names["result"].report["verify"]["passed"]
    assert names["best"].seconds > 0
    assert names["answers"].keys() == names["network"].outputs.keys()
    assert names["network"].benchmark().seconds


def test_the_operator_shown_is_the_example() -> None:
    shown = "\n".join(line.removeprefix("    ") for line in README.splitlines())
    example = (ROOT / "examples" / "own_operator.py").read_text(encoding="utf-8")
    assert example.split('"""')[2].strip() in shown
