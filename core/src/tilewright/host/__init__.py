"""The plugin host: what targets, operators and strategies together mean, and what is made by it."""
