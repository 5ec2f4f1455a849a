"""A run: its context, set-up, events, folder and report."""
