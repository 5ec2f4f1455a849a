"""From a schedule to a loop program, and the checks of it that tests run."""
