"""Tiles and loop nests that several strategies share."""
