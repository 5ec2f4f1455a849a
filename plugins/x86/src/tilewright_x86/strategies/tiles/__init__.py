"""Loop nests that several strategies share."""
