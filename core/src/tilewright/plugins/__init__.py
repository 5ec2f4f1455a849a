"""The plugin host: hooks, components and whose they are."""
