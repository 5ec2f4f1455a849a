"""Numpy arrays: to core they are values that it passes through unseen."""

from typing import Any

Array = Any
