"""The operators that come with the project."""
