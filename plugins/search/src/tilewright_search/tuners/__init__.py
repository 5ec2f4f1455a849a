"""Tuners: which configs are measured next."""
