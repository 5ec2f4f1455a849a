"""What a network prints of itself fits a screen, however large it is and whatever its names are."""

from __future__ import annotations

import pytest

from tilewright_graph.compiled.compile import compile_network
from tilewright_graph.compiled.compiled_network import Latency
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_tensor.operators.operators import Operators

SCREEN = 400


@pytest.fixture
def wide():
    """Thirty inputs, whose names are a stranger's."""
    b = NetworkBuilder("net\x1b[2J" + "n" * 5000)
    inputs = [b.input(f"x{i}\n" + "y" * 5000, (2, 3)) for i in range(30)]
    total = inputs[0]
    for one in inputs[1:]:
        total = b.add(total, one)
    return b.network([total])


def test_the_repr_of_a_network_fits_a_screen(wide, context):
    extracted = extract(wide, context.target, Operators.of(context.host))
    compiled, report = compile_network(extracted, context)
    values = (wide, extracted, extracted.task_set(), compiled, report)
    for text in map(repr, values):
        assert len(text) <= SCREEN
        assert text.isprintable()
    told = repr(compiled)
    assert "float32[2, 3], 27 more -> " in told
    compiled.close()
    assert repr(compiled) == told.replace("<", "<closed ", 1)


def test_the_repr_of_a_latency_is_not_every_sample():
    assert repr(Latency((1e-3,) * 100)) == (
        "<Latency median 1.000 ms, 1.000 ms to 1.000 ms in 100 runs>"
    )
