"""Devices, the target of this machine, artefacts loaded, and peaks."""
