"""Makes the pages of hooks and protocols from the source, and checks plugins."""
