"""The processor: instruction set, caches, peak."""
