"""Rewrites of networks: the role of passes, and the built-in ones, one a file."""
