"""Models that rank configs without measuring them."""
