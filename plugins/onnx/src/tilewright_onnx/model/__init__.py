"""Model files: read, checked, written."""
