"""The tuning loop and its parts."""
