"""From a schedule to a loop program, verified."""
