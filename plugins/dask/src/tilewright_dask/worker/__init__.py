"""What a worker does: announcing its device, serving batches, ending what nobody waits for."""
