"""Task schedulers: which task is measured next."""
