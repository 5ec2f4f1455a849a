"""Arithmetic on constants, and what it leaves behind: a pass a file."""
