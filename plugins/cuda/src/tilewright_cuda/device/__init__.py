"""Devices, their architecture and peak."""
