"""Ways to compute operators: strategies of a task, dispatch, fallback."""
