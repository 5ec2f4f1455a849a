"""What verbs share: groups, options, tables, progress."""
