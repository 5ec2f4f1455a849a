"""The drawing of layouts over a network."""
