"""Networks made by the Python builder, one a file."""
