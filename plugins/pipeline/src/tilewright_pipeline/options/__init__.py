"""Options checked: every mistake at once, in words that say what is expected."""
