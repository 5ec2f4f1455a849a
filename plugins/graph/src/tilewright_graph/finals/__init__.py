"""The last word inside the network: kernels exchanged while it runs, decided by pairs of runs."""
