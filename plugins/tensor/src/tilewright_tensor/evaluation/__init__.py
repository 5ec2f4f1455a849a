"""Answers without a code generator: the DAG evaluated, the loop program interpreted."""
