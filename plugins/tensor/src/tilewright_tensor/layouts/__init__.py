"""Physical layouts, and what they make of a tensor."""
