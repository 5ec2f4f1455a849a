"""Runs CUDA C on the processor: the very text that would ship, compiled as C++."""
