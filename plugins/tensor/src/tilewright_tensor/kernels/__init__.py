"""Shared by kernels on processors: operands in memory, guards, shared objects."""
