"""Shared by the strategies of all targets."""
