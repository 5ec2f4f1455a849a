"""Recorded spaces, in `data/`."""
