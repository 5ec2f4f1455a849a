"""What a picture of layouts shows, read back from its XML."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import pytest

from tilewright.vocabulary.config import ConfigEntity
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.extraction.transforms import TRANSFORM
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.pictures.layered_drawing import draw_layers
from tilewright_graph.pictures.layout_flow import FlowEdge, FlowNode, LayoutFlow, layout_flow
from tilewright_graph.pictures.layout_picture import layout_picture
from tilewright_graph.selection.assembly import assemble
from tilewright_tensor.operators.operators import Operators

SVG = {"s": "http://www.w3.org/2000/svg"}


def config(block):
    return ConfigEntity("paper", {"block": block})


@pytest.fixture
def extracted(context):
    """A tensor that two kernels and the caller read, and a view that two read."""
    b = NetworkBuilder("<net> & 'co'")
    y = b.max_pool2d(b.input("x", (1, 8, 4, 4)), pool_size=1, name="a<b>&\x07")
    v = b.add(b.max_pool2d(y, pool_size=1), y)
    view = b.reshape(v, shape=[1, 8, 2, 8])
    z = b.add(b.max_pool2d(view, pool_size=1), b.avg_pool2d(view, pool_size=1))
    return extract(b.network([z], observed=[y]), context.target, Operators.of(context.host))


def flow_of(extracted, context, blocks):
    picks = dict(zip((k.key for k in extracted.kernels), map(config, blocks), strict=True))
    return picks, layout_flow(extracted, picks, context.host)


@pytest.mark.parametrize("blocks", [(1, 1, 1, 1), (4, 4, 8, 8), (8, 4, 1, 4), (4, 8, 4, 8)])
def test_the_flow_has_the_transforms_of_the_assembly(extracted, context, blocks):
    picks, flow = flow_of(extracted, context, blocks)
    calls = assemble(extracted, lambda _, node: picks.get(node), context.host).calls
    expected = Counter(c.task for c in calls if c.task.workload.operator == TRANSFORM)
    assert Counter(task for _, task in flow.transforms) == expected


def test_the_picture_has_every_node_and_transform_of_both_panels(extracted, context):
    flows = [flow_of(extracted, context, blocks)[1] for blocks in ((8, 4, 1, 4), (4, 4, 4, 4))]
    picture = layout_picture(extracted.name, list(zip(("before", "after"), flows, strict=True)))
    panels = ET.fromstring(picture).findall("s:g[@class='panel']", SVG)
    assert len(panels) == 2
    for panel, flow in zip(panels, flows, strict=True):
        nodes = [g for g in panel.findall("s:g", SVG) if g.get("class", "").startswith("node")]
        assert [g.get("data-layout") for g in nodes] == [node.layouts[0] for node in flow.nodes]
        marks = panel.findall("s:polygon[@class='mark']", SVG)
        assert len({mark.get("data-transform") for mark in marks}) == len(flow.transforms)
        assert len(marks) == sum(edge.transform is not None for edge in flow.edges)
        paths = panel.findall("s:path", SVG)
        assert len(paths) == len(flow.edges)
        assert sum("changed" in path.get("class", "") for path in paths) == len(marks)
    assert len(flows[0].transforms) > len(flows[1].transforms) > 0


def test_panels_differ_in_how_many_layouts_a_reader_takes_a_tensor_in():
    nodes = tuple(
        FlowNode(name, kind, name, ("NCHW",)) for name, kind in (("x", "input"), ("k", "kernel"))
    )
    one = LayoutFlow(nodes, (FlowEdge("x", 0, 1, None),))
    two = LayoutFlow(nodes, (FlowEdge("x", 0, 1, None), FlowEdge("x", 0, 1, None)))
    for flows in ((one, two), (two, one)):
        picture = layout_picture("net", list(zip(("before", "after"), flows, strict=True)))
        panels = ET.fromstring(picture).findall("s:g[@class='panel']", SVG)
        assert [len(panel.findall("s:path", SVG)) for panel in panels] == [
            len(f.edges) for f in flows
        ]


def test_a_layout_has_one_colour_everywhere_and_stands_in_the_legend(extracted, context):
    _, flow = flow_of(extracted, context, (8, 4, 1, 4))
    root = ET.fromstring(layout_picture("net", [("only", flow)]))
    legend = root.find("s:g[@class='legend']", SVG)
    named = [text.text for text in legend.findall("s:text", SVG)]
    fills = [box.get("fill") for box in legend.findall("s:rect", SVG)]
    colours = dict(zip(named, fills, strict=False))
    assert len(set(fills)) == len(fills)
    for node in root.find("s:g[@class='panel']", SVG).findall("s:g", SVG):
        assert node.find("s:rect", SVG).get("fill") == colours[node.get("data-layout")]


def test_the_picture_is_self_contained_and_names_are_harmless(extracted, context):
    _, flow = flow_of(extracted, context, (4, 4, 4, 4))
    picture = layout_picture(extracted.name, [("only <&>", flow)])
    root = ET.fromstring(picture)
    assert root.find("s:title", SVG).text == "layouts of <net> & 'co'"
    titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any("a<b>&\N{REPLACEMENT CHARACTER}" in title for title in titles)
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")
    assert not {"script", "image"} & {element.tag.rpartition("}")[2] for element in root.iter()}


def test_nodes_of_a_drawing_do_not_overlap_and_edges_lead_down():
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3), (3, 4), (0, 4), (5, 4)]
    drawing = draw_layers(6, edges, node_width=10, edge_width=2, layer_height=7)
    for (x, y), (other_x, other_y) in combinations(drawing.centres, 2):
        assert y != other_y or abs(x - other_x) >= 10 - 1e-9
    for (source, target), bends in zip(edges, drawing.bends, strict=True):
        ways = [drawing.centres[source], *bends, drawing.centres[target]]
        assert [y for _, y in ways] == sorted({y for _, y in ways})
        assert {round((b[1] - a[1]) / 7) for a, b in pairwise(ways)} == {1}
    assert all(5 - 1e-9 <= x <= drawing.width - 5 + 1e-9 for x, _ in drawing.centres)
    assert drawing.centres[5][1] == drawing.centres[4][1] - 7  # an input stands beside its reader


def test_a_chain_is_drawn_straight():
    drawing = draw_layers(4, [(0, 1), (1, 2), (2, 3)], node_width=10, edge_width=2, layer_height=5)
    assert len({x for x, _ in drawing.centres}) == 1
    assert (drawing.width, drawing.height) == (10, 20)


def test_kernels_name_the_precision_of_their_products_where_these_differ():
    def flow(*precisions):
        fixed = FlowNode("x", "input", "x", ("NC",))
        return LayoutFlow(
            (fixed, *(FlowNode(p, "kernel", "k", ("NC",), p) for p in precisions)), ()
        )

    def told(picture):
        texts = ET.fromstring(picture).findall(".//s:text[@class='precision']", SVG)
        return [text.text for text in texts]

    before, after = flow("float32", "float32"), flow("bfloat16", "float32")
    panels = [("before", before), ("after", after)]
    assert told(layout_picture("net", panels)) == ["float32", "float32", "bfloat16", "float32"]
    assert told(layout_picture("net", panels[:1])) == []
