"""From a pipeline file to a checked plan."""
