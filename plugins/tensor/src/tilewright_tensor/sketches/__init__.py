"""Schedules derived from a compute DAG by rules: what Ansor calls sketches."""
