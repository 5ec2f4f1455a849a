"""Pipelines: the tuning loop, a YAML file and its plan, the run of its stages, Python functions."""
