"""The verbs `tilewright network` and `graph-tune`."""
