"""Answers and counts without a code generator: DAGs evaluated, loop programs interpreted."""
