"""Part `batches`: ResNet-50 at batch 1, then both networks at batch 64."""

from __future__ import annotations

from functools import partial

from networks import network
from peer import TorchPeer
from session import Session


def measure(session: Session) -> None:
    peer = TorchPeer.of(session)
    asked = [("resnet50", 1), ("resnet18", 64), ("resnet50", 64)]
    if session.rehearsal:
        asked = [("resnet50", 2)]
    for number, (name, batch) in enumerate(asked):
        if session.left < 0:
            session.note("left_out", asked[number:])
            break
        step = partial(
            network, session, name, batch, peer, seconds=session.left / (len(asked) - number)
        )
        session.attempt(f"{name}_batch{batch}", step)
    peer.close()
