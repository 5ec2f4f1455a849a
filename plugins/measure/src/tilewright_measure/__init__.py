"""Isolated building and measuring for Tilewright."""
