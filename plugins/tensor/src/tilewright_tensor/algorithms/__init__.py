"""Compute DAGs of operators that are more than their definition, for any target."""
