"""Whole spaces that were measured once: our own files, and those of others."""
