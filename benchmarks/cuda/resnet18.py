"""Part `resnet18`: ResNet-18 at batch 1."""

from __future__ import annotations

from networks import network
from peer import TorchPeer
from session import Session


def measure(session: Session) -> None:
    with TorchPeer.of(session) as peer:
        session.attempt(
            "resnet18_batch1", network(session, "resnet18", 1, peer, seconds=session.left)
        )
