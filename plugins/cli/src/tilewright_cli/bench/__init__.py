"""The verbs of `tilewright bench` that measure, and what they measure."""
