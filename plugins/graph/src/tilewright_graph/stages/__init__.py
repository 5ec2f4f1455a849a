"""The steps of a pipeline that tilewright-graph offers, one a file."""
