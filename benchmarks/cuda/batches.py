"""Part `batches`: ResNet-50 at batch 1, then both networks at batch 64."""

from __future__ import annotations

from networks import network
from peer import TorchPeer
from session import Session


def measure(session: Session) -> None:
    asked = [("resnet50", 1), ("resnet18", 64), ("resnet50", 64)]
    if session.rehearsal:
        asked = [("resnet50", 2)]
    with TorchPeer.of(session) as peer:
        for number, (name, batch) in enumerate(asked):
            if session.left < 0:
                session.note("left_out", asked[number:])
                break
            share = session.left / (len(asked) - number)
            session.attempt(
                f"{name}_batch{batch}", network(session, name, batch, peer, seconds=share)
            )
