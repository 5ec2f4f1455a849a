"""Searches played on recorded spaces, and how good they were."""
