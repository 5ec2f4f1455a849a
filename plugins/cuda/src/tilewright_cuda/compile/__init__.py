"""From CUDA C to a cubin, by NVRTC or nvcc."""
