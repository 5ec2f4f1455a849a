"""What `tilewright` offers in Python: tune, compile, explain."""
