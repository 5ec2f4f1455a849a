"""Convolutions with products of bfloat16, and what stands around them, stored as bfloat16."""
