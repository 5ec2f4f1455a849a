"""OpenVINO as oracle and peer."""
