"""What is shown: the report of a run, its records, and statistics of both."""
