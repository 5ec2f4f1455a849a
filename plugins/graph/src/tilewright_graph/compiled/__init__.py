"""Compiled networks: linked, run, saved, loaded."""
