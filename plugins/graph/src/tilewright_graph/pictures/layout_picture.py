"""A network's layouts as an SVG picture: before, by history best, and after, by the choice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from xml.etree.ElementTree import Element, SubElement, tostring

from tilewright.terminal_text import printable
from tilewright_graph.pictures.layered_drawing import Drawing, Point, draw_layers
from tilewright_graph.pictures.layout_flow import FlowEdge, FlowNode, LayoutFlow

_WIDTH, _HEIGHT, _GAP, _MARK = 132.0, 20.0, 18.0, 5.0
_HALF = _HEIGHT / 2
_LAYER, _PASS = 42.0, 14.0
_MARGIN, _HEAD = 24.0, 96.0
_COLOURS = (
    "#8ecae6", "#ffd166", "#95d5b2", "#cdb4db", "#f4a6b7", "#b08968", "#5fa8a0", "#c6c6c6",
)  # fmt: skip
_MORE = "#f2f2f2"
_STYLE = """
text { font: 10px sans-serif; fill: #222; }
.title { font: bold 14px sans-serif; }
.precision { font-size: 8px; }
.paper { fill: #fff; }
.edge { fill: none; stroke: #9a9a9a; stroke-width: 1; }
.edge.changed { stroke: #c1121f; stroke-width: 1.6; }
.mark { fill: #c1121f; stroke: #fff; stroke-width: 1; }
.frame { fill: none; stroke: #444; stroke-width: 0.8; }
.fixed .frame { stroke-dasharray: 3 2; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e8ea; } .node text { fill: #222; } .paper { fill: #1a1e23; }
  .edge.changed { stroke: #f08a63; } .mark { fill: #f08a63; stroke: #1a1e23; }
}
"""


def layout_picture(name: str, panels: Sequence[tuple[str, LayoutFlow]]) -> str:
    """A self-contained SVG: one panel a flow, of one network, its nodes at the same places in each.

    A node has the colour of the layout it makes, and on top that of the one it reads where it
    differs; inputs, views and results, of fixed layout, have a dashed frame. Where kernels differ
    in the precision of their products, each names its own. An edge that leads through a transform
    is red and bears a diamond.
    """
    flow = panels[0][1]
    # One line a pair of nodes, however many layouts the reader takes the tensor in.
    pairs = list(dict.fromkeys((edge.maker, edge.reader) for edge in flow.edges))
    drawing = draw_layers(
        len(flow.nodes),
        pairs,
        node_width=_WIDTH + _GAP,
        edge_width=_PASS,
        layer_height=_LAYER,
    )
    colours = _colours([own for _, own in panels])
    panel_width = max(drawing.width, 3 * _WIDTH) + 2 * _MARGIN
    width, height = panel_width * len(panels), drawing.height + _HEAD + _MARGIN
    attributes = {"viewBox": f"0 0 {width:.0f} {height:.0f}", "width": f"{width:.0f}"}
    svg = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **attributes})
    SubElement(svg, "title").text = printable(f"layouts of {name}")
    SubElement(svg, "style").text = _STYLE
    SubElement(svg, "rect", {"width": "100%", "height": "100%", "class": "paper"})
    precisions = {node.precision for _, own in panels for node in own.nodes} - {""}
    mixed = len(precisions) > 1
    _legend(svg, colours, mixed)
    for position, (title, own) in enumerate(panels):
        place = f"translate({position * panel_width + _MARGIN:.1f} {_HEAD:.1f})"
        group = SubElement(svg, "g", {"class": "panel", "transform": place})
        count = len(own.transforms)
        text = f"{title}: {count} transform{'' if count == 1 else 's'}"
        _text(group, (0.0, -22.0), text, **{"class": "title"})
        bends = dict(zip(pairs, drawing.bends, strict=True))
        _Panel(group, drawing, bends, colours, mixed).draw(own)
    return tostring(svg, encoding="unicode") + "\n"


class _Panel:
    def __init__(
        self,
        group: Element,
        drawing: Drawing,
        bends: Mapping[tuple[int, int], Sequence[Point]],
        colours: Mapping[str, str],
        mixed: bool,
    ) -> None:
        self._mixed = mixed
        self._group = group
        self._drawing = drawing
        self._bends = bends
        self._colours = colours

    def draw(self, flow: LayoutFlow) -> None:
        ids = {transform: str(place) for place, transform in enumerate(flow.transforms)}
        for edge in flow.edges:
            bends = self._bends[edge.maker, edge.reader]
            path = [self._drawing.centres[edge.maker], *bends, self._drawing.centres[edge.reader]]
            transform = ids[edge.tensor, edge.transform] if edge.transform is not None else None
            self._edge(edge, path, transform)
        for node, centre in zip(flow.nodes, self._drawing.centres, strict=True):
            self._node(node, centre)

    def _edge(self, edge: FlowEdge, path: Sequence[Point], transform: str | None) -> None:
        (x, y), (to_x, to_y) = path[0], path[-1]
        # Beside the nodes of a layer it passes straight down, so that it runs into none of them.
        passes = [(at, height + side) for at, height in path[1:-1] for side in (-_HALF, _HALF)]
        points = [(x, y + _HALF), *passes, (to_x, to_y - _HALF)]
        kind = "edge" if transform is None else "edge changed"
        SubElement(self._group, "path", {"class": kind, "d": _curve(points)})
        if edge.transform is None or transform is None:
            return
        sides = edge.transform.workload.attributes
        # The mark stands where the edge arrives, so that those of one tensor do not cover another.
        mark_x, mark_y = (points[-1][0] * 3 + points[-2][0]) / 4, points[-1][1] - _MARK - 1
        corners = ((0, -_MARK), (_MARK, 0), (0, _MARK), (-_MARK, 0))
        drawn = " ".join(f"{mark_x + dx:.1f},{mark_y + dy:.1f}" for dx, dy in corners)
        mark = SubElement(
            self._group, "polygon", {"class": "mark", "data-transform": transform, "points": drawn}
        )
        SubElement(mark, "title").text = printable(
            f"{edge.tensor}: {sides['src']} to {sides['dst']}"
        )

    def _node(self, node: FlowNode, centre: Point) -> None:
        x, y = centre[0] - _WIDTH / 2, centre[1] - _HALF
        kind = "node" if node.kind == "kernel" else "node fixed"
        group = SubElement(self._group, "g", {"class": kind, "data-layout": node.layouts[0]})
        products = f", products in {node.precision}" if node.precision else ""
        SubElement(group, "title").text = printable(
            f"{node.kind} {node.name}: {' from '.join(node.layouts)}{products}"
        )
        _box(group, (x, y), _HEIGHT, self._colours[node.layouts[0]])
        if len(node.layouts) > 1:
            _box(group, (x, y), _HEIGHT / 4, self._colours[node.layouts[1]])
        _box(group, (x, y), _HEIGHT, "none", **{"class": "frame"})
        told = self._mixed and node.precision
        if told:
            at = (centre[0] + _WIDTH / 2 - 4, centre[1] + 5)
            _text(group, at, node.precision, **{"class": "precision", "text-anchor": "end"})
        side = 7 if told else 11  # characters of a long name's ends
        long = len(node.name) > 2 * side + 2
        shown = f"{node.name[:side]}\u2026{node.name[-side - 1 :]}" if long else node.name
        middle = centre[0] - (16 if told else 0)
        _text(group, (middle, centre[1] + 5), shown, **{"text-anchor": "middle"})


def _legend(svg: Element, colours: Mapping[str, str], mixed: bool) -> None:
    group = SubElement(svg, "g", {"class": "legend"})
    x = _MARGIN
    for layout, colour in colours.items():
        box = {"x": f"{x:.1f}", "y": "16", "width": "14", "height": "14", "fill": colour}
        SubElement(group, "rect", {**box, "stroke": "#444"})
        _text(group, (x + 19, 27), layout)
        x += 36 + 7 * len(layout)
    points = f"{x:.1f},23 {x + 6:.1f},17 {x + 12:.1f},23 {x + 6:.1f},29"
    SubElement(group, "polygon", {"class": "mark", "points": points})
    _text(group, (x + 18, 27), "layout transform")
    text = "a node's colour: the layout it makes, above it the one it reads; dashed: fixed"
    more = "; on its right: the precision of products" if mixed else ""
    _text(group, (_MARGIN, 47), text + more)


def _colours(flows: Sequence[LayoutFlow]) -> dict[str, str]:
    """A colour for each layout, the most frequent ones first."""
    counts = Counter(layout for flow in flows for node in flow.nodes for layout in node.layouts)
    ranked = sorted(counts, key=lambda layout: (-counts[layout], layout))
    return {x: _COLOURS[i] if i < len(_COLOURS) else _MORE for i, x in enumerate(ranked)}


def _curve(points: Sequence[Point]) -> str:
    """A path that leaves and arrives from above."""
    parts = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
    for (x, y), (to_x, to_y) in pairwise(points):
        half = (y + to_y) / 2
        parts.append(f"C{x:.1f},{half:.1f} {to_x:.1f},{half:.1f} {to_x:.1f},{to_y:.1f}")
    return " ".join(parts)


def _box(parent: Element, corner: Point, height: float, fill: str, **more: str) -> None:
    place = {"x": f"{corner[0]:.1f}", "y": f"{corner[1]:.1f}"}
    size = {"width": f"{_WIDTH:.0f}", "height": f"{height:.0f}", "rx": "2"}
    SubElement(parent, "rect", {**place, **size, "fill": fill, **more})


def _text(parent: Element, place: Point, text: str, **more: str) -> None:
    attributes = {"x": f"{place[0]:.1f}", "y": f"{place[1]:.1f}", **more}
    SubElement(parent, "text", attributes).text = printable(text)  # XML has no control characters
