"""The verb `tilewright report`."""
