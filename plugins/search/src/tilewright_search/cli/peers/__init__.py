"""Searches of other systems, over the same recorded spaces."""
