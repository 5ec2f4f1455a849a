"""The verbs `tilewright fleet`."""
