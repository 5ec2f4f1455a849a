"""Trials of many workloads: which workloads, which configs, in which order."""
