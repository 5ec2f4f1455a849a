"""The parts of a page, each from a run; None where the run has nothing for it."""
