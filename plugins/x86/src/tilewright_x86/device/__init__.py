"""The processor as a device, and its peak."""
