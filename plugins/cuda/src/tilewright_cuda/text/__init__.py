"""From a loop program to CUDA C."""
