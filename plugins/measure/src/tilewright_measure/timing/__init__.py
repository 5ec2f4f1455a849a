"""Kernels timed, and their answers checked."""
