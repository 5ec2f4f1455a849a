"""The page of one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tilewright_report.data.run_folder import Run
from tilewright_report.markup.blocks import note
from tilewright_report.markup.document import document
from tilewright_report.markup.element import Element, element
from tilewright_report.markup.words import short
from tilewright_report.sections.fleet import fleet
from tilewright_report.sections.headline import headline
from tilewright_report.sections.kernels import kernels
from tilewright_report.sections.landscape import landscape
from tilewright_report.sections.latency import latency
from tilewright_report.sections.layouts import layouts
from tilewright_report.sections.networks import networks
from tilewright_report.sections.room import Room
from tilewright_report.sections.tuning import tuning
from tilewright_report.sections.what_was_run import what_was_run

MOST_BYTES = 2_000_000
_ROOMS = (900_000, 250_000, 0)
"""For programs and code: what a page has that would grow too large is left out."""


def run_page(run: Run) -> str:
    """One run, at most 2 MB."""
    return fitting(lambda room: _page(run, room))


def fitting(make: Callable[[Room], str]) -> str:
    """The page with as much room for programs as keeps it below the limit."""
    page = ""
    for size in _ROOMS:
        page = make(Room(size))
        if len(page.encode()) <= MOST_BYTES:
            break
    return page


def _page(run: Run, room: Room) -> str:
    sections = list(_sections(run, room))
    for place, network in enumerate(run.networks):
        sections += _of_network(network, place, room)
    return document(short(run.name, 100), headline(run), sections)


def _sections(run: Run, room: Room) -> Iterator[Element]:
    parts = (what_was_run, networks, latency, lambda one: kernels(one, room), layouts, tuning)
    for part in (*parts, landscape, fleet):
        made = part(run)
        if made is not None:
            yield made


def _of_network(run: Run, place: int, room: Room) -> Iterator[Element]:
    """Of several networks: each with a part of its own, under one heading."""
    inner = [part for part in (latency(run), kernels(run, room), layouts(run)) if part is not None]
    name = short(run.name, 60)
    made = element("section", element("h2", name), id=f"network-{place}")
    for part in inner:
        _renamed(part, f"network-{place}-")
        part.set("id", f"network-{place}-{part.get('id')}")
        heading = part.find("h2")
        if heading is not None:
            heading.tag = "h3"
        part.tag = "div"
        made.append(part)
    if not inner:
        made.append(note("The run ended before anything was known of it."))
    yield made


def _renamed(part: Element, prefix: str) -> None:
    """Put a prefix before the fragments inside a part, and before the links to them."""
    for one in part.iter():
        if one is not part and one.get("id"):
            one.set("id", prefix + (one.get("id") or ""))
        target = one.get("href", "")
        if target.startswith("#"):
            one.set("href", f"#{prefix}{target[1:]}")
