"""Stages: their role, their order, the values between them, and `tune`."""
