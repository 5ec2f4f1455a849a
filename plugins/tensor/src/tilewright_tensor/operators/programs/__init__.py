"""Built-in operators that are loops, one step after the other."""
