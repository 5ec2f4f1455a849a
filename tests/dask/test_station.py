"""What a worker ends that nobody waits for any more, and whom it has no room for."""

from __future__ import annotations

import threading

import pytest

from tilewright.vocabulary.device import Device
from tilewright_dask.messages import decode, encode
from tilewright_dask.worker.station import Station


class Closed:
    """A session that is closed at most once."""

    def __init__(self, *_, **__):
        self.closed = False

    def close(self):
        assert not self.closed
        self.closed = True


class Working(Station):
    """One whose session works until it is closed, and a while longer."""

    measures = False

    def __init__(self) -> None:
        super().__init__(Device("fake", {}), [], accepts_plugins=False)
        self.begun, self.left = threading.Event(), threading.Event()
        self._sessions["session"] = self.session = Closed()

    def state(self):
        return {}

    def answer(self, request):
        return self.in_session(request, self._work)

    def _work(self, _session):
        self.begun.set()
        assert self.left.wait(60)
        return {}


@pytest.fixture
def working():
    """A station that works."""
    station, replies = Working(), []
    request = encode({"do": "work", "session": "session"})
    thread = threading.Thread(target=lambda: replies.append(station.serve("request", request)))
    thread.start()
    assert station.begun.wait(60)
    yield station
    station.left.set()
    thread.join()
    assert decode(replies[0]) == ({"closed": True} if station.session.closed else {})


def test_what_somebody_waits_for_goes_on(working):
    assert not working.holds_unwanted(lambda _: True)
    working.keep(lambda _: True)
    assert not working.session.closed


@pytest.mark.parametrize("gone", ["request", "session"])
def test_what_nobody_waits_for_is_ended_once_however_often_one_looks(working, gone):
    for is_there in (True, False):
        assert working.holds_unwanted(lambda key: key != gone) == is_there
        working.keep(lambda key: key != gone)
        assert working.session.closed


def test_a_fifth_run_is_told_to_come_again_and_ends_no_other(monkeypatch):
    monkeypatch.setattr("tilewright_dask.worker.station.Session", Closed)
    station = Working()

    def opened(key):
        return decode(station.serve(key, encode({"do": "open", "plugins": {}})))

    assert [opened(f"run {number}") for number in range(3)] == [{}] * 3
    for _ in range(2):
        assert opened("fifth") == {"failed": "it serves 4 runs already"}
    assert not station.session.closed
    station.keep(lambda key: key != "session")
    assert station.session.closed
    assert opened("fifth") == {}
    station.close()
