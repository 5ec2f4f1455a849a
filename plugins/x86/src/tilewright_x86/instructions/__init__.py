"""Tensor instructions of x86: what they mean."""
