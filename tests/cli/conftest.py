from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _plain_environment(plain_environment):
    """Every test here runs in it."""
