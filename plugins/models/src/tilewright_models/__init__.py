"""A cost model that was trained before the run."""
