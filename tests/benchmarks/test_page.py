"""RESULTS.md and its charts: made from the data, and short."""

from __future__ import annotations

from datetime import date
from xml.etree import ElementTree as ET

import pytest

SVG = "{http://www.w3.org/2000/svg}"
DAYS = [date(2026, 1, day) for day in range(1, 10)]


@pytest.fixture
def page(module):
    return module("page")


@pytest.fixture
def told(module, page):
    """`told(*entries, machine=...)`: the page of one machine with these entries."""

    def make(*entries, machines=1):
        data = module("result_data")
        files = [
            data.ResultFile(
                machine=data.Machine(name=f"m{n}", title=f"m{n}", model="a processor", cores=2),
                entries=entries,
            )
            for n in range(machines)
        ]
        return page.pages(files)

    return make


@pytest.fixture
def entry(module):
    def make(question, rows, *, day=DAYS[0], **more):
        data, asked = module("result_data"), module("questions").question_named(question)
        described = {"command": "", "source": "--save", "date": day, "unit": asked.unit}
        return data.Entry(
            question=question,
            better=asked.better,
            peer=asked.peer,
            rows=[data.Row(goal=asked.goal, **row) for row in rows],
            **described,
            **more,
        )

    return make


def lines_of(made, page, what):
    return [line for line in made[page.PAGE].splitlines() if line.startswith(f"| {what}")]


def test_the_page_is_what_the_data_say(page, module):
    made = page.pages(module("result_data").read_all())
    stale = [path.name for path, text in made.items() if path.read_text() != text]
    assert stale == [], "run `uv run python benchmarks/page.py`"
    assert {path for path in made if path != page.PAGE} == set(page.FOLDER.glob("*.svg"))


def asked_of(module):
    return [question for section in module("questions").SECTIONS for question in section.questions]


def test_the_page_has_at_most_four_lines_a_question(page, module):
    assert len(page.PAGE.read_text().splitlines()) <= 4 * len(asked_of(module))


def test_it_stays_short_however_many_machines_there_are(page, told, entry, module):
    asked = asked_of(module)
    cases = [{"case": case, "ours": 1.0} for case in ("1 thread", "2 threads")]
    entries = [entry(q.name, cases, state=state) for q in asked for state in ("calm", "shared")]
    made = told(*entries, machines=6)
    assert len(made[page.PAGE].splitlines()) <= 4 * len(asked)
    assert lines_of(made, page, "ResNet-50, 1 thread")


def test_a_case_is_told_with_goal_peer_and_ours(page, told, entry):
    rows = [{"case": "1 thread", "ours": 50.0, "peer": 60.0}]
    assert lines_of(told(entry("resnet50", rows)), page, "ResNet-50") == [
        "| ResNet-50, 1 thread | m0 | 50 ms | 60 ms | **1.20** | 1 | yes |"
    ]


def test_runs_are_told_by_their_median_and_range_and_none_but_what_reaches_is_bold(
    page, told, entry
):
    cases = [{"case": "a", "ours": 94.0}, {"case": "b", "ours": 96.0}, {"case": "c", "ours": 90.0}]
    assert lines_of(told(entry("conv_layers", cases)), page, "AVX-512") == [
        "| AVX-512 | m0 | 94 (90 to 96) % of peak |  |  | 95 | 1 of 3 |"
    ]


def test_ratios_of_several_cases_are_told_by_their_geometric_mean(page, told, entry):
    cases = [{"case": name, "ours": 1.0, "peer": peer} for name, peer in (("a", 1.0), ("b", 4.0))]
    assert lines_of(told(entry("float32", cases)), page, "nine") == [
        "| nine networks | m0 |  |  | **2.00** (1.00 to 4.00) | 1, mean 1.4 | 2 of 2 |"
    ]
    cases = [{**case, "peer": case["peer"] / 2} for case in cases]
    assert lines_of(told(entry("float32", cases)), page, "nine") == [
        "| nine networks | m0 |  |  | 1.00 (0.50 to 2.00) | 1, mean 1.4 | 1 of 2 |"
    ]
    cases[1]["peer"] = 8.0
    assert lines_of(told(entry("float32", cases)), page, "nine") == [
        "| nine networks | m0 |  |  | 2.00 (0.50 to 8.00) | 1, mean 1.4 | 1 of 2 |"
    ]


def test_what_is_shown_everywhere_is_shown_of_every_machine(page, told, entry):
    rows = [{"case": "a", "ours": 1.0, "peer": 1.0}]
    made = told(entry("float32", rows), entry("encoder", rows), machines=6)
    assert len(lines_of(made, page, "nine")) == 6
    assert len(lines_of(made, page, "encoder")) == page.MACHINES


def test_the_newest_day_of_a_case_counts(page, told, entry):
    before = entry("pool", [{"case": "2 threads", "ours": 1.0}, {"case": "1 thread", "ours": 0.5}])
    after = entry("pool", [{"case": "2 threads", "ours": 3.0}], day=DAYS[1], run=2)
    assert lines_of(told(before, after), page, "fork") == [
        "| fork and join | m0 | **1.75** (0.5 to 3) us |  |  | 2 | 1 of 2 |"
    ]


def test_starved_machines_and_trees_of_before_are_told_where_nothing_else_is_known(
    page, told, entry
):
    rows = [{"case": "2 threads", "ours": 1.0}]
    known, starved = entry("pool", rows), entry("pool", rows, state="starved")
    before = entry("pool", [*rows, {"case": "3 threads", "ours": 1.5}], state="before a change")
    assert len(lines_of(told(known, starved), page, "fork")) == 1
    assert len(lines_of(told(starved), page, "fork")) == 1
    assert lines_of(told(known, before), page, "fork") == [
        "| fork and join | m0 | **1** us |  |  | 2 | yes |",
        "| fork and join | m0, before a change | **1.5** us |  |  | 2 | yes |",
    ]


def test_a_chart_has_a_mark_for_each_figure_and_both_colour_schemes(module):
    chart, mark = module("chart").chart, module("chart").Mark
    marks = [mark("a < b", "one", 1.0), mark("c", "one", 2.0, hollow=True), mark("c", "two", 90.0)]
    text = chart("title & more", "ms", marks, 3.0)
    svg = ET.fromstring(text)
    assert svg.find(f"{SVG}title").text == "title & more"
    assert "prefers-color-scheme: dark" in svg.find(f"{SVG}style").text
    # Two marks of the first series and its sign in the legend; the same of the second.
    assert len(svg.findall(f"{SVG}circle")) == 3
    assert len(svg.findall(f"{SVG}rect[@class='s1']")) == 2
    assert len(svg.findall(f"{SVG}circle[@class='s0 hollow']")) == 1
    assert [each.text for each in svg.findall(f"{SVG}text[@class='case']")] == ["a < b", "c"]
    width = float(svg.get("width"))
    places = [float(each.get("cx")) for each in svg.findall(f"{SVG}circle")]
    assert all(0 < place < width for place in places)
    assert len(svg.findall(f"{SVG}line[@class='goal']")) == 1


@pytest.mark.parametrize("values", [[1.0], [0.0], [0.0, 5.0], [-3.0, 2.0], [1e-7, 1e3]])
def test_any_figures_can_be_drawn(module, values):
    chart, mark = module("chart").chart, module("chart").Mark
    text = chart("t", "ms", [mark(f"{value}", "one", value) for value in values], None)
    assert ET.fromstring(text).findall(f"{SVG}circle")
