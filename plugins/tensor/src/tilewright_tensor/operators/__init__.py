"""Operator definitions, one file a family; `operators.builtin_operators()` has them all."""
