"""Passes over loop programs of x86."""
