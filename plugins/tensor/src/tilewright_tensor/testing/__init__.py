"""Contract suites of the roles that tilewright-tensor adds."""
