"""The pages of hooks and protocols, made from the source, and the check of a plugin."""
