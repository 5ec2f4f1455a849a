"""What defines an operator: attributes, operands, traits, and its compute."""
