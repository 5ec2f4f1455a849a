"""What kernels of processors share: operands in memory, guards, shared objects."""
