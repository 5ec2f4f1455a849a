"""The last word inside the network: kernels exchanged, or all of them, decided by pairs of runs."""
