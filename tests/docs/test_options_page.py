"""docs/options.md is what the models of the installed plugins say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright_cli.reference.option_reference import option_references, options_page

PAGE = Path(__file__).parents[2] / "docs" / "options.md"


@pytest.fixture(scope="module")
def host():
    return PluginHost.load()


def test_the_page_is_what_tilewright_plugins_options_prints(host):
    shown = "\n".join(options_page(host)) + "\n"
    assert PAGE.read_text(encoding="utf-8") == shown, (
        "tilewright plugins --options > docs/options.md"
    )


def test_every_option_says_what_it_takes_and_what_it_means(host):
    found = list(option_references(host))
    assert sum(len(one.options) for one in found) > 80
    assert [
        f"{one.role} {one.name}: {option.name}"
        for one in found
        for option in one.options
        if not (option.takes or option.role) or not option.meaning
    ] == []
