"""From a network to kernels: fused, planned in memory, de-duplicated into tasks."""
