"""docs/protocols.md is what the source says, and says it of every role."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright_cli.reference.protocol_reference import protocols_page, role_references

PAGE = Path(__file__).parents[2] / "docs" / "protocols.md"


@pytest.fixture(scope="module")
def host():
    return PluginHost.load()


def test_the_page_is_what_tilewright_plugins_protocols_prints(host):
    shown = "\n".join(protocols_page(host)) + "\n"
    written = PAGE.read_text(encoding="utf-8")
    assert written == shown, "tilewright plugins --protocols > docs/protocols.md"


def test_every_role_has_a_section_that_says_what_its_components_offer(host):
    page, references = PAGE.read_text(encoding="utf-8"), role_references(host)
    assert {each.role for each in references} >= set(host.roles())
    for each in references:
        assert f"## Role: {each.role.replace('_', ' ')}\n" in page
        assert each.protocols, each.role
        assert any(found.members for found in each.protocols), each.role


def test_every_method_of_a_protocol_is_explained(host):
    for each in role_references(host):
        for found in each.protocols:
            for member in found.members:
                told = member.meaning or found.kind != "protocol" or not member.is_method
                assert told, f"{found.place}.{found.name}.{member.name}"


def test_every_link_leads_to_one_heading():
    page = PAGE.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    anchors = Counter(re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings)
    links = set(re.findall(r"\]\(#([^)]*)\)", page))
    assert len(links) > 40
    assert {link for link in links if anchors[link] != 1} == set()


@pytest.mark.parametrize(
    "name",
    ["TunerContext", "ConfigSpace", "Trial", "TaskState", "GraphProblem", "NetworkBuilder",
     "LoopProgram", "Limits", "HostKernel", "RunContext", "MeasureContext", "Kernel"],
)  # fmt: skip
def test_what_authors_ask_for_is_explained(name):
    section = re.search(
        rf"^### {name}\n(.*?)(?=^##)", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert section is not None
    assert re.search(rf"`from tilewright[\w.]* import {name}`", section[1])
    assert re.search(r"^(\| `\w+` \||\* `\w+\()", section[1], re.MULTILINE)
