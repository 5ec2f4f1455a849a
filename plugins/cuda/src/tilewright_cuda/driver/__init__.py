"""The driver, by ctypes or PyCUDA, and kernels that it runs."""
