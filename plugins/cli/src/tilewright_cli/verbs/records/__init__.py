"""The verbs of `tilewright records`."""
