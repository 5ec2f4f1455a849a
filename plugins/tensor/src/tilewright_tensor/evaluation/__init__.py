"""Answers and counts without code: DAGs evaluated, loop programs interpreted, tails followed."""
