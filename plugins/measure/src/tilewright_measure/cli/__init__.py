"""Verbs about measurement."""
