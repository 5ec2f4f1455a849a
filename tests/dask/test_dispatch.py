"""Whatever befalls a run, and whatever goes wrong in its driver: nobody waits for ever."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import pytest
from fault_bench import Bench
from fleet_bench import PATIENCE_SECONDS, until

from tilewright.roles import Artifact, BuildResult
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import FailureKind, MeasureResult
from tilewright_dask.driver.batch import Batch, Candidate
from tilewright_dask.driver.dispatch import Dispatch
from tilewright_dask.driver.fleet_device import FleetDevice
from tilewright_dask.messages import PROTOCOL, encode

DEVICE = FleetDevice(
    *("tcp://127.0.0.1:1", 1, "machine", frozenset({0}), {}, False, PROTOCOL, 0.0, {}),
    *("fake", Device("fake")),
)
RIGHT = MeasureResult((1e-3,))


class Promise:
    """What Dask gives for a request."""

    key = "serve-1"

    def __init__(self, link, reply):
        self._link, self._reply = link, reply

    async def result(self):
        if self._reply is None:
            self._link.asked.set()
            await asyncio.Event().wait()
        return encode(self._reply)

    async def cancel(self):
        if self._reply is None:
            self._link.letting_go.set()
            await asyncio.Event().wait()


class Link:
    """A fleet of one device that answers at once, or never; a batch that it has is hard to let go.

    there       the devices that are announced, or the error of who asks for them
    measures    whether it answers what it is to measure
    asked       set once it has a batch that it does not answer
    letting_go  set once nobody waits for that one any more
    """

    scheduler = "tcp://127.0.0.1:0"

    def __init__(self):
        self.there, self.measures, self._looks = [DEVICE], True, count()
        self.asked, self.letting_go = threading.Event(), threading.Event()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    def run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE_SECONDS)

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    async def members(self):
        if isinstance(self.there, Exception):
            raise self.there
        return [replace(one, seen=next(self._looks)) for one in self.there]

    async def submit(self, member, request):
        if request["do"] == "open":
            return Promise(self, {})
        results = [RIGHT.to_json()] * len(request["inputs"])
        return Promise(self, {"results": results} if self.measures else None)


@pytest.fixture
def link():
    made = Link()
    yield made
    made.close()


@pytest.fixture
def dispatch(link, monkeypatch):
    """One that has begun."""
    monkeypatch.setattr("tilewright_dask.driver.dispatch._LOOK_SECONDS", 0.01)
    options = SimpleNamespace(wait_seconds=PATIENCE_SECONDS, drift=0.2)
    made = Dispatch(link, {"do": "open"}, lambda _: True, lambda _: None, options)
    link.run(made.begin())
    yield made
    link.run(made.end())


def start(dispatch):
    """The future of a batch of one candidate."""
    future = Future()
    built = BuildResult(Artifact("fault", "json", b"{}"))
    dispatch.add(Batch([Candidate(Bench.ask(), built, future)]))
    return future


def failure_of(future):
    return future.result(PATIENCE_SECONDS).failure


def test_a_batch_whose_device_is_just_lost_is_cancelled_as_all_are(link, dispatch):
    link.measures = False
    lost = start(dispatch)
    assert link.asked.wait(PATIENCE_SECONDS)
    link.there = []
    assert link.letting_go.wait(PATIENCE_SECONDS)
    waiting = start(dispatch)
    link.run(dispatch.end())
    assert {failure_of(one).kind for one in (lost, waiting)} == {FailureKind.CANCELLED}
    assert failure_of(start(dispatch)).kind is FailureKind.CANCELLED


@pytest.mark.parametrize("step", ["request", "finish"])
def test_a_bug_in_the_handling_of_a_batch_costs_that_batch(dispatch, monkeypatch, step):
    with monkeypatch.context() as broken:
        broken.setattr(Batch, step, lambda *_: {}["a bug"])
        for failure in [failure_of(start(dispatch)) for _ in range(3)]:  # more than it takes
            assert failure.kind is FailureKind.INTERNAL
            assert failure.text.startswith("KeyError: 'a bug'\n")
    assert start(dispatch).result(PATIENCE_SECONDS) == MeasureResult(
        RIGHT.costs, device=DEVICE.name
    )


def test_a_bug_elsewhere_ends_the_run_with_its_traceback(link, dispatch):
    link.measures = False
    under_way = start(dispatch)
    assert link.asked.wait(PATIENCE_SECONDS)
    link.there = KeyError("a bug")
    failure = failure_of(under_way)
    assert failure.kind is FailureKind.INTERNAL
    assert failure.text.startswith("KeyError: 'a bug'\n")
    with pytest.raises(RuntimeError) as told:
        start(dispatch)
    assert told.value.__cause__ is link.there


def test_a_bug_before_the_first_device_is_there_is_raised_at_once(link):
    link.there = KeyError("a bug")
    options = SimpleNamespace(wait_seconds=10 * PATIENCE_SECONDS, drift=0.2)
    dispatch = Dispatch(link, {"do": "open"}, lambda _: True, lambda _: None, options)
    with pytest.raises(KeyError, match="a bug"):
        link.run(dispatch.begin())
    link.run(dispatch.end())


def test_what_is_over_is_forgotten(dispatch):
    assert failure_of(start(dispatch)) is None
    until(lambda: not dispatch._batches, "end of the batch")
