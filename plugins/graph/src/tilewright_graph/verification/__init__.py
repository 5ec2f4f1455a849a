"""Answers of a compiled network beside an oracle."""
