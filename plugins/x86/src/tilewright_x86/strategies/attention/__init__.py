"""Attention, and the transposes that heads are cut out by."""
