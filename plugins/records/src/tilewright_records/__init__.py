"""Records: what was measured and chosen, one checksummed JSON object a line."""
