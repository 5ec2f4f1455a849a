"""A compiled network as a folder."""
