"""Contract suites of the roles that tilewright-graph adds."""
