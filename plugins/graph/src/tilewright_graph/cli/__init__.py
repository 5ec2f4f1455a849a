"""The verbs `tilewright network`, `graph-tune` and `bench networks`."""
