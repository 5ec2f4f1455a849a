"""Runs CUDA C on the processor: the text that a GPU would get, compiled as C++."""
