"""Loop features: what a cost model sees of a loop program."""
