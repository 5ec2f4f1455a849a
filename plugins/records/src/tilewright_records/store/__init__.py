"""The store: one file of JSON lines that any number of processes share."""
