"""The most similar of many workloads are those that a comparison with each would find."""

from __future__ import annotations

import random

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright_models.similar_workloads import SimilarWorkloads
from tilewright_records.similarity import similarity


@pytest.fixture(scope="module")
def workloads():
    """Convolutions and products of extents that often are equal, some with other attributes."""
    host, generator = PluginHost.load(), random.Random(3)
    found = []
    for _ in range(150):
        channels, filters, size = (generator.choice((8, 9, 16, 64, 512)) for _ in range(3))
        padding, epilogue = generator.choice((0, 1)), generator.choice(("", " + relu()"))
        text = (
            f"(1x{channels}x{size}x{size}, {filters}x{channels}x3x3, padding={padding}){epilogue}"
        )
        found.append(host.reference("conv2d").parse(text, ""))
        found.append(
            host.reference("dense").parse(f"({size}x{channels}, {filters}x{channels})", "")
        )
    return found


@pytest.mark.parametrize("count", [1, 6, 1000])
def test_they_are_those_of_a_comparison_with_each(workloads, count):
    similar = SimilarWorkloads(workloads)
    for wanted in workloads[:40]:
        alike = [similarity(wanted, other) for other in workloads]
        places = sorted((-share, place) for place, share in enumerate(alike) if share > 0)
        assert similar.most_similar(wanted, count) == [place for _, place in places[:count]]


def test_nothing_is_similar_to_a_workload_of_another_kind(workloads):
    dense = [one for one in workloads if one.operator == "dense"]
    conv = next(one for one in workloads if one.operator == "conv2d")
    assert SimilarWorkloads(dense).most_similar(conv, 3) == []
    assert SimilarWorkloads([]).most_similar(conv, 3) == []
