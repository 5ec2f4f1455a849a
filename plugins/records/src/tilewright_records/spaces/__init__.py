"""Whole spaces that were measured: our own files, and those of others."""
