"""The values of knobs, each a complete decision: splits, orders, words, or what is listed."""
