"""The loop nests that the rules make, and their steps."""
