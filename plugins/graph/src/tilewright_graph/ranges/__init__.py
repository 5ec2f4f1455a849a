"""Sizes that are known only when a network runs: which it is compiled for, and what rows mean."""
