"""The verbs `tilewright report` and `tilewright bench regress`."""
