"""Tensor instructions of x86: what they mean, and their LLVM text."""
