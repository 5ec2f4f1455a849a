"""Strategies for operators that go along an axis line by line."""
