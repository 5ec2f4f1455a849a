"""The verbs of `tilewright network`."""
