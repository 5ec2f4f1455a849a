"""Packs: history as pip packages of data."""
