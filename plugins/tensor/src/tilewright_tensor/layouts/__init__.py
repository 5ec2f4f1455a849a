"""Physical layouts of tensors, and transforms of constants."""
