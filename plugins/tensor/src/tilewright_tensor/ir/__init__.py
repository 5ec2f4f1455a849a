"""The compute DAG, and the loop programs that it is lowered to."""
