"""What a run is given, tells and leaves behind."""
