"""Verbs about search."""
