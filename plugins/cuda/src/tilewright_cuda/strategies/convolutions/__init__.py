"""Convolutions, as products of matrices or by threads of their own."""
