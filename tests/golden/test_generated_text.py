"""The text generated for a config stays, to the byte, unless a change means to change it.

Such a change writes the corpus anew, by `uv run pytest tests/golden -n 0 --write-golden`, and says why.
"""

from __future__ import annotations

import pytest
from generated_text import KINDS, corpus, host, sha256_of, strategies_of, write


@pytest.fixture(params=[pytest.param(kind, marks=pytest.mark.needs(kind)) for kind in KINDS])
def kind(request):
    if request.config.getoption("--write-golden"):
        write(request.param)
    return request.param


def test_the_text_of_every_config_of_the_corpus_is_that_of_before(kind):
    lines = corpus(kind)
    assert len(lines) >= 100
    changed = [line for line in lines if sha256_of(line) != line["sha256"]]
    assert not changed, f"{len(changed)} of {len(lines)}; the first: {changed[0]}"


def test_every_strategy_is_in_the_corpus(kind):
    known = {host().strategy(line["config"]["strategy"]).name for line in corpus(kind)}
    assert known == strategies_of(kind)
