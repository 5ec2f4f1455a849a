"""What is tried of a definition on random data: its reference and its traits."""
