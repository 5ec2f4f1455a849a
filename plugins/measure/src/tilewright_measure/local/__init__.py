"""The local builder and runner."""
