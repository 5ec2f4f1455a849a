"""What the process that tunes does: finding devices, handing batches out."""
