"""What the suites share: targets, spaces, landscapes, records of calls."""
