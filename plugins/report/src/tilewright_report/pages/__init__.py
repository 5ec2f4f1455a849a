"""Whole pages: of a run, of several, and of single values."""
