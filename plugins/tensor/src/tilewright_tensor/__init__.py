"""Tensor programs for Tilewright: compute DAG, schedule, loop IR, interpreter, operator
definitions.
"""
