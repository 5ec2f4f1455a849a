"""A third-party plugin for Tilewright; needs nothing but core."""
