"""Makes the pages of hooks, protocols and options from the source, and checks plugins."""
