"""Contract suites of the roles that tilewright-search adds; to be used as those of core's."""
