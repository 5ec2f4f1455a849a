"""Rewrites of networks: what a pass is, and the passes that come along, one a file."""
