"""CUDA target for Tilewright: CUDA C from loop programs, compiled without a GPU, run on one."""
