"""One bound on the memory of a network, checked before it is asked for."""

from __future__ import annotations

import pytest

from tilewright.errors import UsageError
from tilewright_graph.network.network_bytes import MOST_NETWORK_BYTES, check_network_bytes


def test_a_network_beyond_the_bound_is_refused():
    check_network_bytes(MOST_NETWORK_BYTES, "net")
    with pytest.raises(UsageError, match="net: the network needs"):
        check_network_bytes(MOST_NETWORK_BYTES + 1, "net")
