"""docs/hooks.md is what the specifications say."""

from __future__ import annotations

from pathlib import Path

from tilewright.host.plugin_host import PluginHost
from tilewright_cli.reference.hook_specification import hook_specifications, hooks_page

PAGE = Path(__file__).parents[2] / "docs" / "hooks.md"


def test_the_page_is_what_tilewright_plugins_hooks_prints():
    shown = "\n".join(hooks_page(PluginHost.load())) + "\n"
    assert PAGE.read_text(encoding="utf-8") == shown, "tilewright plugins --hooks > docs/hooks.md"


def test_every_hook_has_its_exact_arguments_on_the_page():
    found = hook_specifications(PluginHost.load())
    page = PAGE.read_text(encoding="utf-8")
    assert len(found) >= 26
    for hook in found:
        assert f"### {hook.name}\n\n```\n{hook.signature}\n```\n" in page
