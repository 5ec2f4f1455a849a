"""The plugin host: hooks, components and their owners."""
