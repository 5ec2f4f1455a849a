"""Rewrites of networks: the role of passes, and the built-in ones by phase, one a file."""
