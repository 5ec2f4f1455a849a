"""What the rules read off a compute DAG: accesses, splits, vectors."""
