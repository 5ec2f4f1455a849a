"""Which config, and by which records: dispatch contexts, and what counts in a run."""
