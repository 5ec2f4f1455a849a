"""A third-party plugin for Tilewright: knows core and, for its target, tilewright-tensor."""
