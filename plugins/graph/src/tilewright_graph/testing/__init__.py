"""Contract suites of the roles that tilewright-graph adds; to be used as those of core's."""
