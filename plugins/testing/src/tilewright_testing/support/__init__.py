"""Shared by the suites: targets, spaces, landscapes, recorded calls."""
