"""Expressions over loop indices: values, affine places, bounds, facts."""
