"""Measuring on many machines through Dask."""
