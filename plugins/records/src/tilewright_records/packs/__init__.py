"""History as a pip package of data: written, checked, read."""
