"""What hand-written strategies of all targets share."""
