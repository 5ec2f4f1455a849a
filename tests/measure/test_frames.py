from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright_measure.worker.frames import FrameBuffer, FrameError, encode

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.dictionaries(st.text(), _JSON), max_size=4), st.integers(1, 9))
def test_messages_arrive_whole_and_in_order_however_they_are_cut(messages, step):
    sent = b"".join(map(encode, messages))
    buffer = FrameBuffer()
    taken = []
    for start in range(0, len(sent), step):
        buffer.feed(sent[start : start + step])
        while (message := buffer.take()) is not None:
            taken.append(message)
    assert taken == messages


@pytest.mark.parametrize(
    "body", [b"", b"[1]", b"NaN", b'{"a":NaN}', b'{"a":Infinity}', b"\xff", b"[" * 99999]
)
def test_what_is_no_object_is_refused(body):
    buffer = FrameBuffer()
    buffer.feed(struct.pack(">I", len(body)) + body)
    with pytest.raises(FrameError):
        buffer.take()


def test_a_length_beyond_the_limit_is_refused_before_anything_is_read():
    buffer = FrameBuffer()
    buffer.feed(b"\xff\xff\xff\xff")
    with pytest.raises(FrameError, match="4294967295 bytes"):
        buffer.take()


def test_nan_is_never_sent():
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode({"cost": float("nan")})
