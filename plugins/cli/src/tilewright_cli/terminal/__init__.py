"""Shared by verbs: groups, options, tables."""
