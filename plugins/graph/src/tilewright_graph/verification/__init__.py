"""Compares a compiled network's answers with an oracle's."""
