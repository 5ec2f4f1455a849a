"""Frontends: how a network is read."""
