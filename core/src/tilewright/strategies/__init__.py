"""Ways to compute operators: what there is for a task, what is chosen without or by records."""
