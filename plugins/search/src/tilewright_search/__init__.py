"""Tuners, cost models and task schedulers for Tilewright."""
