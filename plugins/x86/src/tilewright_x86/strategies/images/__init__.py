"""Strategies for images beyond convolutions of two axes: made larger, and of three axes."""
