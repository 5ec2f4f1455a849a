"""Runs the stages of a plan in a folder of its own, and writes what happened."""
