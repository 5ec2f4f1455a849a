"""How one config becomes another."""
