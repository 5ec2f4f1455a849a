"""The processor as a device, and its peaks, by precision and instruction."""
