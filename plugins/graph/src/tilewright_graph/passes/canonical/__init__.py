"""One way to say each thing: a pass a file."""
