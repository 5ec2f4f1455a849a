"""Schedules: how a compute DAG becomes loops, step by step."""
