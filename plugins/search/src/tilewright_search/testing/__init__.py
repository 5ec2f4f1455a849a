"""Contract suites of the roles that tilewright-search adds."""
