"""Loop programs as C: a printer that targets inherit from."""
