"""What the stages of a run share: target, device, records, and what is told of a run."""
