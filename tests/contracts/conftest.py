from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    "tilewright_testing", "tilewright_graph.testing", "tilewright_search.testing"
)
